//! Makes histories from a seed: mostly commands that apply to the model's state, some that do not.

use fastrand::Rng;
use ff_core::bounds::RUNS;
use ff_core::feed::{FeedState, Trim};
use ff_core::journal::ReplayJournal;
use ff_core::machine::{
    Action, Cancel, ClaimRequest, Command, CopyResource, GrantNext, GrantOffer, LeaseRef, Replay,
    Reply, Submit, Target,
};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::placement::Attention;
use ff_core::resource::Body;
use ff_core::state::Worker;
use ff_core::table::Node;
use ff_core::{Actor, Execution, ExecutionId, Millis, Partition, ResourceKey, TokenName};
use ff_store::{ListIndex, ListScan, Position};

use super::clock::{SPANS, Set};
use super::compare::Answer;
use super::make::{self, chance, millis, one};
use super::op::Op;
use super::pair::View;
use super::read::Read;
use super::themes::{Opening, Theme};
use super::{Agreement, Options, spread};

/// One history in this many uses up all runs of an execution.
const WORN: u64 = 100;

/// Makes one history.
pub(crate) struct Generator {
    pub(super) rng: Rng,
    pub(super) past: Past,
    pub(super) theme: &'static Theme,
    /// How many partitions the stores have.
    pub(super) partitions: u16,
    /// Where most executions of the history are.
    pub(super) favourite: Partition,
    agreement: Agreement,
    clock_is_set: bool,
    /// Planned steps, which precede random ones; last one first.
    planned: Vec<Op>,
    /// How the history begins, after what is planned.
    beginning: &'static [Opening],
}

/// What was sent and answered so far.
#[derive(Default)]
pub(super) struct Past {
    pub(super) sent: Vec<Command>,
    pub(super) submits: Vec<Submit>,
    pub(super) claims: Vec<ClaimRequest>,
    pub(super) grants: Vec<GrantNext>,
    pub(super) holds: Vec<LeaseRef>,
    pub(super) offers: Vec<(Target, GrantOffer, Worker)>,
}

impl Generator {
    pub(crate) fn new(seed: u64, partitions: u16, options: Options) -> Generator {
        let Options { agreement, clock_is_set, .. } = options;
        let (rng, theme) = (Rng::with_seed(seed), Theme::of_seed(seed));
        let favourite = Partition::new((seed % u64::from(partitions)) as u16).unwrap();
        let mut generator = Generator {
            rng,
            past: Past::default(),
            theme,
            partitions,
            favourite,
            agreement,
            clock_is_set,
            planned: Vec::new(),
            beginning: &[],
        };
        if !theme.beginnings.is_empty() && chance(&mut generator.rng, 75) {
            generator.beginning = one(&mut generator.rng, theme.beginnings);
        }
        if seed % WORN == WORN - 1 {
            generator.plan_all_runs();
        }
        if seed % 2 == 1 {
            generator.plan_feeds();
        }
        generator
    }

    /// The next step.
    pub(crate) fn next(&mut self, view: View<'_>) -> Op {
        if let Some(op) = self.planned.pop() {
            return op;
        }
        while let Some((step, rest)) = self.beginning.split_first() {
            self.beginning = rest;
            let op = match step {
                Opening::Do(make) => {
                    let action = make(self, view);
                    action.map(|action| Op::Run(vec![self.with_entropy(action)]))
                }
                Opening::Pass => {
                    let timers = view.held.records.values().filter_map(|it| it.placed.timer);
                    let next = timers.filter(|at| *at > view.now).min();
                    next.map(|at| Op::Advance(at.since(view.now)))
                }
            };
            // What does not apply, because of a step before it, is left out.
            if let Some(op) = op.filter(|op| self.is_comparable(op, view)) {
                return op;
            }
        }
        if self.clock_is_set && self.rng.u8(..100) < 10 {
            return Op::SetClock(Set { ahead: self.rng.bool(), span: one(&mut self.rng, &SPANS) });
        }
        loop {
            let op = match self.rng.u8(..100) {
                0..14 => Op::Advance(self.span(view)),
                14..29 => Op::Read(self.read(view)),
                29..90 => Op::Run(vec![self.command(view)]),
                _ => Op::Run((0..self.rng.usize(2..7)).map(|_| self.command(view)).collect()),
            };
            if self.is_comparable(&op, view) {
                return op;
            }
        }
    }

    fn is_comparable(&self, op: &Op, view: View<'_>) -> bool {
        self.agreement.can_compare(op, view) && spread::can_compare(op, view)
    }

    /// Records the answer to a command.
    pub(crate) fn learn(&mut self, command: &Command, answer: &Answer) {
        let past = &mut self.past;
        past.sent.push(command.clone());
        match &command.action {
            Action::Submit(submit) => past.submits.push(submit.clone()),
            Action::Claim(claim) => past.claims.push(claim.call.clone()),
            Action::GrantNext(grant) => past.grants.push(grant.clone()),
            _ => {}
        }
        match (answer, &command.action) {
            (Ok(Reply::Claimed(claimed)), _) => {
                past.holds.extend(claimed.assignments.iter().map(|a| a.hold()));
            }
            (Ok(Reply::Granted(granted)), Action::GrantNext(grant)) => {
                if let Some(offer) = &granted.offer {
                    let namespace = grant.namespace.clone();
                    let target = Target { namespace, execution: offer.execution };
                    past.offers.push((target, offer.clone(), grant.worker.clone()));
                }
            }
            _ => {}
        }
    }

