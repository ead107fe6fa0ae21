//! The bugs of suspension, signals, tokens and access.

use ff_core::bounds::KEY_GRACE_MAX;
use ff_core::collection::{Collection, Counts};
use ff_core::credential::{Credential, Scope};
use ff_core::machine::{Action, CloseWaitpoint, Command, Signal, Suspend, WaitpointRef};
use ff_core::resource::Body;
use ff_core::{IdempotencyKey, Resource, Source};
use ff_store::audit::Row;
use ff_store::{Store, mint};

use super::bug::Bug;
use super::store::Planted;

impl Planted {
    pub(super) async fn spoil_suspension(&self, command: &mut Command) {
        let salt = command.entropy;
        match (self.bug, &mut command.action) {
            (Bug::TimeoutsAreLost, Action::Suspend(suspend)) => suspend.timeout = None,
            (Bug::EarlySignalsAreLost, Action::Suspend(suspend)) => {
                self.forget_early(suspend).await
            }
            (Bug::WaitpointsStayOpen, Action::OpenWaitpoint(open)) => open.waitpoint.until = None,
            (Bug::WaitpointsStayOpen, Action::Suspend(suspend)) => {
                suspend.waitpoints.iter_mut().for_each(|waitpoint| waitpoint.until = None);
            }
            (Bug::RepeatedSignalsCount, Action::Signal(signal)) => {
                signal.key = Some(IdempotencyKey::new(format!("{salt}")).unwrap());
            }
            (Bug::SourcesAreForged, Action::Signal(signal)) => {
                signal.source = Source::new(format!("source-{salt}")).unwrap();
            }
            (Bug::OldTokensFit, Action::Signal(signal)) => self.refit(signal).await,
            (Bug::KeysNeverRetire, Action::RotateKey(rotate)) => rotate.grace = KEY_GRACE_MAX,
            _ => {}
        }
    }

    /// Closes the waitpoints of a suspension before it begins.
    async fn forget_early(&self, suspend: &Suspend) {
        for waitpoint in &suspend.waitpoints {
            let close = CloseWaitpoint { hold: suspend.hold.clone(), key: waitpoint.key.clone() };
            drop(self.store.execute(vec![mint::command(close)]).await);
        }
    }

    /// Sends a signal for a waitpoint that is closed to one that is open.
    async fn refit(&self, signal: &mut Signal) {
        let Ok(Some(record)) = self.store.record(signal.target.execution).await else { return };
        let open = &record.waits.waitpoints;
        if let WaitpointRef::ById(id) = signal.waitpoint
            && open.iter().all(|waitpoint| waitpoint.id != id)
            && let Some(first) = open.first()
        {
            signal.waitpoint = WaitpointRef::ById(first.id);
        }
    }

    /// What is read of a resource.
    pub(super) fn spoil_resource(&self, resource: &mut Resource) {
        if let Body::Credential(credential) = &mut resource.body {
            self.spoil_credential(credential);
        }
    }

    fn spoil_credential(&self, credential: &mut Credential) {
        match self.bug {
            Bug::EndedTokensAreAccepted => {
                credential.secrets.iter_mut().for_each(|secret| secret.expires = None);
            }
            Bug::RevokedTokensAreAccepted => {
                credential.secrets.iter_mut().for_each(|secret| secret.revoked = None);
            }
            Bug::ScopesAreIgnored => credential.scope = Scope::Every,
            _ => {}
        }
    }

    /// `row` without the entries of journals, if that is the damage.
    pub(super) fn without_entries(&self, row: Row) -> Option<Row> {
        match row {
            row if self.bug != Bug::EntriesAreLost => Some(row),
            Row::Element(element) if element.collection == Collection::Steps => None,
            Row::Record(mut record) => {
                record.counts = Counts::default();
                Some(Row::Record(record))
            }
            row => Some(row),
        }
    }
}
