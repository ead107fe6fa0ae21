//! One question to every primary that serves some of many keys.

use std::sync::Arc;

use redis::{Cmd, Value};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::retry::{Advice, pauses};
use super::{Arg, Link, Node, slot};
use crate::error::{Fault, Kind};

/// Keys and the primary that serves them.
type Group = (Arc<Node>, Vec<String>);

impl Link {
    /// How many primaries serve these keys.
    pub(crate) fn owners(&self, keys: &[String]) -> usize {
        self.groups(keys).map_or(0, |groups| groups.len())
    }

    pub(super) async fn run_each(
        &self,
        verb: &'static str,
        keys: &[String],
        args: &[Arg<'_>],
    ) -> Result<Vec<Value>, Fault> {
        let by = Instant::now() + self.timeout();
        let mut pauses = pauses();
        let mut answers = Vec::new();
        let mut pending = keys.to_vec();
        loop {
            let fault = match self.round(verb, pending, args, &mut answers).await? {
                None => return Ok(answers),
                Some((keys, fault)) => {
                    pending = keys;
                    fault
                }
            };
            let next = Instant::now() + pauses.pause();
            if !self.is_in_time(next, by) {
                return Err(fault);
            }
            self.0.nodes.relearn().await;
            sleep_until(next).await;
        }
    }

    /// Asks once; gives the keys that have to be asked for again.
    async fn round(
        &self,
        verb: &'static str,
        keys: Vec<String>,
        args: &[Arg<'_>],
        answers: &mut Vec<Value>,
    ) -> Result<Option<(Vec<String>, Fault)>, Fault> {
        let groups = match self.groups(&keys) {
            Ok(groups) => groups,
            Err(fault) => return Ok(Some((keys, fault))),
        };
        let mut asking = JoinSet::new();
        for (node, keys) in groups {
            let command = self.function_over(verb, &keys, args);
            let link = self.clone();
            asking.spawn(async move { (link.run_on(&command, &node).await, keys) });
        }
        let mut left: Option<(Vec<String>, Fault)> = None;
        while let Some(done) = asking.join_next().await {
            let (answer, keys) = match done {
                Ok(done) => done,
                Err(error) => return Err(Fault::new(Kind::Other, error.to_string())),
            };
            match answer {
                Ok(value) => answers.push(value),
                Err(fault) if is_repeated(&fault) => match &mut left {
                    Some((left, _)) => left.extend(keys),
                    None => left = Some((keys, fault)),
                },
                Err(fault) => return Err(fault),
            }
        }
        Ok(left)
    }

    fn groups(&self, keys: &[String]) -> Result<Vec<Group>, Fault> {
        let mut groups: Vec<Group> = Vec::new();
        for key in keys {
            let node = self.0.nodes.owner(slot::of(key.as_bytes()))?;
            match groups.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &node)) {
                Some((_, keys)) => keys.push(key.clone()),
                None => groups.push((node, vec![key.clone()])),
            }
        }
        Ok(groups)
    }

    /// A server refuses keys of several slots, so they travel as arguments; the library takes them
    /// apart again.
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

/// Whether to ask again, and perhaps another: a function that only reads may run twice.
fn is_repeated(fault: &Fault) -> bool {
    matches!(fault.kind, Kind::Strayed | Kind::Lost)
        || matches!(fault.advice(), Advice::Follow(_) | Advice::Ask(_) | Advice::Relearn)
}
