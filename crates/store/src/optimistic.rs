//! The optimistic driver: load, apply, then commit if nothing that was decided on has changed.
//!
//! For stores reached over a network. Commands that concern different executions go together: one load
//! for all of them, one decision each, one commit for all of them, one outcome each. A conflict or a
//! stale decision is tried again, a bounded number of times. A claim keeps what it got and skips the
//! candidates others took.

use std::collections::HashSet;

use async_trait::async_trait;
use ff_core::Time;
use ff_core::bounds::BATCH_BYTES;
use ff_core::continuation::Armed;
use ff_core::machine::{
    self, Action, Claimed, Command, Item, Loaded, MAX_ROUNDS, Moves, ReadSet, Reply, Step, Subject,
    WriteSet,
};

use crate::admission::queue::SettlementQueue;
use crate::after_commit::AfterCommit;
use crate::continuations::ContinuationQueue;
use crate::error::StoreError;
use crate::serial::too_many_rounds;
use crate::wakeups::Wakeups;

/// How often a command is decided before others are said to be in the way.
pub const MAX_TRIES: usize = 16;

/// How old a decision may be, in milliseconds of the store's time, when it is committed.
pub const MAX_AGE_MS: u64 = 1_000;

/// The two calls of an optimistic store. One item that fails costs itself alone.
#[async_trait]
pub trait Optimistic: Send + Sync {
    /// Reads what is asked for, an answer to each; the first read of a command sets its time.
    async fn load(&self, asks: Vec<Ask>) -> Vec<Result<Loaded, StoreError>>;

    /// Writes each, if every record still has the version decided on and the decision is fresh.
    async fn commit(&self, writes: Vec<Write>) -> Vec<Result<Commit, StoreError>>;
}

/// What a command asks to read.
#[derive(Debug)]
pub struct Ask {
    /// What to read.
    pub reads: ReadSet,
    /// What was read before; `None` the first time.
    pub earlier: Option<Loaded>,
}

/// What one item of a decision writes.
#[derive(Debug)]
pub struct Write {
    /// The writes.
    pub set: WriteSet,
    /// What they were decided on.
    pub decided: Decided,
    /// Whether they add to what the store holds, and so are refused when memory is full.
    pub adds: bool,
}

/// When a decision was made and until when it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided {
    /// The store's time it was made with.
    pub at: Time,
    /// The first timer of a record it was made on.
    pub valid_until: Option<Time>,
}

impl Decided {
    /// Whether the decision is too old at `now` to be written.
    pub fn is_stale(&self, now: Time) -> bool {
        now.since(self.at).get() > MAX_AGE_MS || self.valid_until.is_some_and(|until| until <= now)
    }
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Commit {
    /// It is written, and its latches have added these continuations.
    Written(Vec<Armed>),
    /// A record it was decided on has changed; nothing was written.
    Conflict,
    /// Time has overtaken the decision; nothing was written.
    Stale,
}

/// Runs commands, each as if those before it had run, trying again while others are in the way.
pub async fn run(
    store: &impl Optimistic,
    commands: Vec<Command>,
    wakeups: &Wakeups,
    settlements: &SettlementQueue,
    continuations: &ContinuationQueue,
) -> Vec<Result<Reply, StoreError>> {
    let publish = |after: AfterCommit| after.publish(wakeups, settlements, continuations);
    let mut runs: Vec<_> = commands.into_iter().map(Run::new).collect();
    loop {
        let mut round = next_round(&mut runs);
        if round.is_empty() {
            break;
        }
        let decisions = decide(store, &round).await;
        let mut writes = Vec::new();
        let mut parts = Vec::with_capacity(round.len());
        for (run, decision) in round.iter().zip(decisions) {
            parts.push(decision.map(|(items, decided)| {
                let adds = run.command.action.facts().adds;
                Part::of(items, decided, adds, &mut writes)
            }));
        }
        let mut outcomes = match writes.is_empty() {
            true => Vec::new(),
            false => store.commit(writes).await,
        }
        .into_iter();
        for (run, part) in round.iter_mut().zip(parts) {
            let written = part.and_then(|part| part.written(&mut outcomes, publish));
            run.goes_on(written);
        }
    }
    runs.into_iter().map(Run::into_answer).collect()
}

/// One command on its way to an answer.
struct Run {
    command: Command,
    tries: usize,
    /// What earlier tries of a claim got.
    kept: Option<Claimed>,
    answer: Option<Result<Reply, StoreError>>,
}

impl Run {
    fn new(command: Command) -> Run {
        let answer = machine::check(&command).err().map(|refusal| Err(refusal.into()));
        Run { command, tries: 0, kept: None, answer }
    }

