//! Admission: budgets and quotas are asked before work is given out.
//!
//! What they hold for an execution is a ticket at the home of its namespace, under a name that the
//! execution has too. A ticket is its own reminder: whoever dies between two steps here leaves one
//! behind that is looked at when its time is over. All steps can be repeated.

use std::collections::BTreeSet;

use ff_core::limits;
use ff_core::machine::{
    Admission, Block, Candidate, Claim, Claimed, GrantNext, Granted, Party, Settling, Verdict,
    Wanted,
};
use ff_core::{Capabilities, ExecutionId, LeaseId, Namespace};

use crate::counter::{Came, Given, Place, Turn};
use crate::error::StoreError;
use crate::roles::{bare as one, only};
use crate::settlement::settle_all;
use crate::store::Store;
use crate::wakeups::Announcement;
use crate::{meter, mint};

/// How often one call asks for admission; what is left then is asked for by the next call.
const ROUNDS: usize = 16;

/// Claims; what must be admitted is, as far as budgets and quotas have room.
pub(crate) async fn claim<S: Store + ?Sized>(
    store: &S,
    mut claim: Claim,
) -> Result<Claimed, StoreError> {
    let mut asking = Asking::new(store, &claim.namespace);
    asking.place = Some(store.desks().place(&claim));
    let mut all = Claimed::default();
    for rounds_left in (0..ROUNDS).rev() {
        asking.come(claim.max.into()).await;
        match claim_some(&mut asking, &mut claim, &mut all, rounds_left).await {
            Ok(true) => {}
            Ok(false) => return Ok(all),
            Err(error) if all.assignments.is_empty() => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "a claim was cut short");
                return Ok(all);
            }
        }
    }
    Ok(all)
}

/// One step of a claim: takes what is open, then asks for what is not, unless no step is left to take
/// that. Tells whether there may be more.
async fn claim_some<S: Store + ?Sized>(
    asking: &mut Asking<'_, S>,
    claim: &mut Claim,
    all: &mut Claimed,
    rounds_left: usize,
) -> Result<bool, StoreError> {
    claim.admitted = asking.admitted();
    let (part, more) = tokio::join!(one(asking.store, claim.clone()), asking.more(claim));
    let Claimed { assignments, again, withheld, mut wanted } = part.and_then(only!(Claimed))?;
    wanted.extend(more);
    let taken: BTreeSet<_> = assignments.iter().map(|taken| taken.execution).collect();
    claim.max = claim.max.saturating_sub(assignments.len() as u16);
    let indexes = assignments.iter().map(|taken| taken.fence.lease.index.saturating_add(1));
    claim.first = indexes.max().unwrap_or(claim.first);
    claim.retry = false;
    all.assignments.extend(assignments);
    (all.again, all.withheld) = (again, withheld);
    if asking.has_used(&taken).await? {
        let (namespace, lane) = (claim.namespace.clone(), claim.lane.clone());
        // Others may have found nothing but what this call was about to take.
        let work = Announcement::Work { namespace, lane, class: Capabilities::NONE };
        asking.store.wakeups().announce([work]);
    }
    asking.has_looked(wanted.is_empty());
    if claim.max == 0 || withheld.is_some() {
        return Ok(false);
    }
    if rounds_left == 0 {
        all.again |= !wanted.is_empty();
        return Ok(false);
    }
    asking.ask(wanted, claim.max.into(), !all.assignments.is_empty()).await
}

/// Reserves; what must be admitted is, if budgets and quotas have room.
pub(crate) async fn grant<S: Store + ?Sized>(
    store: &S,
    mut grant: GrantNext,
) -> Result<Granted, StoreError> {
    let mut asking = Asking::new(store, &grant.namespace);
    for rounds_left in (0..ROUNDS).rev() {
        grant.admitted = asking.admitted();
        let mut granted = one(store, grant.clone()).await.and_then(only!(Granted))?;
        let taken = granted.offer.iter().map(|offer| offer.execution).collect();
        asking.has_used(&taken).await?;
        grant.retry = false;
        let wanted: Vec<_> = granted.wanted.take().into_iter().collect();
        let done = granted.offer.is_some() || granted.withheld.is_some();
        granted.again |= rounds_left == 0 && !done && !wanted.is_empty();
        if done || rounds_left == 0 || !asking.ask(wanted, 1, false).await? {
            return Ok(granted);
        }
    }
    Ok(Granted::default())
}

