//! Calls travel together: what callers of this process ask of one function in one partition while a
//! call of it is under way goes as the next call.
//!
//! A caller that meets no such call sends its own at once, and nobody waits for more to come. Callers
//! that come meanwhile queue up, and a task sends what they ask for, the first ones first and as much
//! as one call carries, until nobody is left. Each caller gets its own part of the answer, or what the
//! call failed with. The part of a caller that has gone before it was sent is not sent.

mod way;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ff_core::bounds::BATCH_BYTES;
use redis::Value;
use tokio::runtime::Handle;
use tokio::sync::oneshot::{self, Receiver, Sender};
use tokio::time::{Instant, timeout_at};

use crate::constants::CALL_COMMANDS;
use crate::error::{Fault, Kind};
use crate::keys::Keys;
use crate::link::Link;
pub(crate) use way::{Part, Way};

/// The values that answer one caller, or why there are none.
pub(crate) type Answer = Result<Vec<Value>, Fault>;

/// The calls of one process that may go as one.
pub(crate) struct Gathering(Arc<Shared>);

struct Shared {
    link: Link,
    keys: Keys,
    origin: [u8; 8],
    runtime: Handle,
    /// Who waits behind each call that is under way.
    under_way: Mutex<HashMap<Way, VecDeque<Waiting>>>,
}

struct Waiting {
    part: Part,
    answer: Sender<Answer>,
}

impl Gathering {
    /// Calls over `link`. Those of several callers are sent by tasks of the current runtime.
    pub(crate) fn new(link: Link, keys: Keys, origin: [u8; 8]) -> Gathering {
        let (runtime, under_way) = (Handle::current(), Mutex::default());
        Gathering(Arc::new(Shared { link, keys, origin, runtime, under_way }))
    }

    /// Asks for one part, in a call of its own or together with others.
    pub(crate) async fn ask(&self, way: Way, part: Part) -> Answer {
        let by = Instant::now() + self.0.link.timeout();
        match self.0.join(&way, part) {
            Joined::First(part) => {
                let _turn = Turn { shared: Arc::clone(&self.0), way: way.clone() };
                self.0.send_one(&way, part).await
            }
            Joined::Behind(answer) => match timeout_at(by, answer).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => Err(Fault::new(Kind::Lost, "the process is shutting down")),
                Err(_) => Err(Fault::new(Kind::Lost, "no answer in time")),
            },
        }
    }

    /// Asks for one part in a call of its own, whatever else is under way.
    pub(crate) async fn ask_alone(&self, way: &Way, part: Part) -> Answer {
        self.0.send_one(way, part).await
    }
}

/// Where a part has found its place.
enum Joined {
    /// No call is under way: its caller sends it.
    First(Part),
    /// It is sent with the next call.
    Behind(Receiver<Answer>),
}

impl Shared {
    fn under_way(&self) -> MutexGuard<'_, HashMap<Way, VecDeque<Waiting>>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, way: &Way, part: Part) -> Joined {
        match self.under_way().entry(way.clone()) {
            Entry::Vacant(place) => {
                place.insert(VecDeque::new());
                Joined::First(part)
            }
            Entry::Occupied(mut place) => {
                let (answer, receive) = oneshot::channel();
                place.get_mut().push_back(Waiting { part, answer });
                Joined::Behind(receive)
            }
        }
    }

    async fn send_one(&self, way: &Way, part: Part) -> Answer {
        let mut answers = self.send(way, &[part]).await?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// One call for some parts; the values that answer each.
    async fn send(&self, way: &Way, parts: &[Part]) -> Result<Vec<Vec<Value>>, Fault> {
        let (route, args) = (self.keys.route(way.partition()), way.args(&self.origin, parts));
        let answer = self.link.try_call_confirmed(way.function(), &route, &args).await?;
        way.deal(answer, parts)
    }
}

/// The call that is under way, and then the next ones. Whoever drops it leaves those who wait to a
/// task.
struct Turn {
    shared: Arc<Shared>,
    way: Way,
}

impl Turn {
    /// Sends one call after the other until nobody waits.
    async fn go_on(self, first: Vec<Waiting>) {
        let mut group = first;
        while !group.is_empty() {
            let (parts, callers): (Vec<_>, Vec<_>) =
                group.into_iter().map(|one| (one.part, one.answer)).unzip();
            match self.shared.send(&self.way, &parts).await {
                Ok(answers) => {
                    for (caller, answer) in callers.into_iter().zip(answers) {
                        // A caller that has gone needs no answer.
                        let _ = caller.send(Ok(answer));
                    }
                }
                Err(fault) => {
                    for caller in callers {
                        let _ = caller.send(Err(fault.clone()));
                    }
                }
            }
            let mut under_way = self.shared.under_way();
            group = under_way.get_mut(&self.way).map(gather).unwrap_or_default();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut under_way = self.shared.under_way();
        let group = under_way.get_mut(&self.way).map(gather).unwrap_or_default();
        if group.is_empty() {
            under_way.remove(&self.way);
            return;
        }
        // A runtime that is shutting down drops the task at once, and that takes the lock.
        drop(under_way);
        let next = Turn { shared: Arc::clone(&self.shared), way: self.way.clone() };
        self.shared.runtime.spawn(next.go_on(group));
    }
}

/// The next ones that go as one: as many as one call carries, and one in any case.
fn gather(queue: &mut VecDeque<Waiting>) -> Vec<Waiting> {
    let (mut commands, mut bytes) = (0, 0);
    let mut group = Vec::new();
    while let Some(next) = queue.pop_front() {
        if next.answer.is_closed() {
            continue;
        }
        commands += next.part.commands;
        bytes += next.part.bytes;
        if !group.is_empty() && (commands > CALL_COMMANDS || bytes > BATCH_BYTES) {
            queue.push_front(next);
            break;
        }
        group.push(next);
    }
    group
}
