//! Claim: from the best partition that this process knows of, in one function call.

mod answer;

use std::borrow::Cow;
use std::collections::BTreeSet;

use ff_core::ExecutionId;
use ff_core::bounds::BATCH_BYTES;
use ff_core::machine::{
    self, Admissions, Assignment, Claim, ClaimRequest, Claimed, Command, MAX_ROUNDS,
    NeedsAdmission, Reply, Step,
};
use ff_core::placement::Score;
use ff_store::optimistic::{Ask, Optimistic};
use ff_store::{StoreError, outage};
use redis::Value;

use crate::codec::{self, Packer, Stored, format};
use crate::constants::PAGE_LEAST;
use crate::error::{Fault, Kind};
use crate::gather::{Part, Way};
use crate::heads::{BestOf, Pick, Queue};
use crate::keys;
use crate::link::Arg;
use crate::reply;
use crate::slow_path::{self, SlowPath};
use crate::store::Shared;
use answer::ClaimReply;

/// How many partitions one claim or grant asks at most. Each asked one gives something or is forgotten.
pub(crate) const MOST_PICKS: usize = 128;

/// Runs a claim that has passed its check.
pub(crate) async fn run(store: &Shared, claim: &Claim, entropy: u64) -> Result<Reply, StoreError> {
    if claim.retry {
        return again(store, claim, entropy).await;
    }
    let mut claiming = Claiming::new(claim);
    if claim.admissions != Admissions::Any {
        return claiming.pass(store, entropy).await;
    }
    let mut has_scanned = false;
    let queue = (claim.namespace.clone(), claim.lane.clone());
    for _ in 0..MOST_PICKS {
        let max = usize::from(claiming.claim.max);
        let is_discovered = store.has_fresh_scan(&queue);
        let open = claiming.open(store);
        match store.heads.pick(&queue, &claim.capabilities, max, is_discovered, open) {
            Some(pick) => {
                if !claiming.ask(store, entropy, &queue, pick).await? {
                    break;
                }
            }
            None if has_scanned || claiming.has_some() || is_discovered => break,
            None => {
                store.refresh_heads(vec![queue.clone()]).await?;
                has_scanned = true;
            }
        }
    }
    claiming.scan_further(store).await;
    claiming.answer()
}

/// The first of what must be admitted before this claim gets it, in the best partitions.
pub(crate) async fn admission_candidates(
    store: &Shared,
    claim: &ClaimRequest,
    most: usize,
) -> Result<Vec<NeedsAdmission>, StoreError> {
    let queue = (claim.namespace.clone(), claim.lane.clone());
    let best = store.heads.best_of(&queue, &claim.capabilities, most);
    let BestOf { partitions, classes, bound } = best;
    if partitions.is_empty() {
        return Ok(Vec::new());
    }
    // What is wanted is seldom all in one of them.
    let of_each = (2 * most / partitions.len()).max(PAGE_LEAST).min(most.max(1));
    let mut args: Vec<Arg<'_>> = vec![Cow::Owned(of_each.to_string().into_bytes())];
    let name = |class: &String| keys::queue(&claim.namespace, &claim.lane, class);
    args.extend(classes.iter().map(|class| Cow::Owned(name(class).into_bytes())));
    let routes: Vec<_> = partitions.into_iter().map(|at| store.keys.route(at)).collect();
    let mut found = Vec::new();
    for answer in store.link.call_some("admission_candidates", &routes, &args).await?.values {
        for partition in reply::list(answer)? {
            let mut values = reply::list(partition)?.into_iter();
            let is_limited = reply::number(&values.next().ok_or_else(reply::missing)?)? == 1;
            found.extend(deferred(values, is_limited)?.0);
        }
    }
    found.sort_by_key(|(place, _)| *place);
    let in_turn = |(score, _): (Score, ExecutionId)| bound.is_none_or(|most| score.get() <= most);
    let found = found.into_iter().take_while(|(place, _)| in_turn(*place)).take(most);
    Ok(found.map(|(_, needs)| needs).collect())
}

