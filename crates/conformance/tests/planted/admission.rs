//! Bugs of admission: a command about budgets and quotas is not the one that was given.

use ff_core::machine::{
    Action, Attend, Command, Discard, House, PutQuota, ReportUsage, Settling, Unblock,
};
use ff_core::resource::Ticket;
use ff_core::state::State;
use ff_core::{ExecutionId, IdempotencyKey, LeaseId, Namespace, ResourceKind, ResourceName, Time};
use ff_store::{Store, mint};

use crate::bug::Bug;
use crate::store::Planted;

impl Planted {
    pub(crate) async fn spoil_admission(&self, command: &mut Command) {
        match &mut command.action {
            Action::Attend(attend) => self.spoil_attend(attend).await,
            Action::ReportUsage(report) => self.spoil_report(report),
            Action::Unblock(unblock) if self.bug == Bug::AnythingUnblocks => {
                self.clear_anything(unblock).await;
            }
            Action::Block(block) if self.bug == Bug::BookedMomentsAreLost => block.until = None,
            Action::PutQuota(put) if self.bug == Bug::WindowsLetOneMore => {
                put.limits.max_requests = put.limits.max_requests.map(|most| most + 1);
            }
            Action::Claim(claim) if self.bug == Bug::AdmissionsLastForEver => {
                for admission in claim.admitted.iter_mut().flatten() {
                    admission.until = Time::MAX;
                }
            }
            _ => {}
        }
    }

    async fn spoil_attend(&self, attend: &mut Attend) {
        let house = attend.house.clone();
        match self.bug {
            Bug::SettlementsAreLost => attend.settlings.retain(|one| one.goes_on.is_some()),
            Bug::UsageIsChargedTwice => attend.settlings.iter_mut().for_each(double),
            Bug::AnyNameSettles => {
                for settling in &mut attend.settlings {
                    let held = self.held(&house, settling.execution).await;
                    settling.admission = held.unwrap_or(settling.admission);
                }
            }
            Bug::QuotasAreShared => {
                // The home of the namespace that comes first.
                attend.house.namespace = Namespace::new("acme").unwrap();
            }
            _ => {}
        }
        for candidate in attend.parties.iter_mut().flat_map(|party| &mut party.candidates) {
            match self.bug {
                Bug::BudgetsAreNotAsked => candidate.control.budgets.clear(),
                Bug::EstimatesAreIgnored => candidate.control.estimate.clear(),
                Bug::StartsAreForgotten => {
                    for name in &candidate.control.quotas {
                        self.renew(&house, name).await;
                    }
                }
                Bug::AdmissionsAreShared => {
                    let held = self.held(&house, candidate.execution).await;
                    candidate.admission = held.unwrap_or(candidate.admission);
                }
                _ => {}
            }
        }
    }

    fn spoil_report(&self, report: &mut ReportUsage) {
        match self.bug {
            Bug::RepeatedUsageCounts => {
                let other = mint::request_id().as_bytes().map(|byte| char::from(b'a' + byte % 26));
                report.key = IdempotencyKey::new(String::from_iter(other)).unwrap();
            }
            Bug::ReleasesAreAdded => report.release = false,
            _ => {}
        }
    }

    /// Names what an execution waits for.
    async fn clear_anything(&self, unblock: &mut Unblock) {
        let record = self.store.record(unblock.execution).await.unwrap();
        if let Some(State::Blocked { on, .. }) = record.map(|record| record.state.clone()) {
            unblock.on = Some(on);
        }
    }

    /// The name under which an execution is admitted.
    async fn held(&self, house: &House, execution: ExecutionId) -> Option<LeaseId> {
        let found = self.store.resource(&house.ticket(execution)).await.unwrap()?;
        found.as_ticket().and_then(|ticket: &Ticket| Some(ticket.held.as_ref()?.admission))
    }

    /// Makes a quota anew, if it counts starts alone.
    async fn renew(&self, house: &House, name: &ResourceName) {
        let key = house.key(ResourceKind::Quota, name);
        let found = self.store.resource(&key).await.unwrap();
        if let Some(quota) = found.as_ref().and_then(|found| found.as_quota())
            && quota.limits.max_active.is_none()
        {
            self.run(Discard { key: key.clone() }).await;
            self.run(PutQuota { key, limits: quota.limits.clone() }).await;
        }
    }
}

fn double(settling: &mut Settling) {
    settling.used.values_mut().for_each(|amount| *amount *= 2);
}