    /// Takes note of a try: what it wrote is answered, and whether that is all of it.
    fn goes_on(&mut self, written: Result<Written, StoreError>) {
        self.tries += 1;
        let Written { reply, items, whole } = match written {
            Ok(written) => written,
            Err(error) => return self.answers(Err(error)),
        };
        if whole {
            return self.answers(reply.ok_or_else(too_many_rounds));
        }
        let mut is_enough = self.tries == MAX_TRIES;
        if let Action::Claim(claim) = &mut self.command.action {
            if let Some(Reply::Claimed(part)) = reply {
                claim.max -= part.assignments.len().min(usize::from(claim.max)) as u16;
                self.kept = Some(join(self.kept.take(), part));
            }
            claim.first += items as u16;
            claim.retry = false;
            is_enough |= claim.max == 0 || self.kept.as_ref().is_some_and(is_heavy);
        }
        if is_enough {
            self.answer = Some(match self.kept.take() {
                Some(part) if !part.assignments.is_empty() => {
                    Ok(Claimed { again: true, ..part }.into())
                }
                _ => Err(StoreError::Contention),
            });
        }
    }

    /// Answers, joined to what earlier tries of a claim got; an error does not lose that.
    fn answers(&mut self, answer: Result<Reply, StoreError>) {
        self.answer = Some(match (self.kept.take(), answer) {
            (Some(part), Ok(Reply::Claimed(more))) => Ok(join(Some(part), more).into()),
            (Some(part), Err(error)) if !part.assignments.is_empty() => {
                tracing::warn!(%error, "a claim was cut short");
                Ok(part.into())
            }
            (_, answer) => answer,
        });
    }

