//! Calls travel together: what callers of this process ask of a server, or in a cluster of a partition,
//! goes in few calls.
//!
//! At most [`CALLS_UNDER_WAY`] calls are under way there at a time: while the server runs one, the process
//! prepares the next. A caller that may send does so once the tasks that are ready have run, so that they
//! join its call; it waits for nothing else, and for no time. All others queue up, and whichever call ends
//! first takes as many of them along as one call carries. Each caller gets its own part of the answer, or
//! what the call failed with. The part of a caller that has gone before it was sent is not sent.
//!
//! Commands of one function and one partition are one call of that function, and so are claims of the
//! same queues; several such calls are one call of `together`.

mod way;

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
use crate::link::{Arg, Link};
pub(crate) use way::{Part, Way};
use way::{lacking, strange};

/// The values that answer one caller, or why there are none.
pub(crate) type Answer = Result<Vec<Value>, Fault>;

/// The calls of one process that may go as one.
pub(crate) struct Gathering(Arc<Shared>);

struct Shared {
    link: Link,
    keys: Keys,
    origin: [u8; 8],
    runtime: Handle,
    /// The calls that are under way at each gate, and the callers behind them.
    under_way: Mutex<HashMap<Gate, UnderWay>>,
}

/// What lets a few calls through at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Gate {
    /// In a cluster, whose calls touch one slot.
    partition: Option<u16>,
    /// Calls that a server with full memory runs are not held up by those that it refuses.
    frees: bool,
}

/// How many calls are under way at a time. With one, the server would have nothing to do while the process
/// reads its answers; with more than two, each would carry less.
pub(crate) const CALLS_UNDER_WAY: usize = 2;

/// Calls that are under way, and the callers that wait for the next one.
#[derive(Default)]
struct UnderWay {
    calls: usize,
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    asked: Asked,
    answer: Sender<Answer>,
}

/// What one caller asks for.
struct Asked {
    way: Way,
    part: Part,
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
        let partition = self.0.link.is_cluster().then_some(way.partition());
        let gate = Gate { partition, frees: way.frees() };
        let receive = match self.0.join(gate, Asked { way, part }) {
            Joined::First(asked) => {
                let turn = Turn { shared: Arc::clone(&self.0), gate };
                // Callers that are ready to run join this call.
                tokio::task::yield_now().await;
                let mut others = self.0.next_group(gate, Some(&asked.part));
                if others.is_empty() {
                    return self.0.send_one(asked).await;
                }
                let (answer, receive) = oneshot::channel();
                others.insert(0, Waiting { asked, answer });
                self.0.runtime.spawn(turn.go_on(others));
                receive
            }
            Joined::Behind(receive) => receive,
        };
        match timeout_at(by, receive).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Fault::new(Kind::Lost, "the process is shutting down")),
            Err(_) => Err(Fault::new(Kind::Lost, "no answer in time")),
        }
    }

    /// Asks for one part in a call of its own, whatever else is under way.
    pub(crate) async fn ask_alone(&self, way: Way, part: Part) -> Answer {
        self.0.send_one(Asked { way, part }).await
    }
}

/// Where a part has found its place.
enum Joined {
    /// Its caller may send it.
    First(Asked),
    /// It is sent with a later call.
    Behind(Receiver<Answer>),
}

