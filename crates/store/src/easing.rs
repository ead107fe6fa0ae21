//! Easing: those who wait for a budget or a quota are let go when it has room.

use std::collections::BTreeMap;

use ff_core::budget::Budget;
use ff_core::control::{Amounts, Blocker};
use ff_core::machine::{House, Reply, Unblock, Verdict, Wanted};
use ff_core::resource::LaneState;
use ff_core::{ExecutionId, Lane, Namespace, Resource, ResourceKey, ResourceKind};

use crate::admission::{give_back, unused_of, verdicts};
use crate::error::StoreError;
use crate::roles::only;
use crate::store::{FIRST, Store};
use crate::{meter, mint};

/// How many of those that wait for a budget are let go at a time.
const SLICE: usize = 4_096;

/// How many are looked at to find one that a budget has room for.
const LOOKED_AT: usize = 64;

/// How many places of a quota are handed over at a time.
const PLACES: usize = FIRST;

/// Lets go those who wait for a budget or a quota, as far as it has room. Tells how many.
pub(crate) async fn ease<S: Store + ?Sized>(
    store: &S,
    namespace: &Namespace,
    on: &Blocker,
) -> Result<u64, StoreError> {
    let freed = match on.kind {
        ResourceKind::Quota => hand_over_all(store, namespace, on).await,
        _ => let_go_all(store, namespace, on).await,
    }?;
    meter::unblocked(on.kind.as_str(), freed);
    Ok(freed)
}

/// Lets those go who wait for a budget, as far as it has room. It is read once, however many they
/// are: they ask it again when they are claimed, and those that it has no room for then wait again.
async fn let_go_all<S: Store + ?Sized>(
    store: &S,
    namespace: &Namespace,
    on: &Blocker,
) -> Result<u64, StoreError> {
    let found = find(store, namespace, on).await?;
    let Some(mut budget) = found.as_ref().and_then(Resource::as_budget).cloned() else {
        return Ok(0);
    };
    let mut freed = 0;
    loop {
        let waiting = match budget.shortage(&Amounts::new()) {
            None => store.blocked(namespace, on, SLICE).await?,
            Some(_) => Vec::new(),
        };
        let asked = waiting.len();
        let waiting = fitting(store, &mut budget, waiting).await?;
        let all_fit = waiting.len() == asked;
        let done = let_go(store, on, waiting).await;
        freed += done as u64;
        // What could not be let go would be met again.
        if done == 0 || !all_fit {
            return Ok(freed);
        }
    }
}

/// Those of whom wait that a budget has room for, if all expect to use what the first one does that
/// it has room for; one that is too large does not keep others back. A budget is not read for each of
/// them, nor is each of them: what was let go and does not fit waits again when it is claimed.
async fn fitting<S: Store + ?Sized>(
    store: &S,
    budget: &mut Budget,
    mut waiting: Vec<ExecutionId>,
) -> Result<Vec<ExecutionId>, StoreError> {
    for place in 0..waiting.len().min(LOOKED_AT) {
        let Some(record) = store.record(waiting[place]).await? else { continue };
        let estimate = &record.spec.control.estimate;
        let room = budget.room(estimate).min(waiting.len() as u64) as usize;
        if room > 0 {
            waiting.drain(..place);
            waiting.truncate(room);
            waiting.iter().for_each(|_| budget.reserve(estimate));
            return Ok(waiting);
        }
    }
    Ok(Vec::new())
}

/// Hands the free places of a quota to those who wait for one.
async fn hand_over_all<S: Store + ?Sized>(
    store: &S,
    namespace: &Namespace,
    on: &Blocker,
) -> Result<u64, StoreError> {
    let mut freed = 0;
    loop {
        let found = find(store, namespace, on).await?;
        let quota = found.as_ref().and_then(Resource::as_quota);
        let places = quota.map_or(0, |quota| PLACES.min(quota.places() as usize));
        if places == 0 {
            return Ok(freed);
        }
        let waiting = store.blocked(namespace, on, places).await?;
        let asked = waiting.len();
        if asked == 0 {
            return Ok(freed);
        }
        let done = hand_over(store, namespace, on, waiting).await?;
        freed += done as u64;
        if done < asked {
            return Ok(freed);
        }
    }
}