/// What one call has asked budgets and quotas for.
///
/// An admission belongs to the call that asked for it: another one is told that it is
/// [elsewhere](Verdict::Elsewhere), and passes over it. So this call alone may use what it was
/// given, and what it has not used when its claim has come back it may give back: nobody else can be
/// about to take an execution under a name that is settled. Where the outcome of the claim is not
/// known, the admission is left to its time, and not used any more well before that.
struct Asking<'a, S: ?Sized> {
    store: &'a S,
    namespace: Namespace,
    /// Where calls like this one look together.
    place: Option<Place<'a>>,
    /// Until it is let go of, others do not look.
    turn: Option<Turn>,
    /// Whether it looks for others too.
    leads: bool,
    /// How the next claim goes on.
    next: Next,
    /// Those that other calls are about to take.
    elsewhere: BTreeSet<ExecutionId>,
}

/// How a claim goes on.
enum Next {
    /// It looks what is there.
    Look,
    /// It takes these and nothing else; if there are none, what need not be admitted.
    Take(Given),
}

impl<'a, S: Store + ?Sized> Asking<'a, S> {
    fn new(store: &'a S, namespace: &Namespace) -> Asking<'a, S> {
        let (namespace, elsewhere) = (namespace.clone(), BTreeSet::new());
        let (place, turn) = (None, None);
        Asking { store, namespace, place, turn, leads: false, next: Next::Look, elsewhere }
    }

    /// Waits for its turn to look, or for what another look has brought along.
    async fn come(&mut self, most: usize) {
        let (Next::Look, Some(place)) = (&self.next, &self.place) else { return };
        match place.come(most).await {
            Came::Alone => {}
            Came::Leads(turn) => (self.turn, self.leads) = (Some(turn), true),
            Came::Given(given, turn) if !given.is_empty() => {
                (self.next, self.turn) = (Next::Take(given), turn);
            }
            Came::Given(..) => {}
        }
    }

    /// What those who wait behind this one could take besides what it finds itself. The claim goes on
    /// without it where it cannot be read.
    async fn more(&self, claim: &Claim) -> Vec<Wanted> {
        let looks = self.leads && matches!(self.next, Next::Look);
        let others = self.place.as_ref().filter(|_| looks).map_or(0, Place::wanted);
        if others == 0 {
            return Vec::new();
        }
        let found = self.store.wanted(claim, usize::from(claim.max) + others).await;
        found.unwrap_or_else(|error| {
            tracing::warn!(%error, "a claim looks in one place only");
            Vec::new()
        })
    }

    /// Tells others what a look was like. Whoever has taken what it was given lets the next one look.
    fn has_looked(&mut self, found_none: bool) {
        let Some(place) = &self.place else { return };
        match &self.next {
            Next::Look if !found_none => place.asks(),
            Next::Look if self.leads => place.dismiss(),
            _ => {}
        }
        if found_none || matches!(self.next, Next::Take(_)) {
            (self.turn, self.leads) = (None, false);
        }
    }

    /// Gives others what is more than `most`, and back what nobody takes.
    async fn hand_out(&mut self, given: &mut Given, most: usize) -> Result<(), StoreError> {
        let (Some(place), Some(turn)) = (&self.place, &self.turn) else { return Ok(()) };
        let more = given.split_off(most.min(given.len()));
        let left = place.hand_out(more, turn);
        self.leads = false;
        let unused = left.iter().map(|(_, candidate)| unused_of(&self.namespace, candidate));
        give_back(self.store, unused.collect()).await
    }

    fn admitted(&self) -> Option<Vec<Admission>> {
        match &self.next {
            Next::Look => None,
            Next::Take(given) => Some(given.iter().map(|(given, _)| given.clone()).collect()),
        }
    }

    /// Gives back what the claim has not taken. Tells whether any was given to it.
    async fn has_used(&mut self, taken: &BTreeSet<ExecutionId>) -> Result<bool, StoreError> {
        let Next::Take(given) = &self.next else { return Ok(false) };
        let unused = given.iter().filter(|(given, _)| !taken.contains(&given.execution));
        let unused = unused.map(|(_, candidate)| unused_of(&self.namespace, candidate));
        give_back(self.store, unused.collect()).await?;
        Ok(!given.is_empty())
    }

    /// Asks for up to `most` of `wanted`; those that are refused leave their queue. Tells whether the
    /// claim goes on.
    async fn ask(
        &mut self,
        wanted: Vec<Wanted>,
        most: usize,
        has_some: bool,
    ) -> Result<bool, StoreError> {
        let nothing = wanted.is_empty();
        let mut known = self.elsewhere.clone();
        let fresh = wanted.into_iter().filter(|one| known.insert(one.execution));
        let fresh: Vec<_> = fresh.take(limits::CLAIM).collect();
        if fresh.is_empty() {
            let before = std::mem::replace(&mut self.next, Next::Look);
            let goes_on = match before {
                Next::Look => !nothing,
                Next::Take(given) => !given.is_empty(),
            };
            if !nothing {
                self.next = Next::Take(Vec::new());
            }
            return Ok(goes_on && !has_some);
        }
        let others = self.place.as_ref().filter(|_| self.leads).map_or(0, Place::wanted);
        let (mut given, mut blocks) = (Vec::new(), Vec::new());
        let verdicts = verdicts(self.store, &self.namespace, fresh, most + others).await?;
        for (candidate, verdict) in verdicts {
            let execution = candidate.execution;
            match verdict {
                Verdict::Unasked => {}
                Verdict::Admitted(admission) => {
                    meter::admitted();
                    given.push((admission, candidate));
                }
                Verdict::Elsewhere => drop(self.elsewhere.insert(execution)),
                Verdict::Wait { lack, on, detail, until } => {
                    meter::lack(&lack);
                    blocks.push(mint::command(Block { execution, on, detail, until }));
                }
            }
        }
        self.hand_out(&mut given, most).await?;
        if given.is_empty() {
            self.turn = None;
        }
        self.next = match given.is_empty() && self.elsewhere.is_empty() {
            true => Next::Look,
            false => Next::Take(given),
        };
        if !blocks.is_empty() {
            for error in self.store.execute(blocks).await.into_iter().filter_map(Result::err) {
                tracing::warn!(%error, "what was refused stays in its queue");
            }
        }
        Ok(true)
    }
}

/// Asks for up to `most` of `wanted`.
pub(crate) async fn verdicts<S: Store + ?Sized>(
    store: &S,
    namespace: &Namespace,
    wanted: Vec<Wanted>,
    most: usize,
) -> Result<Vec<(Candidate, Verdict)>, StoreError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let request = mint::request_id();
    let candidates: Vec<_> = wanted
        .into_iter()
        .enumerate()
        .map(|(index, Wanted { execution, control, used })| {
            let admission = LeaseId { request, index: index as u16 };
            Candidate { execution, admission, control, used }
        })
        .collect();
    let party = Party { candidates: candidates.clone(), most };
    let verdicts = store.desks().admit(store, namespace, party).await?;
    Ok(candidates.into_iter().zip(verdicts).collect())
}

/// The settlement of an admission that was not used.
pub(crate) fn unused_of(namespace: &Namespace, candidate: &Candidate) -> Settling {
    Settling {
        namespace: namespace.clone(),
        execution: candidate.execution,
        admission: candidate.admission,
        control: candidate.control.clone(),
        used: candidate.used.clone(),
        seen: 0,
        goes_on: None,
    }
}

/// Gives back what turned out not to be needed, unless the execution has it after all.
pub(crate) async fn give_back<S: Store + ?Sized>(
    store: &S,
    unused: Vec<Settling>,
) -> Result<(), StoreError> {
    let mut idle = Vec::new();
    for settling in unused {
        let record = store.record(settling.execution).await?;
        if record.is_none_or(|record| record.admission != Some(settling.admission)) {
            idle.push(settling);
        }
    }
    if idle.is_empty() {
        return Ok(());
    }
    Box::pin(settle_all(store, idle)).await
}