impl Shared {
    fn under_way(&self) -> MutexGuard<'_, HashMap<Gate, UnderWay>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, gate: Gate, asked: Asked) -> Joined {
        let mut under_way = self.under_way();
        let line = under_way.entry(gate).or_default();
        if line.calls < CALLS_UNDER_WAY {
            line.calls += 1;
            return Joined::First(asked);
        }
        let (answer, receive) = oneshot::channel();
        line.waiting.push_back(Waiting { asked, answer });
        Joined::Behind(receive)
    }

    /// The callers that go next, behind `first` if that is given.
    fn next_group(&self, gate: Gate, first: Option<&Part>) -> Vec<Waiting> {
        let mut under_way = self.under_way();
        let line = under_way.get_mut(&gate);
        line.map(|line| gather(&mut line.waiting, first)).unwrap_or_default()
    }

    async fn send_one(&self, asked: Asked) -> Answer {
        let answer = self.send(&[asked]).await.pop();
        answer.unwrap_or_else(|| Err(lacking()))
    }

    /// One call for all that is asked; the answer to each.
    async fn send(&self, asked: &[Asked]) -> Vec<Answer> {
        let sections = sections(asked);
        let answers = match &sections[..] {
            [only] => self.call(only).await.map(|answer| vec![answer]),
            several => self.call_together(several).await,
        };
        let answers = match answers {
            Ok(answers) => answers,
            Err(fault) => return asked.iter().map(|_| Err(fault.clone())).collect(),
        };
        let mut dealt: Vec<_> = asked.iter().map(|_| Err(lacking())).collect();
        for (section, answer) in sections.into_iter().zip(answers) {
            match section.way.deal(answer, &section.parts) {
                Ok(own) => {
                    for (at, own) in section.callers.into_iter().zip(own) {
                        dealt[at] = Ok(own);
                    }
                }
                Err(fault) => {
                    section.callers.into_iter().for_each(|at| dealt[at] = Err(fault.clone()))
                }
            }
        }
        dealt
    }

    async fn call(&self, section: &Section<'_>) -> Result<Value, Fault> {
        let route = self.keys.route(section.way.partition());
        let args = section.way.args(&self.origin, &section.parts);
        self.link.try_call_confirmed(section.way.function(), &route, &args).await
    }

    /// Several calls in one: of each the function, the partition, how many arguments it has, and those.
    async fn call_together(&self, sections: &[Section<'_>]) -> Result<Vec<Value>, Fault> {
        let mut args: Vec<Arg<'_>> = Vec::new();
        for section in sections {
            let own = section.way.args(&self.origin, &section.parts);
            args.push(section.way.function().as_bytes().into());
            args.push(self.keys.route(section.way.partition()).into_bytes().into());
            args.push(own.len().to_string().into_bytes().into());
            args.extend(own);
        }
        let Some(first) = sections.first() else { return Ok(Vec::new()) };
        let function = if first.way.frees() { "together_freeing" } else { "together" };
        let route = self.keys.route(first.way.partition());
        match self.link.try_call_confirmed(function, &route, &args).await? {
            Value::Array(answers) => Ok(answers),
            other => Err(strange(&other)),
        }
    }
}

/// What one function is asked for in one partition.
struct Section<'a> {
    way: &'a Way,
    parts: Vec<&'a Part>,
    /// Who asks, by their places.
    callers: Vec<usize>,
}

fn sections(asked: &[Asked]) -> Vec<Section<'_>> {
    let mut places = HashMap::new();
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (at, Asked { way, part }) in asked.iter().enumerate() {
        let place = *places.entry(way).or_insert(sections.len());
        if place == sections.len() {
            sections.push(Section { way, parts: Vec::new(), callers: Vec::new() });
        }
        sections[place].parts.push(part);
        sections[place].callers.push(at);
    }
    sections
}

/// The right to have a call under way. If callers wait when it is dropped, a task sends the next calls.
struct Turn {
    shared: Arc<Shared>,
    gate: Gate,
}

impl Turn {
    /// Sends one call after the other until no caller waits.
    async fn go_on(self, first: Vec<Waiting>) {
        let mut group = first;
        while !group.is_empty() {
            let (asked, callers): (Vec<_>, Vec<_>) =
                group.into_iter().map(|one| (one.asked, one.answer)).unzip();
            let answers = self.shared.send(&asked).await;
            for (caller, answer) in callers.into_iter().zip(answers) {
                // A caller that has gone needs no answer.
                let _ = caller.send(answer);
            }
            // Those that were answered may ask for more at once.
            tokio::task::yield_now().await;
            group = self.shared.next_group(self.gate, None);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut under_way = self.shared.under_way();
        let Some(line) = under_way.get_mut(&self.gate) else { return };
        let group = gather(&mut line.waiting, None);
        if group.is_empty() {
            line.calls -= 1;
            if line.calls == 0 {
                under_way.remove(&self.gate);
            }
            return;
        }
        // A runtime that is shutting down drops the task at once, and that takes the lock.
        drop(under_way);
        let next = Turn { shared: Arc::clone(&self.shared), gate: self.gate };
        self.shared.runtime.spawn(next.go_on(group));
    }
}

/// The next ones that go as one, behind `first` if that is given: as many as one call carries, and one in
/// any case.
fn gather(queue: &mut VecDeque<Waiting>, first: Option<&Part>) -> Vec<Waiting> {
    let (mut commands, mut bytes) = first.map_or((0, 0), |first| (first.commands, first.bytes));
    let mut group = Vec::new();
    while let Some(next) = queue.pop_front() {
        if next.answer.is_closed() {
            continue;
        }
        commands += next.asked.part.commands;
        bytes += next.asked.part.bytes;
        let is_only = group.is_empty() && first.is_none();
        if !is_only && (commands > CALL_COMMANDS || bytes > BATCH_BYTES) {
            queue.push_front(next);
            break;
        }
        group.push(next);
    }
    group
}