/// One that must be admitted, and its place.
type Placed = ((Score, ExecutionId), NeedsAdmission);

/// Reads pairs of an id and a record: what must be admitted, and whether all of them can be read.
fn deferred(
    values: impl IntoIterator<Item = Value>,
    is_limited: bool,
) -> Result<(Vec<Placed>, bool), StoreError> {
    let (mut found, mut all) = (Vec::new(), true);
    let mut values = values.into_iter();
    while let (Some(id), Some(record)) = (values.next(), values.next()) {
        let id = slow_path::named(&reply::bytes(id)?)?;
        let Ok(Stored { record, .. }) = slow_path::decode(id, &reply::bytes(record)?) else {
            all = false;
            continue;
        };
        let place = (Score::of(record.priority, record.queued_at), id);
        found.extend(NeedsAdmission::of(&record, is_limited).map(|needs| (place, needs)));
    }
    Ok((found, all))
}

/// A retried claim: what its earlier send took, wherever, or else a new claim.
async fn again(store: &Shared, claim: &Claim, entropy: u64) -> Result<Reply, StoreError> {
    let mut all = Claimed::default();
    let command = Command { entropy, by: None, action: claim.clone().into() };
    for partition in store.claimed_by(claim.request).await? {
        all.assignments.extend(held(store, &command, partition).await?);
    }
    if !all.assignments.is_empty() {
        all.assignments.sort_by_key(|assignment| assignment.fence.lease.place());
        return Ok(all.into());
    }
    let mut fresh = claim.clone();
    fresh.retry = false;
    Box::pin(run(store, &fresh, entropy)).await
}

/// What the claim of `command` still holds in `partition`: the machine answers a retried claim that
/// has no candidates.
async fn held(
    store: &Shared,
    command: &Command,
    partition: u16,
) -> Result<Vec<Assignment>, StoreError> {
    let slow_path = SlowPath { store, partition };
    let mut ask = Ask { reads: machine::reads(command), earlier: None };
    for _ in 0..MAX_ROUNDS {
        let answer = slow_path.load(vec![ask]).await.pop();
        let mut loaded = answer.unwrap_or_else(|| Err(reply::missing()))?;
        loaded.candidates.get_or_insert_default();
        match machine::apply(command, &loaded)? {
            Step::NeedMore(reads) => ask = Ask { reads, earlier: Some(loaded) },
            Step::Done(transition) => {
                let replies = transition.items.into_iter().map(|item| item.reply);
                return Ok(match replies.reduce(Reply::join) {
                    Some(Reply::Claimed(claimed)) => claimed.assignments,
                    _ => Vec::new(),
                });
            }
        }
    }
    Ok(Vec::new())
}

/// A claim and what it has so far.
struct Claiming {
    /// What is still wanted.
    claim: Claim,
    all: Claimed,
    bytes: usize,
    /// Partitions that are not asked again: they could not be asked, or have given what they have.
    aside: BTreeSet<u16>,
    /// Why one could not be asked.
    failure: Option<StoreError>,
}

impl Claiming {
    fn new(claim: &Claim) -> Claiming {
        let (all, aside) = (Claimed::default(), BTreeSet::new());
        Claiming { claim: claim.clone(), all, bytes: 0, aside, failure: None }
    }

    /// Which partitions may be asked: not those set aside, nor those whose primary does not answer.
    fn open(&self, store: &Shared) -> impl Fn(u16) -> bool {
        let any_away = store.link.any_away();
        move |at| {
            let is_away = any_away && store.link.is_away(&store.keys.route(at));
            !is_away && !self.aside.contains(&at)
        }
    }

    /// What it took. A claim that took nothing because a partition could not be asked has failed.
    fn answer(self) -> Result<Reply, StoreError> {
        match self.failure {
            Some(error) if self.all.assignments.is_empty() => Err(error),
            Some(error) => {
                outage::failed(&error, "a claim was cut short");
                Ok(self.all.into())
            }
            None => Ok(self.all.into()),
        }
    }

