//! How a worker comes to hold an execution, by whatever route it claims.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{Assignment, Context, LeaseRef, Target, WriteSet};
use crate::event::EventKind;
use crate::id::{ExecutionId, LeaseId};
use crate::payload::{BlobKey, BlobPart, Payload};
use crate::record::{Attempt, Execution};
use crate::refusal::Refusal;
use crate::state::{Intent, Lease, State, Worker};
use crate::time::Time;

impl Context<'_> {
    /// The write that puts `before` into `worker`'s hold, and the record after it.
    pub(super) fn hold(
        &self,
        before: &Execution,
        why: Intent,
        worker: &Worker,
        lease: LeaseId,
    ) -> (WriteSet, Execution) {
        let now = self.now;
        let policy = &before.spec.policy;
        let mut after = before.clone();
        after.epoch += 1;
        after.state = State::Active {
            lease: Lease {
                id: lease,
                epoch: after.epoch,
                worker: worker.clone(),
                until: now + policy.lease_ttl,
                timeout_at: policy.attempt_timeout.map(|span| now + span),
            },
            cancel: None,
        };
        let mut past = None;
        match after.attempt.as_mut().filter(|_| !why.starts_attempt()) {
            Some(attempt) => {
                attempt.lease = lease;
                attempt.worker = worker.clone();
            }
            None => {
                past = after.attempt.take();
                after.attempt = Some(Attempt {
                    number: past.as_ref().map_or(0, |attempt| attempt.number + 1),
                    run: after.run.number,
                    started: now,
                    lease,
                    worker: worker.clone(),
                    progress: None,
                    end: None,
                });
            }
        }
        let attempt = after.attempt.as_ref().map_or(0, |attempt| attempt.number);
        let write = self.update(before, after.clone(), EventKind::Claimed { attempt });
        (self.guarded_by_flow(before, write.with_past_attempt(past)), after)
    }

    /// `write`, on the condition that the flow of `record`, if it is a member of one, is unchanged.
    pub(super) fn guarded_by_flow(&self, record: &Execution, mut write: WriteSet) -> WriteSet {
        let flow = record.member.as_ref().and_then(|member| self.loaded.record(member.flow));
        write.seen.extend(flow.map(|flow| (flow.id, flow.version)));
        write
    }

    /// The flows of `records` that were not read.
    pub(super) fn missing_flows<'r>(
        &self,
        records: impl Iterator<Item = &'r Execution>,
    ) -> Vec<ExecutionId> {
        let flows = records.filter_map(|record| record.member.as_ref().map(|member| member.flow));
        let missing: BTreeSet<_> =
            flows.filter(|flow| !self.loaded.records.contains_key(flow)).collect();
        missing.into_iter().collect()
    }

    /// Whether the flow of `record`, if it is a member of one, keeps it from being dispatched. One whose flow
    /// was looked for and is not there belongs to a submit that was cut short.
    pub(super) fn is_barred(&self, record: &Execution) -> bool {
        let flow = record.member.as_ref().and_then(|member| self.loaded.records.get(&member.flow));
        flow.is_some_and(|flow| flow.as_ref().is_none_or(|flow| !flow.runs_members()))
    }

    /// The flow of `record` if that keeps it from being dispatched.
    pub(super) fn ending_flow(&self, record: &Execution) -> Option<&Execution> {
        let flow = self.loaded.record(record.member.as_ref()?.flow)?;
        (!flow.runs_members()).then_some(flow)
    }

    /// The assignment of `record`'s holder, if it is leased and its input is loaded.
    pub(super) fn assignment(&self, record: &Execution) -> Option<Assignment> {
        let key = BlobKey { execution: record.id, part: BlobPart::Input };
        Assignment::of(record, self.now, self.loaded.blobs.get(&key)?.clone()?)
    }
}

impl Assignment {
    /// The assignment of the holder of `record`, claimed at `now`, with its `input`, if it is leased.
    pub fn of(record: &Execution, now: Time, input: Bytes) -> Option<Assignment> {
        let lease = record.lease()?;
        Some(Assignment {
            execution: record.id,
            namespace: record.spec.namespace.clone(),
            lane: record.spec.lane.clone(),
            kind: record.spec.kind.clone(),
            tags: record.tags.clone(),
            fence: record.fence()?,
            run: record.run.number,
            created: record.created,
            claimed_at: now,
            until: lease.until,
            lease_ttl: record.spec.policy.lease_ttl,
            timeout_at: lease.timeout_at,
            priority: record.priority,
            failures: record.run.failures,
            max_attempts: record.spec.policy.retry.max_attempts,
            budgets: record.spec.limits.budgets.clone(),
            used: record.used.clone(),
            progress: record.attempt.as_ref().and_then(|attempt| attempt.progress.clone()),
            steps: record.journal.visible() as u32,
            generation: record.journal.generation(),
            member: record.member.as_ref().map(|member| (member.flow, member.name.clone())),
            input: Payload { content_type: record.spec.input.content_type.clone(), bytes: input },
        })
    }

    /// How the holder names the execution in its calls.
    pub fn hold(&self) -> LeaseRef {
        LeaseRef {
            target: Target { namespace: self.namespace.clone(), execution: self.execution },
            fence: self.fence,
        }
    }
}

/// Refuses a message that is too long.
pub(super) fn check_message(field: &'static str, text: &str) -> Result<(), Refusal> {
    Refusal::cap(field, text.len(), crate::bounds::MESSAGE_BYTES, "bytes")
}