async fn find<S: Store + ?Sized>(
    store: &S,
    namespace: &Namespace,
    on: &Blocker,
) -> Result<Option<Resource>, StoreError> {
    let house = House { namespace: namespace.clone(), partitions: store.partitions() };
    store.resource(&house.key(on.kind, &on.name)).await
}

/// Admits those who wait for a place of a quota, the first ones first. Tells how many.
async fn hand_over<S: Store + ?Sized>(
    store: &S,
    namespace: &Namespace,
    on: &Blocker,
    waiting: Vec<ExecutionId>,
) -> Result<usize, StoreError> {
    let (mut wanted, mut free, mut lanes) = (Vec::new(), Vec::new(), Lanes::default());
    for id in waiting {
        let record = store.record(id).await?;
        let record = record.filter(|record| record.spec.namespace == *namespace);
        let Some(record) = record.filter(|record| record.admission.is_none()) else { continue };
        let is_limited = lanes.is_limited(store, namespace, &record.spec.lane).await?;
        match Wanted::of(&record, is_limited) {
            Some(one) => wanted.push(one),
            None => free.push(id),
        }
    }
    let most = wanted.len();
    let freed = let_go(store, on, free).await;
    let mut steps = Vec::new();
    for (candidate, verdict) in verdicts(store, namespace, wanted, most).await? {
        let admission = match verdict {
            Verdict::Admitted(admission) => Some(admission.name),
            // It finds out in its queue what it waits for now.
            Verdict::Wait { on: other, .. } if other != *on => None,
            _ => continue,
        };
        let unblock = Unblock { execution: candidate.execution, on: Some(on.clone()), admission };
        steps.push((mint::command(unblock), candidate, admission.is_some()));
    }
    let commands = steps.iter().map(|(command, ..)| command.clone()).collect();
    let answers = store.execute(commands).await;
    let (mut admitted, mut unused) = (0, Vec::new());
    for ((_, candidate, is_admitted), answer) in steps.into_iter().zip(answers) {
        match answer.and_then(only!(Unblocked)) {
            Ok(true) if is_admitted => admitted += 1,
            // It has moved on by itself, and needs no place.
            Ok(false) if is_admitted => unused.push(unused_of(namespace, &candidate)),
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "an admission waits for its time to be over"),
        }
    }
    give_back(store, unused).await?;
    Ok(admitted + freed)
}

/// Lets those go who have nothing to ask any more. Tells how many.
async fn let_go<S: Store + ?Sized>(store: &S, on: &Blocker, free: Vec<ExecutionId>) -> usize {
    if free.is_empty() {
        return 0;
    }
    let unblock = |execution| Unblock { execution, on: Some(on.clone()), admission: None };
    let commands = free.into_iter().map(|id| mint::command(unblock(id))).collect();
    let answers = store.execute(commands).await.into_iter();
    answers.filter(|answer| matches!(answer, Ok(Reply::Unblocked(true)))).count()
}

/// Which lanes have a limit, each looked at once.
#[derive(Default)]
struct Lanes(BTreeMap<Lane, bool>);

impl Lanes {
    async fn is_limited<S: Store + ?Sized>(
        &mut self,
        store: &S,
        namespace: &Namespace,
        lane: &Lane,
    ) -> Result<bool, StoreError> {
        if let Some(known) = self.0.get(lane) {
            return Ok(*known);
        }
        let key = ResourceKey::lane(namespace, lane, store.partitions());
        let found = store.resource(&key).await?;
        let is_limited =
            found.as_ref().and_then(Resource::as_lane).is_some_and(LaneState::is_limited);
        self.0.insert(lane.clone(), is_limited);
        Ok(is_limited)
    }
}
