//! Bulk operations: the same action on all that match, slice by slice.

use ff_core::machine::{ClaimRequest, Submit};
use ff_core::{Code, PublicState};
use ff_store::listing::Filter;
use ff_store::roles::{Answer, Bulk, BulkAction, BulkSlice};

use crate::fixture::{Fixture, Refused, lane, ms, tag};

const CANCEL: BulkAction = BulkAction::Cancel { grace: None, reason: None };

fn bulk(g: &Fixture, action: BulkAction, filter: Filter) -> Bulk {
    let namespace = g.namespace.clone();
    Bulk { namespace, filter, action, dry_run: false, after: None, limit: 100 }
}

fn of_lane(name: &str) -> Filter {
    Filter { lane: Some(lane(name)), ..Filter::default() }
}

async fn run(g: &Fixture, bulk: Bulk) -> Answer<BulkSlice> {
    g.backend().bulk(&bulk).await
}

async fn submit(g: &Fixture, count: usize, name: &str) {
    for _ in 0..count {
        g.submit(Submit { lane: lane(name), ..g.work() }).await;
    }
}

pub(crate) async fn slices_reach_everything_that_matches_and_nothing_else(g: Fixture) {
    submit(&g, 5, "mine").await;
    submit(&g, 2, "other").await;
    submit(&g.elsewhere(), 2, "mine").await;
    let mut total = BulkSlice::default();
    let mut slice = Bulk { limit: 2, ..bulk(&g, CANCEL, of_lane("mine")) };
    for _ in 0..10 {
        total.join(run(&g, slice.clone()).await.unwrap());
        // What is submitted meanwhile is newer than the position of the slices.
        g.advance(ms(1)).await;
        submit(&g, 1, "mine").await;
        slice.after = total.next;
        if total.next.is_none() {
            break;
        }
    }
    assert_eq!((total.matched, total.done, total.refused, total.next), (5, 5, 0, None));
    let cancelled = |of: &str| Filter { states: [PublicState::Cancelled].into(), ..of_lane(of) };
    assert_eq!(g.listed(cancelled("mine")).await.len(), 5);
    assert_eq!(g.listed(cancelled("other")).await.len(), 0);
    assert_eq!(g.elsewhere().listed(cancelled("mine")).await.len(), 0);
}

pub(crate) async fn a_dry_run_counts_and_changes_nothing(g: Fixture) {
    submit(&g, 3, "mine").await;
    let before = g.snapshot().await;
    let dry = Bulk { dry_run: true, ..bulk(&g, CANCEL, of_lane("mine")) };
    let counted = run(&g, dry).await.unwrap();
    assert_eq!((counted.matched, counted.done), (3, 0));
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn without_states_an_action_takes_those_it_is_for(g: Fixture) {
    for _ in 0..2 {
        g.completed().await;
    }
    let failed = g.failed().await;
    g.waiting().await;
    let all = Filter { kind: Some(Default::default()), ..Filter::default() };
    let matched = async |action, filter: &Filter| {
        let dry = Bulk { dry_run: true, ..bulk(&g, action, filter.clone()) };
        run(&g, dry).await.unwrap().matched
    };
    assert_eq!(matched(CANCEL, &all).await, 1);
    assert_eq!(matched(BulkAction::Replay, &all).await, 1);
    assert_eq!(matched(BulkAction::Delete, &all).await, 3);
    let completed = Filter { states: [PublicState::Completed].into(), ..all.clone() };
    assert_eq!(matched(BulkAction::Replay, &completed).await, 2);

    assert_eq!(run(&g, bulk(&g, BulkAction::Replay, all.clone())).await.unwrap().done, 1);
    assert_eq!(g.state(failed).await, PublicState::Waiting);
    assert_eq!(run(&g, bulk(&g, BulkAction::Delete, all.clone())).await.unwrap().done, 2);
    assert_eq!(g.listed(all).await.len(), 2);
}

pub(crate) async fn refusals_are_counted_and_the_first_ten_named(g: Fixture) {
    submit(&g, 12, "mine").await;
    let taken = g.take(ClaimRequest { lane: lane("mine"), max: 1, ..g.claim() }).await.remove(0);
    g.complete(&taken, "done").await.unwrap();
    // Only the one that is finished can be deleted.
    let states = [PublicState::Waiting, PublicState::Completed].into();
    let filter = Filter { states, ..of_lane("mine") };
    let slice = run(&g, bulk(&g, BulkAction::Delete, filter)).await.unwrap();
    assert_eq!((slice.matched, slice.done, slice.refused), (12, 1, 11));
    assert_eq!(slice.refusals.len(), 10);
    for (id, error) in &slice.refusals {
        assert_eq!(error.refused(), Some(Code::WrongState));
        assert_eq!(g.state(*id).await, PublicState::Waiting);
    }
}

pub(crate) async fn tags_choose_and_an_empty_filter_is_refused(g: Fixture) {
    g.submit(Submit { tags: [tag("team", "core")].into(), ..g.work() }).await;
    g.waiting().await;
    let tagged = Filter { tags: vec![tag("team", "core")], ..Filter::default() };
    assert_eq!(run(&g, bulk(&g, CANCEL, tagged)).await.unwrap().done, 1);
    let before = g.snapshot().await;
    let none = run(&g, bulk(&g, CANCEL, Filter::default())).await;
    assert_eq!(none.refused(), Code::InvalidArgument);
    let too_many = Bulk { limit: 1_001, ..bulk(&g, CANCEL, of_lane("mine")) };
    assert_eq!(run(&g, too_many).await.refused(), Code::InvalidArgument);
    g.snapshot().await.assert_same(&before);
}
