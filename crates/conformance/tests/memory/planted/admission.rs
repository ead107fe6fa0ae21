//! Bugs of admission: a command about budgets and quotas is changed.

use ff_core::machine::{
    Action, Admissions, Admit, Command, Discard, Home, Phase, PutQuota, ReportUsage, Settlement,
    Unblock,
};
use ff_core::resource::Ticket;
use ff_core::state::State;
use ff_core::{
    AdmissionId, ExecutionId, IdempotencyKey, Namespace, ResourceKind, ResourceName, Time,
};
use ff_store::{Store, mint};

use super::bug::Bug;
use super::store::Planted;

impl Planted {
    pub(crate) async fn spoil_admission(&self, command: &mut Command) {
        match &mut command.action {
            Action::Admit(admit) => self.spoil_admit(admit).await,
            Action::ReportUsage(report) => self.spoil_report(report),
            Action::Unblock(unblock) if self.bug == Bug::AnythingUnblocks => {
                self.clear_anything(unblock).await;
            }
            Action::PutQuota(put) if self.bug == Bug::WindowsAdmitOneMore => {
                put.limits.max_requests = put.limits.max_requests.map(|most| most + 1);
            }
            Action::Claim(claim) if self.bug == Bug::AdmissionsNeverExpire => {
                if let Admissions::Only(admitted) = &mut claim.admissions {
                    admitted.iter_mut().for_each(|one| one.usable_until = Time::MAX);
                }
            }
            _ => {}
        }
    }

    async fn spoil_admit(&self, admit: &mut Admit) {
        let home = admit.home.clone();
        match self.bug {
            Bug::SettlementsAreLost => admit.settlements.retain(|one| !one.phase.is_end()),
            Bug::UnusedStartsStay => admit.settlements.retain(|one| one.phase != Phase::Unused),
            Bug::UsageIsChargedTwice => admit.settlements.iter_mut().for_each(double),
            Bug::AnyIdSettles => {
                for settlement in &mut admit.settlements {
                    let held = self.held(&home, settlement.execution).await;
                    settlement.admission = held.unwrap_or(settlement.admission);
                }
            }
            Bug::QuotasAreShared => {
                // The home of the namespace that sorts first.
                admit.home.namespace = Namespace::new("acme").unwrap();
            }
            _ => {}
        }
        for request in admit.batches.iter_mut().flat_map(|batch| &mut batch.requests) {
            match self.bug {
                Bug::BudgetsAreIgnored => request.needs.limits.budgets.clear(),
                Bug::EstimatesAreIgnored => request.needs.limits.estimate.clear(),
                Bug::StartsAreForgotten => {
                    for name in &request.needs.limits.quotas {
                        self.renew(&home, name).await;
                    }
                }
                Bug::AdmissionsAreShared => {
                    let held = self.held(&home, request.needs.execution).await;
                    request.id = held.unwrap_or(request.id);
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

    /// Replaces the limit that an execution waits for.
    async fn clear_anything(&self, unblock: &mut Unblock) {
        let record = self.store.record(unblock.execution).await.unwrap();
        if let Some(State::Blocked { on, .. }) = record.map(|record| record.state.clone()) {
            unblock.on = on;
        }
    }

    /// The id under which an execution is admitted.
    async fn held(&self, home: &Home, execution: ExecutionId) -> Option<AdmissionId> {
        let found = self.store.resource(&home.ticket(execution)).await.unwrap()?;
        found.as_ticket().map(|ticket: &Ticket| ticket.admission)
    }

    /// Creates a quota again, if it counts starts alone.
    async fn renew(&self, home: &Home, name: &ResourceName) {
        let key = home.key(ResourceKind::Quota, name);
        let found = self.store.resource(&key).await.unwrap();
        if let Some(quota) = found.as_ref().and_then(|found| found.as_quota())
            && quota.limits.max_active.is_none()
        {
            self.run(Discard { key: key.clone() }).await;
            self.run(PutQuota { key, limits: quota.limits.clone() }).await;
        }
    }
}

fn double(settlement: &mut Settlement) {
    settlement.used.values_mut().for_each(|amount| *amount *= 2);
}
