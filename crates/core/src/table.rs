//! The transition table, as data: every move an execution can make.
//!
//! The state diagram in the docs is drawn from it, and tests check that the machine makes exactly
//! these moves.

use std::fmt;

use crate::id::ExecutionId;
use crate::machine::{Action, Moves, Subject};
use crate::record::Execution;
use crate::state::{Outcome, State};
use crate::timer::DueAction;

/// A place in the diagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// Not there: not yet submitted, or removed.
    Absent,
    /// [`State::Queued`].
    Queued,
    /// [`State::Delayed`].
    Delayed,
    /// [`State::Blocked`].
    Blocked,
    /// [`State::Suspended`].
    Suspended,
    /// [`State::Awaiting`].
    Awaiting,
    /// [`State::Granted`].
    Granted,
    /// [`State::Active`].
    Active,
    /// [`State::Active`] whose holder is asked to stop.
    Cancelling,
    /// Finished with a result.
    Completed,
    /// Finished by a failure.
    Failed,
    /// Finished by a cancel.
    Cancelled,
    /// Finished by its deadline.
    Expired,
    /// Finished without having run.
    Skipped,
}

impl Node {
    /// Where `record` is.
    pub fn of(record: Option<&Execution>) -> Node {
        let Some(record) = record else {
            return Node::Absent;
        };
        match &record.state {
            State::Queued { .. } => Node::Queued,
            State::Delayed { .. } => Node::Delayed,
            State::Blocked { .. } => Node::Blocked,
            State::Suspended { .. } => Node::Suspended,
            State::Awaiting { .. } => Node::Awaiting,
            State::Granted { .. } => Node::Granted,
            State::Active { cancel: None, .. } => Node::Active,
            State::Active { cancel: Some(_), .. } => Node::Cancelling,
            State::Finished { outcome, .. } => match outcome {
                Outcome::Success { .. } => Node::Completed,
                Outcome::Failed { .. } => Node::Failed,
                Outcome::Cancelled { .. } => Node::Cancelled,
                Outcome::Expired => Node::Expired,
                Outcome::Skipped { .. } => Node::Skipped,
            },
        }
    }

    /// The name in the diagram.
    pub const fn as_str(self) -> &'static str {
        match self {
            Node::Absent => "absent",
            Node::Queued => "queued",
            Node::Delayed => "delayed",
            Node::Blocked => "blocked",
            Node::Suspended => "suspended",
            Node::Awaiting => "awaiting",
            Node::Granted => "granted",
            Node::Active => "active",
            Node::Cancelling => "cancelling",
            Node::Completed => "completed",
            Node::Failed => "failed",
            Node::Cancelled => "cancelled",
            Node::Expired => "expired",
            Node::Skipped => "skipped",
        }
    }
}

/// What makes a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Accept new work.
    Submit,
    /// Reserve it for a worker.
    Grant,
    /// Take it from its queue.
    Claim,
    /// Take what was reserved.
    ClaimGranted,
    /// Keep the lease.
    Renew,
    /// Tell how far it is.
    Progress,
    /// Finish with a result.
    Complete,
    /// Report a failure.
    Fail,
    /// Put it off.
    Delay,
    /// Park it until signals have come.
    Suspend,
    /// Open a waitpoint.
    OpenWaitpoint,
    /// Close a waitpoint.
    CloseWaitpoint,
    /// Deliver a signal.
    Signal,
    /// End a suspension from outside.
    Resume,
    /// Cancel what is held.
    CancelHeld,
    /// Give it back.
    HandBack,
    /// Cancel from outside.
    Cancel,
    /// Take the lease away.
    Revoke,
    /// Change the priority.
    SetPriority,
    /// Change the tags.
    SetTags,
    /// Start a new run.
    Replay,
    /// Remove it.
    Delete,
    /// Wait for a budget or a quota.
    Block,
    /// Return to the queue.
    Unblock,
    /// Tell what was used.
    Usage,
    /// Keep the result of a step.
    RecordStep,
    /// Carry out what follows for a flow.
    Cascade,
    /// Add to the stream.
    AppendFrames,
    /// Change the summary.
    PatchSummary,
    /// Let time pass.
    Tick(DueAction),
    /// Move because another did: the command that moves it concerns something else.
    Follow,
}

