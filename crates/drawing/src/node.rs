//! A node of a flow, as far as it is drawn.

use ff_core::machine::FlowMember;
use ff_core::{ExecutionId, Millis, NodeName, PublicState, Time};

/// A node of a flow: its place in the graph, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: NodeName,
    /// The numbers of the nodes that it depends on.
    pub after: Vec<u32>,
    /// The execution that it is; `None` if that cannot be read.
    pub id: Option<ExecutionId>,
    /// Its state; `None` if it cannot be read.
    pub state: Option<PublicState>,
    /// When it could run, if it could.
    pub released: Option<Time>,
    /// When its newest attempt started.
    pub started: Option<Time>,
    /// When it ended.
    pub ended: Option<Time>,
}

impl Node {
    /// Its state in a word.
    pub fn word(&self) -> &'static str {
        self.state.map_or("unreadable", PublicState::as_str)
    }

    /// Whether it has ended, or nothing is known of it.
    pub fn has_ended(&self) -> bool {
        self.state.is_none_or(PublicState::is_finished)
    }

    /// How long it waited once it could run.
    pub fn waited(&self, now: Time) -> Option<Millis> {
        self.released.map(|released| self.started.unwrap_or(now).since(released))
    }

    /// How long its newest attempt ran.
    pub fn ran(&self, now: Time) -> Option<Millis> {
        self.started.map(|started| self.ended.unwrap_or(now).since(started))
    }

    /// How much a person wants to see it, the least number first: failures, then work in progress, then what is to come.
    pub fn rank(&self) -> u8 {
        match self.state {
            Some(PublicState::Failed | PublicState::Expired) | None => 0,
            Some(PublicState::Active | PublicState::Suspended) => 1,
            Some(PublicState::Resumable | PublicState::Delayed | PublicState::RateLimited) => 2,
            Some(PublicState::Waiting) => 3,
            Some(PublicState::WaitingChildren) => 4,
            Some(PublicState::Completed | PublicState::Cancelled | PublicState::Skipped) => 5,
        }
    }
}

impl From<&FlowMember> for Node {
    fn from(member: &FlowMember) -> Node {
        let execution = member.execution.as_ref();
        let started = execution.and_then(|it| it.attempt.as_ref()).map(|it| it.started);
        let ended = execution.and_then(|it| it.outcome()).map(|(_, at)| at);
        let released = execution
            .filter(|it| started.is_some() || (it.outcome().is_none() && !it.is_awaiting()));
        Node {
            number: member.node,
            name: member.name.clone(),
            after: member.after.clone(),
            id: execution.map(|it| it.id),
            state: execution.map(|it| it.public_state()),
            released: released.map(|it| it.queued_at),
            started,
            ended,
        }
    }
}
