//! One read of every primary that serves some of many keys.
//!
//! A call carries a bounded number of keys. A primary that does not answer affects its own keys
//! alone: a scan for work gets what the others answered, and while there is no connection to a
//! primary it is skipped.

use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::retry::{Advice, pauses};
use super::{Arg, Link, Node, slot};
use crate::constants::CALL_PARTITIONS;
use crate::error::{Fault, Kind};

/// How long a primary may take to answer a caller that can continue without it.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Keys and the primary that serves them.
type Group = (Arc<Node>, Vec<String>);

/// What primaries answered, and those that did not.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// The answers, in no order.
    pub(crate) values: Vec<Value>,
    /// Why keys have no answer.
    pub(crate) missing: Option<Missing>,
}

/// Keys that have no answer.
#[derive(Debug)]
pub(crate) struct Missing {
    keys: Vec<String>,
    fault: Fault,
}

impl Missing {
    fn add(to: &mut Option<Missing>, keys: Vec<String>, fault: Fault) {
        match to {
            Some(missing) => missing.keys.extend(keys),
            None => *to = Some(Missing { keys, fault }),
        }
    }
}

impl Link {
    /// How many primaries serve these keys.
    pub(crate) fn owners(&self, keys: &[String]) -> usize {
        self.groups(keys, usize::MAX).0.len()
    }

    /// Whether some primary is known not to answer.
    pub(crate) fn any_away(&self) -> bool {
        self.0.nodes.any_away()
    }

    /// Whether the primary that serves `key` is known not to answer.
    pub(crate) fn is_away(&self, key: &str) -> bool {
        self.0.nodes.owner(slot::of(key.as_bytes())).is_ok_and(|node| node.is_away())
    }

    /// `key`, and those behind it among `keys` that the same primary serves.
    pub(crate) fn together(&self, key: &str, keys: &[String]) -> Vec<String> {
        let owner = |key: &str| self.0.nodes.owner(slot::of(key.as_bytes())).ok();
        let at = owner(key);
        let behind = keys.iter().skip_while(|other| *other != key);
        let same = behind.filter(|other| match (owner(other), &at) {
            (Some(owner), Some(at)) => Arc::ptr_eq(&owner, at),
            _ => *other == key,
        });
        same.cloned().collect()
    }

    pub(super) async fn run_each(
        &self,
        verb: &'static str,
        keys: &[String],
        args: &[Arg<'_>],
    ) -> Result<Vec<Value>, Fault> {
        let by = Instant::now() + self.timeout();
        let mut pauses = pauses();
        let mut values = Vec::new();
        let mut pending = keys.to_vec();
        loop {
            let answers = self.round(verb, &pending, args, by, false).await?;
            values.extend(answers.values);
            let Some(missing) = answers.missing else { return Ok(values) };
            let next = Instant::now() + pauses.pause();
            if !is_repeated(&missing.fault) || !self.is_in_time(next, by) {
                return Err(missing.fault);
            }
            pending = missing.keys;
            self.0.nodes.relearn().await;
            sleep_until(next).await;
        }
    }

    /// As [`Link::run_each`], without those that do not answer soon. If none does, there is no
    /// answer to continue with, and it waits as that does.
    pub(super) async fn run_some(
        &self,
        verb: &'static str,
        keys: &[String],
        args: &[Arg<'_>],
    ) -> Result<Answers, Fault> {
        let by = Instant::now() + self.timeout().min(TIMEOUT);
        let mut answers = self.round(verb, keys, args, by, true).await?;
        let Some(missing) = answers.missing.take() else { return Ok(answers) };
        // A slot that has moved is served by another node, and one that was just lost by none yet.
        if is_repeated(&missing.fault) {
            self.0.nodes.relearn_soon();
        }
        if matches!(missing.fault.advice(), Advice::Follow(_) | Advice::Ask(_)) {
            self.0.nodes.relearn().await;
            let again = self.round(verb, &missing.keys, args, by, true).await?;
            answers.values.extend(again.values);
            answers.missing = again.missing;
        } else {
            answers.missing = Some(missing);
        }
        match answers.missing {
            Some(missing) if answers.values.is_empty() && is_repeated(&missing.fault) => {
                let values = self.run_each(verb, keys, args).await?;
                Ok(Answers { values, missing: None })
            }
            Some(missing) if answers.values.is_empty() => Err(missing.fault),
            missing => Ok(Answers { missing, ..answers }),
        }
    }

    /// Calls all primaries once, at the same time. Those that are known to be away are skipped on
    /// request.
    async fn round(
        &self,
        verb: &'static str,
        keys: &[String],
        args: &[Arg<'_>],
        by: Instant,
        passes: bool,
    ) -> Result<Answers, Fault> {
        let (groups, mut missing) = self.groups(keys, CALL_PARTITIONS);
        let mut asking = JoinSet::new();
        for (node, keys) in groups {
            if passes && node.is_away() {
                let fault = Fault::new(Kind::Unreached, "no connection").at(node.address());
                Missing::add(&mut missing, keys, fault);
                continue;
            }
            let command = self.function_over(verb, &keys, args);
            let link = self.clone();
            asking.spawn(async move { (link.run_on(&command, &node, by).await, keys) });
        }
        let mut values = Vec::new();
        while let Some(done) = asking.join_next().await {
            let (answer, keys) = match done {
                Ok(done) => done,
                Err(error) => return Err(Fault::new(Kind::Other, error.to_string())),
            };
            match answer {
                Ok(value) => values.push(value),
                Err(fault) => Missing::add(&mut missing, keys, fault),
            }
        }
        Ok(Answers { values, missing })
    }

    /// The keys by primary, at most `most` together, and those that no node serves.
    fn groups(&self, keys: &[String], most: usize) -> (Vec<Group>, Option<Missing>) {
        let (mut groups, mut missing) = (Vec::<Group>::new(), None);
        for key in keys {
            let node = match self.0.nodes.owner(slot::of(key.as_bytes())) {
                Ok(node) => node,
                Err(fault) => {
                    Missing::add(&mut missing, vec![key.clone()], fault);
                    continue;
                }
            };
            let has_room =
                |(known, keys): &&mut Group| Arc::ptr_eq(known, &node) && keys.len() < most;
            match groups.iter_mut().find(has_room) {
                Some((_, keys)) => keys.push(key.clone()),
                None => groups.push((node, vec![key.clone()])),
            }
        }
        (groups, missing)
    }

    /// A server refuses keys of several slots, so they are sent as arguments; the library splits them
    /// again.
    fn function_over(&self, verb: &'static str, keys: &[String], args: &[Arg<'_>]) -> Cmd {
        let mut command = redis::cmd("FCALL");
        command.arg(self.0.library.function(verb)).arg(0);
        command.arg(keys.len()).arg(keys);
        for arg in args {
            command.arg(&**arg);
        }
        command
    }
}

/// Whether to call again, perhaps another node: a read-only function may run twice.
fn is_repeated(fault: &Fault) -> bool {
    matches!(fault.kind, Kind::Strayed | Kind::Lost)
        || matches!(fault.advice(), Advice::Follow(_) | Advice::Ask(_) | Advice::Relearn)
}