impl Verb {
    /// The verb by which `action` moves `execution`; `due` is what time had done to that. `None` if it
    /// lets time pass and nothing was due.
    pub fn of(action: &Action, execution: ExecutionId, due: Option<DueAction>) -> Option<Verb> {
        let facts = action.facts();
        let is_subject = match facts.subject {
            Subject::Execution(id) => id == execution,
            Subject::Queue(..) | Subject::Resource(_) => true,
            Subject::Home(_) => false,
        };
        match facts.moves {
            Moves::By(verb) if is_subject => Some(verb),
            Moves::Due if is_subject => due.map(Verb::Tick),
            _ => Some(Verb::Follow),
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verb::Submit => "submit",
            Verb::Grant => "grant",
            Verb::Claim => "claim",
            Verb::ClaimGranted => "claim granted",
            Verb::Renew => "renew",
            Verb::Progress => "progress",
            Verb::Complete => "complete",
            Verb::Fail => "fail",
            Verb::Delay => "delay",
            Verb::Suspend => "suspend",
            Verb::OpenWaitpoint => "open waitpoint",
            Verb::CloseWaitpoint => "close waitpoint",
            Verb::Signal => "signal",
            Verb::Resume => "resume",
            Verb::CancelHeld => "cancel by holder",
            Verb::HandBack => "hand back",
            Verb::Cancel => "cancel",
            Verb::Revoke => "revoke",
            Verb::SetPriority => "set priority",
            Verb::SetTags => "set tags",
            Verb::Replay => "replay",
            Verb::Delete => "delete",
            Verb::Block => "block",
            Verb::Unblock => "unblock",
            Verb::Usage => "report usage",
            Verb::RecordStep => "record step",
            Verb::Cascade => "cascade",
            Verb::AppendFrames => "append frames",
            Verb::PatchSummary => "patch summary",
            Verb::Tick(DueAction::Deadline) => "deadline",
            Verb::Tick(DueAction::CancelGrace) => "grace over",
            Verb::Tick(DueAction::AttemptTimeout) => "attempt timeout",
            Verb::Tick(DueAction::LeaseExpired) => "lease expired",
            Verb::Tick(DueAction::DelayOver) => "delay over",
            Verb::Tick(DueAction::SuspensionOver) => "suspension over",
            Verb::Tick(DueAction::GrantExpired) => "grant expired",
            Verb::Tick(DueAction::Retention) => "retention over",
            Verb::Follow => "follow",
        })
    }
}

/// One move: from a node, by a verb, to a node.
pub type Arrow = (Node, Verb, Node);

