//! Calls whose reply was lost: which may be sent again, and what they are answered.

use std::collections::BTreeMap;

use ff_core::ExecutionId;
use ff_core::machine::{Action, Claimed, Command, Granted, Reply, Submitted};

use super::World;

/// The same call as a caller sends it again after `reply` was lost, if its docs promise that the
/// first answer is given again.
pub(crate) fn again(command: &Command, reply: &Reply) -> Option<Command> {
    let mut again = command.clone();
    match (&mut again.action, reply) {
        (Action::Claim(claim), Reply::Claimed(claimed)) if !claimed.assignments.is_empty() => {
            claim.retry = true;
        }
        (Action::GrantNext(grant), Reply::Granted(granted)) if granted.offer.is_some() => {
            grant.retry = true;
        }
        (Action::Claim(_) | Action::GrantNext(_), _) => return None,
        (Action::Renew(_) | Action::ReportProgress(_) | Action::Tick(_), _) => return None,
        // What is gone is not found.
        (Action::Delete(_), _) => return None,
        _ => {}
    }
    Some(again)
}

/// Invariant 13: a call sent again at once is answered the same and changes nothing.
pub(crate) fn a_repeated_call_is_answered_the_same(
    world: &World,
    command: &Command,
    reply: &Reply,
) {
    if let Some(again) = again(command, reply) {
        answered_the_same(world, &again, reply);
    }
}

fn answered_the_same(world: &World, again: &Command, reply: &Reply) {
    let transition = match world.decide(again) {
        Ok(transition) => transition,
        Err(refusal) => panic!("{refusal:?} to the repeated {again:?}"),
    };
    let writes = transition.items.iter().any(|item| item.write.is_some());
    assert!(!writes, "a repeated call changes something: {again:?}");
    let replies = transition.items.into_iter().map(|item| item.reply);
    let answer = replies.reduce(Reply::join).expect("at least one item");
    assert_eq!(essence(answer), essence(reply.clone()), "to the repeated {again:?}");
}

/// A reply without what tells the first call from the second.
fn essence(reply: Reply) -> Reply {
    match reply {
        Reply::Submitted(found) => Reply::Submitted(Submitted { created: false, ..found }),
        Reply::Claimed(claimed) => Reply::Claimed(Claimed { again: false, ..claimed }),
        Reply::Granted(granted) => Reply::Granted(Granted { again: false, ..granted }),
        other => other,
    }
}

/// The last call that ended a lease of each execution, and its answer. It is answered the same
/// until another call ends a lease or the execution is removed.
#[derive(Default)]
pub(crate) struct Exits(BTreeMap<ExecutionId, (Command, Reply)>);

impl Exits {
    /// Remembers what `command` did.
    pub(crate) fn note(&mut self, world: &World, command: &Command, reply: &Reply) {
        for moved in &world.moved {
            if moved.after.is_none() {
                self.0.remove(&moved.id);
            } else if matches!(reply, Reply::Exited(_)) {
                self.0.insert(moved.id, (command.clone(), reply.clone()));
            }
        }
    }

    /// Invariant 13, later: whatever happened since, the last exit is answered the same.
    pub(crate) fn the_last_exit_is_answered_the_same(&self, world: &World) {
        for (id, (command, reply)) in &self.0 {
            if !names_the_present_lease(world, *id, command) {
                answered_the_same(world, command, reply);
            }
        }
    }
}

/// A revocation names a lease. When a retried claim took the execution again under its old name,
/// the revocation is no repeat: it ends the present lease.
fn names_the_present_lease(world: &World, id: ExecutionId, command: &Command) -> bool {
    let Action::Revoke(revoke) = &command.action else {
        return false;
    };
    world.record(id).lease().is_some_and(|lease| lease.id == revoke.lease)
}
