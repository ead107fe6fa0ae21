//! Bugs in the log of events.

use ff_core::feed::Trim;
use ff_core::machine::{Action, Command};
use ff_core::record::Version;
use ff_core::resource::Body;
use ff_core::{Namespace, Resource, ResourceKind, Time};
use ff_store::events::{LogPage, LogScan, Positions};
use ff_store::{Store, StoreError};

use super::bug::Bug;
use super::store::Planted;

impl Planted {
    pub(super) async fn spoiled_events(&self, mut scan: LogScan) -> Result<LogPage, StoreError> {
        if self.bug == Bug::EventsAreShared {
            scan.namespace = Namespace::new("rival").unwrap();
        }
        let (namespace, limit) = (scan.namespace.clone(), scan.limit);
        let mut page = self.store.events(scan).await?;
        match self.bug {
            Bug::LateEventsAreSkipped if page.events.len() > 1 => {
                page.events.remove(0);
            }
            Bug::ExpiryIsSilent => page.expired = false,
            Bug::SeenIsExpired => {
                let scan = LogScan { namespace, after: Positions::default(), limit: 1 };
                page.expired |= self.store.events(scan).await?.expired;
            }
            Bug::FullPagesEndTheLog if page.events.len() == limit => {
                page.positions = self.store.event_heads(&namespace).await?;
            }
            Bug::EventsLackActors => page.events.iter_mut().for_each(|one| one.event.by = None),
            Bug::EventsLackTags => page.events.iter_mut().for_each(|one| one.event.tags.clear()),
            Bug::EventIdsChange => {
                for one in &mut page.events {
                    let version = one.event.id.version.get();
                    one.event.id.version =
                        Version::from_stored(version ^ u64::from(fastrand::u32(..)));
                }
            }
            _ => {}
        }
        Ok(page)
    }

    pub(super) async fn spoiled_heads(
        &self,
        namespace: &Namespace,
    ) -> Result<Positions, StoreError> {
        match self.bug {
            Bug::HeadsAreOld => Ok(Positions::default()),
            _ => self.store.event_heads(namespace).await,
        }
    }

    pub(super) async fn spoiled_trim(
        &self,
        namespace: &Namespace,
        mut trim: Trim,
    ) -> Result<bool, StoreError> {
        match self.bug {
            Bug::EventsAreKept => return Ok(false),
            Bug::TrimsTakeAll => trim.before = Time::MAX,
            _ => {}
        }
        self.store.trim_events(namespace, trim).await
    }

    /// Whether a command is lost.
    pub(super) fn loses(&self, command: &Command) -> bool {
        self.bug == Bug::FeedsAreNotSpread
            && matches!(&command.action, Action::CopyResource(copy) if copy.key.kind == ResourceKind::Feed)
    }

    pub(super) fn spoil_feed(&self, found: &mut Option<Resource>) {
        if let Some(Resource { body: Body::Feed(feed), .. }) = found
            && self.bug == Bug::EpochsAreForgotten
        {
            feed.epoch = 1;
        }
    }
}