/// Every move, and no other.
#[rustfmt::skip]
pub const ARROWS: &[Arrow] = {
    use Node::{Absent, Active, Blocked, Cancelled, Cancelling, Completed, Delayed, Expired, Failed, Granted, Queued, Suspended};
    use DueAction::{AttemptTimeout, CancelGrace, Deadline, DelayOver, GrantExpired, LeaseExpired, Retention, SuspensionOver};
    use Verb::Tick;
    &[
        (Absent, Verb::Submit, Queued),
        (Absent, Verb::Submit, Delayed),

        (Queued, Verb::Grant, Granted),
        (Queued, Verb::Grant, Expired),
        (Queued, Verb::Claim, Active),
        (Queued, Verb::Claim, Expired),
        (Queued, Verb::Cancel, Cancelled),
        (Queued, Verb::SetPriority, Queued),
        (Queued, Verb::SetTags, Queued),
        (Queued, Tick(Deadline), Expired),

        (Queued, Verb::Block, Blocked),

        (Blocked, Verb::Unblock, Queued),
        (Blocked, Verb::Cancel, Cancelled),
        (Blocked, Verb::SetPriority, Blocked),
        (Blocked, Verb::SetTags, Blocked),
        (Blocked, Tick(Deadline), Expired),

        (Delayed, Verb::Cancel, Cancelled),
        (Delayed, Verb::SetPriority, Delayed),
        (Delayed, Verb::SetTags, Delayed),
        (Delayed, Tick(DelayOver), Queued),
        (Delayed, Tick(Deadline), Expired),

        (Suspended, Verb::Signal, Suspended),
        (Suspended, Verb::Signal, Queued),
        (Suspended, Verb::Resume, Queued),
        (Suspended, Verb::Cancel, Cancelled),
        (Suspended, Verb::SetPriority, Suspended),
        (Suspended, Verb::SetTags, Suspended),
        (Suspended, Tick(SuspensionOver), Queued),
        (Suspended, Tick(SuspensionOver), Failed),
        (Suspended, Tick(SuspensionOver), Cancelled),
        (Suspended, Tick(SuspensionOver), Expired),
        (Suspended, Tick(Deadline), Expired),

        (Queued, Verb::Signal, Queued),
        (Delayed, Verb::Signal, Delayed),
        (Blocked, Verb::Signal, Blocked),
        (Granted, Verb::Signal, Granted),
        (Active, Verb::Signal, Active),
        (Cancelling, Verb::Signal, Cancelling),

        (Granted, Verb::ClaimGranted, Active),
        (Granted, Verb::Cancel, Cancelled),
        (Granted, Verb::SetPriority, Granted),
        (Granted, Verb::SetTags, Granted),
        (Granted, Tick(GrantExpired), Queued),
        (Granted, Tick(Deadline), Expired),

        (Active, Verb::Renew, Active),
        (Active, Verb::Progress, Active),
        (Active, Verb::Usage, Active),
        (Active, Verb::RecordStep, Active),
        (Active, Verb::AppendFrames, Active),
        (Active, Verb::PatchSummary, Active),
        (Active, Verb::SetPriority, Active),
        (Active, Verb::SetTags, Active),
        (Active, Verb::Complete, Completed),
        (Active, Verb::Fail, Queued),
        (Active, Verb::Fail, Delayed),
        (Active, Verb::Fail, Failed),
        (Active, Verb::Delay, Delayed),
        (Active, Verb::Delay, Queued),
        (Active, Verb::Suspend, Suspended),
        (Active, Verb::Suspend, Queued),
        (Active, Verb::Suspend, Active),
        (Active, Verb::OpenWaitpoint, Active),
        (Active, Verb::CloseWaitpoint, Active),
        (Active, Verb::CancelHeld, Cancelled),
        (Active, Verb::HandBack, Queued),
        (Active, Verb::Cancel, Cancelled),
        (Active, Verb::Cancel, Cancelling),
        (Active, Verb::Revoke, Queued),
        (Active, Tick(LeaseExpired), Queued),
        (Active, Tick(LeaseExpired), Failed),
        (Active, Tick(AttemptTimeout), Queued),
        (Active, Tick(AttemptTimeout), Delayed),
        (Active, Tick(AttemptTimeout), Failed),
        (Active, Tick(Deadline), Expired),

        (Cancelling, Verb::Renew, Cancelling),
        (Cancelling, Verb::Progress, Cancelling),
        (Cancelling, Verb::Usage, Cancelling),
        (Cancelling, Verb::RecordStep, Cancelling),
        (Cancelling, Verb::AppendFrames, Cancelling),
        (Cancelling, Verb::PatchSummary, Cancelling),
        (Cancelling, Verb::SetPriority, Cancelling),
        (Cancelling, Verb::SetTags, Cancelling),
        (Cancelling, Verb::Cancel, Cancelling),
        (Cancelling, Verb::Complete, Completed),
        (Cancelling, Verb::Fail, Cancelled),
        (Cancelling, Verb::Delay, Cancelled),
        (Cancelling, Verb::Suspend, Cancelled),
        (Cancelling, Verb::OpenWaitpoint, Cancelling),
        (Cancelling, Verb::CloseWaitpoint, Cancelling),
        (Cancelling, Verb::CancelHeld, Cancelled),
        (Cancelling, Verb::HandBack, Cancelled),
        (Cancelling, Verb::Cancel, Cancelled),
        (Cancelling, Verb::Revoke, Cancelled),
        (Cancelling, Tick(CancelGrace), Cancelled),
        (Cancelling, Tick(LeaseExpired), Cancelled),
        (Cancelling, Tick(AttemptTimeout), Cancelled),
        (Cancelling, Tick(Deadline), Expired),

        (Completed, Verb::Replay, Queued),
        (Failed, Verb::Replay, Queued),
        (Cancelled, Verb::Replay, Queued),
        (Expired, Verb::Replay, Queued),
        (Completed, Verb::Delete, Absent),
        (Failed, Verb::Delete, Absent),
        (Cancelled, Verb::Delete, Absent),
        (Expired, Verb::Delete, Absent),
        (Completed, Tick(Retention), Absent),
        (Failed, Tick(Retention), Absent),
        (Cancelled, Tick(Retention), Absent),
        (Expired, Tick(Retention), Absent),
    ]
};