    /// Where one execution must be admitted, others of the same queue may have to be too: finds as many
    /// as the claim still wants.
    async fn scan_further(&mut self, store: &Shared) {
        let (found, most) = (self.all.needs_admission.len(), usize::from(self.claim.max));
        if found == 0 || found >= most {
            return;
        }
        match admission_candidates(store, &self.claim, most).await {
            Ok(more) => {
                let known = self.all.needs_admission.iter().map(|one| one.execution);
                let known: BTreeSet<_> = known.collect();
                let new = more.into_iter().filter(|one| !known.contains(&one.execution));
                self.all.needs_admission.extend(new);
            }
            Err(error) => outage::failed(&error, "a claim scans one partition only"),
        }
    }

    fn has_some(&self) -> bool {
        !self.all.assignments.is_empty()
    }

    /// Takes what is admitted, where that is. If nothing is, asks each partition once for what need
    /// not be, or is already.
    async fn pass(mut self, store: &Shared, entropy: u64) -> Result<Reply, StoreError> {
        let admitted = self.claim.admissions.only();
        let anywhere = admitted.is_none();
        let admitted = admitted.into_iter().flatten();
        let mut places: BTreeSet<_> =
            admitted.map(|one| store.keys.partition(one.request.needs.execution)).collect();
        let mut asked = BTreeSet::new();
        let queue = (self.claim.namespace.clone(), self.claim.lane.clone());
        for _ in 0..MOST_PICKS {
            let (max, offers) = (usize::from(self.claim.max), &self.claim.capabilities);
            let pick = match anywhere {
                true => {
                    let open = self.open(store);
                    let open = |at| !asked.contains(&at) && open(at);
                    store.heads.pick(&queue, offers, max, false, open)
                }
                false => places.pop_first().map(|at| store.heads.at(&queue, offers, at)),
            };
            let Some(mut pick) = pick.filter(|_| max > 0) else { break };
            pick.bound = None;
            asked.insert(pick.partition);
            if !self.ask(store, entropy, &queue, pick).await? {
                break;
            }
        }
        self.answer()
    }

    /// Asks one partition. Tells whether another may be asked. One that cannot be asked is set aside.
    /// It fails if what was taken is unknown: the same claim, sent again, finds out.
    async fn ask(
        &mut self,
        store: &Shared,
        entropy: u64,
        queue: &Queue,
        pick: Pick,
    ) -> Result<bool, StoreError> {
        let (way, part) = self.part(entropy, &pick);
        let answer = match self.claim.admissions {
            // Together with other claims of these queues.
            Admissions::Any => store.gathering.ask(way, part).await,
            _ => store.gathering.ask_alone(way, part).await,
        };
        let answer = match answer {
            Err(fault) if was_not_run(&fault) => {
                store.heads.settle(queue, &pick, 0, None);
                self.aside.insert(pick.partition);
                self.failure = Some(fault.into());
                return Ok(true);
            }
            answer => answer.map_err(StoreError::from).and_then(ClaimReply::read),
        };
        let answered = answer.as_ref().ok().and_then(ClaimReply::answer);
        let taken = answered.map_or(0, |answer| answer.assignments.len());
        let heads = answered.map(|answer| &answer.heads[..]);
        let asks = answered.is_some_and(|answer| !answer.needs_admission.is_empty());
        let left = store.heads.settle(queue, &pick, taken, heads);
        let asks_again = matches!(answer, Ok(ClaimReply::PassedOver(_)));
        // A claim that took nothing wakes no other: two of them would wake each other for ever.
        if let Some(left) = left.filter(|_| taken > 0 || !asks && !asks_again) {
            store.more_work(queue, left);
        }
        let answer = match answer? {
            ClaimReply::Answered(answer) => answer,
            // It asks again, the partition that is best by now.
            ClaimReply::PassedOver(_) => return Ok(true),
            ClaimReply::Left => {
                return self.ask_slowly(store, entropy, queue, pick.partition).await;
            }
        };
        self.take(answer.assignments);
        self.all.again |= answer.cut;
        self.all.needs_admission.extend(answer.needs_admission);
        // Where one must be admitted, nothing of another partition is taken in its place.
        let asks = asks && self.claim.admissions == Admissions::Any;
        Ok(!answer.cut && !asks && self.goes_on())
    }