    fn into_answer(self) -> Result<Reply, StoreError> {
        self.answer.unwrap_or(Err(StoreError::Contention))
    }
}

/// The commands without an answer that can go together, in order: each concerns one execution that
/// none before it does, and reads nothing that one before it may change. Any other goes alone, after
/// those before it.
fn next_round(runs: &mut [Run]) -> Vec<&mut Run> {
    let mut round: Vec<&mut Run> = Vec::new();
    let (mut executions, mut is_over) = (HashSet::new(), false);
    for run in runs.iter_mut().filter(|run| run.answer.is_none()) {
        if is_over {
            break;
        }
        let is_apart = match run.command.action.facts().subject {
            Subject::Execution(id) if !reads_others(&run.command) => executions.insert(id),
            _ => {
                is_over = true;
                round.is_empty()
            }
        };
        if !is_apart {
            break;
        }
        round.push(run);
    }
    round
}

/// Whether a command reads more than its subject and its own lane: another execution, one by its
/// idempotency key, candidates, how many classes a lane has, or what a flow needs. Its first reads say so;
/// one that only reads is guarded by nothing that it writes.
fn reads_others(command: &Command) -> bool {
    let ReadSet { records, keys, nominate, claimed_by, class, continuations, .. } =
        machine::reads(command);
    let facts = command.action.facts();
    let subject = facts.subject.execution();
    facts.moves == Moves::Nothing
        || continuations.iter().any(|read| read.kind.reaches_others())
        || records.iter().any(|id| Some(*id) != subject)
        || !keys.is_empty()
        || nominate.is_some()
        || claimed_by.is_some()
        || class.is_some()
}

/// Decides commands together.
async fn decide(
    store: &impl Optimistic,
    round: &[&mut Run],
) -> Vec<Result<(Vec<Item>, Decided), StoreError>> {
    let mut decisions: Vec<_> = round.iter().map(|_| Err(too_many_rounds())).collect();
    let first = |run: &&mut Run| Ask { reads: machine::reads(&run.command), earlier: None };
    let mut asks: Vec<_> = round.iter().map(first).enumerate().collect();
    for _ in 0..MAX_ROUNDS {
        let places: Vec<_> = asks.iter().map(|(place, ask)| (*place, ask.reads.clone())).collect();
        let answers = store.load(asks.into_iter().map(|(_, ask)| ask).collect()).await;
        asks = Vec::new();
        for ((place, reads), answer) in places.into_iter().zip(answers) {
            let step = answer.and_then(|mut loaded| {
                loaded.has_read(&reads);
                Ok((machine::apply(&round[place].command, &loaded)?, loaded))
            });
            match step {
                Ok((Step::NeedMore(reads), loaded)) => {
                    asks.push((place, Ask { reads, earlier: Some(loaded) }));
                }
                Ok((Step::Done(transition), loaded)) => {
                    let (at, valid_until) = (loaded.now, loaded.valid_until());
                    decisions[place] = Ok((transition.items, Decided { at, valid_until }));
                }
                Err(error) => decisions[place] = Err(error),
            }
        }
        if asks.is_empty() {
            break;
        }
    }
    decisions
}

/// The items of one decision, without what they write.
struct Part(Vec<(Option<AfterCommit>, Reply)>);

/// What a try wrote.
struct Written {
    reply: Option<Reply>,
    items: usize,
    /// Whether every item was written.
    whole: bool,
}

impl Part {
    /// Takes `items` apart: what they write goes to `writes`.
    fn of(items: Vec<Item>, decided: Decided, adds: bool, writes: &mut Vec<Write>) -> Part {
        let taken = items.into_iter().map(|Item { write, reply }| {
            let after = write.map(|set| {
                let mut after = AfterCommit::default();
                after.add(&set);
                writes.push(Write { set, decided, adds });
                after
            });
            (after, reply)
        });
        Part(taken.collect())
    }

    /// Takes the outcomes of what was written, publishes what follows, and joins the replies.
    fn written(
        self,
        outcomes: &mut impl Iterator<Item = Result<Commit, StoreError>>,
        publish: impl Fn(AfterCommit),
    ) -> Result<Written, StoreError> {
        let items = self.0.len();
        let (mut joined, mut whole, mut failed): (Option<Reply>, _, _) = (None, true, None);
        for (after, reply) in self.0 {
            if let Some(mut after) = after {
                match outcomes.next().unwrap_or_else(|| Err(too_many_rounds())) {
                    Ok(Commit::Written(latched)) => {
                        after.adds(latched);
                        publish(after);
                    }
                    Ok(Commit::Conflict | Commit::Stale) => {
                        whole = false;
                        continue;
                    }
                    Err(error) => {
                        failed = failed.or(Some(error));
                        continue;
                    }
                }
            }
            joined = Some(match joined {
                Some(earlier) => earlier.join(reply),
                None => reply,
            });
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Written { reply: joined, items, whole }),
        }
    }
}

/// Whether what a claim has is so much that another part could be more than one answer should carry.
fn is_heavy(part: &Claimed) -> bool {
    let bytes = part.assignments.iter().map(|assignment| assignment.input.bytes.len());
    bytes.sum::<usize>() > BATCH_BYTES / 2
}

fn join(kept: Option<Claimed>, more: Claimed) -> Claimed {
    let mut all = kept.unwrap_or_default();
    all.assignments.extend(more.assignments);
    all.again |= more.again;
    all.withheld = all.withheld.or(more.withheld);
    // The last try has read all that is still queued.
    all.needs_admission = more.needs_admission;
    all
}