    fn command(&mut self, view: View<'_>) -> Command {
        let action = loop {
            if let Some(action) = self.action(view) {
                break action;
            }
        };
        self.with_entropy(action)
    }

    pub(super) fn with_entropy(&mut self, action: impl Into<Action>) -> Command {
        let by = chance(&mut self.rng, 50).then(|| Actor::from(&TokenName::new("ann").unwrap()));
        Command { entropy: self.rng.u64(..), by, action: action.into() }
    }

    /// How long to wait: to a timer, to just before one, or any time.
    fn span(&mut self, view: View<'_>) -> Millis {
        let coming = |record: &Execution| record.placed.timer.filter(|at| *at > view.now);
        let mut timers: Vec<_> = view.held.records.values().filter_map(coming).collect();
        let resources = view.held.resource_timers.values().copied();
        timers.extend(resources.filter(|at| *at > view.now));
        timers.sort();
        let asked = |record: &&Execution| Node::of(Some(record)) == Node::Cancelling;
        let brief = view.held.records.values().filter(asked).find_map(coming);
        let rng = &mut self.rng;
        match (timers.first(), rng.u8(..100)) {
            (Some(first), 0..40) => first.since(view.now),
            (Some(_), 40..52) => brief.unwrap_or_else(|| one(rng, &timers)).since(view.now),
            (Some(first), 52..60) => Millis::new(first.since(view.now).get() - 1),
            (_, 97..) => Millis::from_hours(25),
            (_, 92..97) => Millis::new(rng.u64(..5_000)),
            _ => Millis::new(rng.u64(..150)),
        }
    }

    fn read(&mut self, view: View<'_>) -> Read {
        let id = self.any_id(view);
        let rng = &mut self.rng;
        let limit = one(rng, &[1, 2, 5, 100]);
        match rng.u8(..10) {
            7 => self.waiters(view, limit).unwrap_or(Read::Record(id)),
            5 => Read::Resources(self.scan()),
            6 => self.place(view).unwrap_or(Read::Record(id)),
            0 => Read::Record(id),
            1 => {
                let part = one(rng, &[BlobPart::Input, BlobPart::Result(0), BlobPart::Result(1)]);
                Read::Blob(BlobKey { execution: id, part })
            }
            9 if chance(rng, 30) => Read::Trim {
                namespace: make::namespace(rng),
                trim: Trim { before: view.now - millis(rng, &[0, 1_000]), most: u64::MAX },
            },
            2 | 8 | 9 => Read::Elements(self.elements(view, limit)),
            3 => {
                let record = view.held.record(id).filter(|_| rng.bool());
                let after = record.map(|record| Position::of(record));
                let which = match rng.bool() {
                    true => ListIndex::All,
                    false => ListIndex::Attention(one(rng, Attention::ALL)),
                };
                Read::List(ListScan { namespace: make::namespace(rng), which, after, limit })
            }
            _ => {
                let timer = view.held.record(id).and_then(|record| record.placed.timer);
                let after = timer.filter(|_| rng.bool()).map(|at| (at, id));
                Read::DueAction { after, limit }
            }
        }
    }

    /// An execution that exists, existed, or never did.
    pub(super) fn any_id(&mut self, view: View<'_>) -> ExecutionId {
        match self.rng.u8(..100) {
            0..3 => self.id(),
            3..8 if !self.past.submits.is_empty() => one(&mut self.rng, &self.past.submits).id,
            _ => match make::one_of(&mut self.rng, &view.held.records) {
                Some((id, _)) => *id,
                None => self.id(),
            },
        }
    }

    /// An id that names nothing.
    fn id(&mut self) -> ExecutionId {
        make::id(&mut self.rng, self.partitions)
    }

    /// Switches the feeds of all namespaces on, in every partition if these are few.
    fn plan_feeds(&mut self) {
        let feed = FeedState { on: true, generation: 1, ..FeedState::default() };
        let partitions: Vec<_> = match self.partitions {
            few @ ..=4 => (0..few).map(|number| Partition::new(number).unwrap()).collect(),
            _ => vec![self.favourite],
        };
        let mut copies = Vec::new();
        for namespace in make::namespaces() {
            for at in partitions.iter().copied() {
                let key = ResourceKey::feed_in(at, &namespace);
                let body = Box::new(Body::Feed(feed.clone()));
                copies.push(self.with_entropy(CopyResource { key, body }));
            }
        }
        self.planned.push(Op::Run(copies));
    }

    /// Submits an execution and replays it until it has no run left.
    fn plan_all_runs(&mut self) {
        let mut submit = Submit::new(self.id());
        submit.policy.retention = Some(Millis::from_days(30));
        let target = Target { namespace: submit.namespace.clone(), execution: submit.id };
        let mut rounds: Vec<Action> = Vec::new();
        for run in 0..RUNS {
            rounds.push(Cancel { target: target.clone(), grace: None, reason: None }.into());
            rounds
                .push(Replay { target: target.clone(), run, journal: ReplayJournal::Keep }.into());
        }
        let rounds = rounds.into_iter().map(|action| self.with_entropy(action)).collect();
        let submit = self.with_entropy(submit);
        self.planned = vec![Op::Run(rounds), Op::Run(vec![submit])];
    }
}