    /// Asks one partition on the slow path. Tells whether another may be asked.
    async fn ask_slowly(
        &mut self,
        store: &Shared,
        entropy: u64,
        queue: &Queue,
        partition: u16,
    ) -> Result<bool, StoreError> {
        let action = self.claim.clone().into();
        let reply = store.slow_path(&Command { entropy, by: None, action }, partition).await;
        let claimed = match reply {
            Ok(Reply::Claimed(claimed)) => claimed,
            Ok(_) => return Err(reply::missing()),
            // Nothing was changed there, and what was taken before is answered.
            Err(error @ (StoreError::Busy(_) | StoreError::Full(_))) if self.has_some() => {
                self.failure = Some(error);
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let lanes = vec![queue.clone()];
        let scanned = match claimed.assignments.is_empty() {
            true => store.scan_heads(lanes).await.map(drop),
            false => store.refresh_heads(lanes).await,
        };
        if let Err(error) = scanned {
            outage::failed(&error, "cannot scan for work");
        }
        // It has given what it has: what cannot be read there holds up no other partition.
        self.aside.insert(partition);
        let is_over =
            claimed.again || claimed.withheld.is_some() || !claimed.needs_admission.is_empty();
        self.take(claimed.assignments);
        self.all.again |= claimed.again;
        self.all.withheld = self.all.withheld.or(claimed.withheld);
        self.all.needs_admission.extend(claimed.needs_admission);
        Ok(!is_over && self.goes_on())
    }

    /// Whether more is wanted, and the answer has room for it.
    fn goes_on(&self) -> bool {
        self.claim.max > 0 && self.bytes <= BATCH_BYTES / 2
    }

    fn take(&mut self, assignments: Vec<Assignment>) {
        let taken = assignments.len() as u16;
        self.claim.first += taken;
        self.claim.max = self.claim.max.saturating_sub(taken);
        self.bytes += assignments.iter().map(|one| one.input.bytes.len()).sum::<usize>();
        self.all.assignments.extend(assignments);
    }

    /// How the function is asked.
    fn part(&self, entropy: u64, pick: &Pick) -> (Way, Part) {
        let claim = &self.claim;
        let mut packer = Packer(Vec::with_capacity(128));
        let request = format::Claim {
            request: *claim.request.as_bytes(),
            first: claim.first.into(),
            max: claim.max.into(),
            new_salt: codec::salt(entropy),
            bound: pick.bound.unwrap_or(i64::MAX),
            passes: (claim.admissions != Admissions::Any).into(),
            worker: claim.worker.id.as_str().as_bytes(),
            instance: claim.worker.instance.as_str().as_bytes(),
        };
        request.pack(&mut packer);
        let mut admitted = Packer::default();
        for one in claim.admissions.only().into_iter().flatten() {
            let version = one.request.needs.version;
            let one = format::Admitted {
                id: keys::id_bytes(one.request.needs.execution),
                name: codec::admission_name(one.request.id),
                usable_until: one.usable_until.as_ms(),
                counter: version.counter(),
                salt: codec::salt(version.get()),
            };
            one.pack(&mut admitted);
        }
        let queues = pick.classes.iter();
        let queues = queues.map(|class| keys::queue(&claim.namespace, &claim.lane, class));
        let (partition, admitted, queues) = (pick.partition, admitted.0, queues.collect());
        let (args, commands) = (vec![packer.0.into()], claim.max.into());
        (Way::Claims { partition, admitted, queues }, Part { args, commands, bytes: 0 })
    }
}

/// Whether a call that failed has certainly taken nothing.
fn was_not_run(fault: &Fault) -> bool {
    matches!(
        fault.kind,
        Kind::Unreached
            | Kind::ClusterDown
            | Kind::MasterDown
            | Kind::ReadOnly
            | Kind::Loading
            | Kind::Busy
            | Kind::TryAgain
            | Kind::Unwritable
            | Kind::Full
    )
}