/// The moves that only flows make, of a flow itself and of its members.
#[rustfmt::skip]
pub const FLOW_ARROWS: &[Arrow] = {
    use Node::{Absent, Active, Awaiting, Blocked, Cancelled, Cancelling, Completed, Delayed, Expired, Failed, Granted, Queued, Skipped, Suspended};
    use DueAction::{Deadline, Retention};
    use Verb::{Cascade, Follow, Tick};
    &[
        (Absent, Verb::Submit, Awaiting),
        (Awaiting, Verb::Submit, Awaiting),
        (Absent, Follow, Awaiting),
        (Absent, Follow, Queued),
        (Absent, Follow, Delayed),

        (Awaiting, Cascade, Awaiting),
        (Awaiting, Cascade, Completed),
        (Awaiting, Cascade, Failed),
        (Awaiting, Cascade, Cancelled),
        (Awaiting, Cascade, Expired),
        (Awaiting, Verb::Cancel, Awaiting),
        (Awaiting, Tick(Deadline), Awaiting),

        (Awaiting, Verb::Cancel, Cancelled),
        (Awaiting, Verb::SetPriority, Awaiting),
        (Awaiting, Verb::SetTags, Awaiting),
        (Awaiting, Tick(Deadline), Expired),
        (Awaiting, Follow, Awaiting),
        (Awaiting, Follow, Queued),
        (Awaiting, Follow, Delayed),
        (Awaiting, Follow, Skipped),
        (Awaiting, Follow, Cancelled),

        (Queued, Verb::Claim, Cancelled),
        (Queued, Verb::Grant, Cancelled),
        (Queued, Follow, Cancelled),
        (Delayed, Follow, Cancelled),
        (Blocked, Follow, Cancelled),
        (Suspended, Follow, Cancelled),
        (Granted, Follow, Cancelled),
        (Active, Follow, Cancelled),
        (Active, Follow, Cancelling),
        (Cancelling, Follow, Cancelled),

        (Queued, Follow, Queued),
        (Delayed, Follow, Delayed),
        (Blocked, Follow, Blocked),
        (Suspended, Follow, Suspended),
        (Granted, Follow, Granted),
        (Active, Follow, Active),
        (Cancelling, Follow, Cancelling),
        (Completed, Follow, Completed),
        (Failed, Follow, Failed),
        (Cancelled, Follow, Cancelled),
        (Expired, Follow, Expired),
        (Skipped, Follow, Skipped),

        (Completed, Verb::Replay, Awaiting),
        (Failed, Verb::Replay, Awaiting),
        (Cancelled, Verb::Replay, Awaiting),
        (Expired, Verb::Replay, Awaiting),
        (Awaiting, Verb::Replay, Awaiting),
        (Failed, Follow, Awaiting),
        (Cancelled, Follow, Awaiting),
        (Expired, Follow, Awaiting),
        (Skipped, Follow, Awaiting),

        (Completed, Verb::Delete, Completed),
        (Failed, Verb::Delete, Failed),
        (Cancelled, Verb::Delete, Cancelled),
        (Expired, Verb::Delete, Expired),
        (Completed, Tick(Retention), Completed),
        (Failed, Tick(Retention), Failed),
        (Cancelled, Tick(Retention), Cancelled),
        (Expired, Tick(Retention), Expired),
        (Completed, Cascade, Absent),
        (Failed, Cascade, Absent),
        (Cancelled, Cascade, Absent),
        (Expired, Cascade, Absent),
        (Completed, Follow, Absent),
        (Failed, Follow, Absent),
        (Cancelled, Follow, Absent),
        (Expired, Follow, Absent),
        (Skipped, Follow, Absent),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Partition, RequestId};
    use crate::machine::{Delete, Heartbeat, Target, Tick};
    use crate::name::{Lane, Namespace};
    use crate::resource::ResourceKey;
    use crate::time::Time;

    fn id(counter: u32) -> ExecutionId {
        ExecutionId::mint(Time::from_ms(1), Partition::ONLY, counter, 0)
    }

    #[test]
    fn what_a_command_does_not_concern_follows() {
        let (own, other) = (id(1), id(2));
        let target = Target { namespace: Namespace::default(), execution: own };
        let delete = Delete { target }.into();
        assert_eq!(Verb::of(&delete, own, None), Some(Verb::Delete));
        assert_eq!(Verb::of(&delete, other, None), Some(Verb::Follow));
        let tick = Tick { execution: own }.into();
        let due = Some(DueAction::Deadline);
        assert_eq!(Verb::of(&tick, own, due), due.map(Verb::Tick));
        assert_eq!(Verb::of(&tick, own, None), None, "nothing was due");
        assert_eq!(Verb::of(&tick, other, due), Some(Verb::Follow));
        let key = ResourceKey::lane(&Namespace::default(), &Lane::default(), 1);
        let heartbeat = Heartbeat { key, session: RequestId::new(1) }.into();
        assert_eq!(Verb::of(&heartbeat, own, None), Some(Verb::Follow));
    }
}
