//! Waits for ends: which waiters a hint wakes, who polls without one, and whom a store is told of.

use ff_core::{ExecutionId, Partition};
use ff_store::ends::{Ends, Waiting};
use ff_store::mint;
use ff_store::wakeups::{Announcement, POLL_INTERVAL, Wake, Wakeups};
use tokio::time::timeout;

fn id() -> ExecutionId {
    mint::execution_id(Partition::ONLY)
}

async fn is_woken(waiting: &mut Waiting) -> Option<Wake> {
    timeout(POLL_INTERVAL / 4, waiting.woken()).await.ok()
}

#[tokio::test(start_paused = true)]
async fn an_end_wakes_all_who_wait_for_it_and_nobody_else() {
    let (wakeups, ended) = (Wakeups::default(), id());
    let mut waiting = [ended, ended, id()].map(|id| wakeups.ends().wait_for(id));
    wakeups.announce([Announcement::Ended(ended)]);
    assert_eq!(is_woken(&mut waiting[0]).await, Some(Wake::Announced));
    assert_eq!(is_woken(&mut waiting[1]).await, Some(Wake::Announced));
    assert_eq!(is_woken(&mut waiting[2]).await, None);
    assert_eq!(is_woken(&mut waiting[0]).await, None, "once");
}

#[tokio::test(start_paused = true)]
async fn something_unknown_wakes_all() {
    let wakeups = Wakeups::default();
    let mut waiting = [id(), id()].map(|id| wakeups.ends().wait_for(id));
    wakeups.announce_maybe();
    for waiting in &mut waiting {
        assert_eq!(is_woken(waiting).await, Some(Wake::Announced));
    }
}

#[tokio::test(start_paused = true)]
async fn with_every_hint_lost_one_of_those_who_wait_polls_each_turn() {
    let (ends, id) = (Ends::default(), id());
    let (mut one, mut two) = (ends.wait_for(id), ends.wait_for(id));
    let (began, mut polls) = (tokio::time::Instant::now(), 0);
    while began.elapsed() < POLL_INTERVAL * 10 {
        let wake = tokio::select! {
            wake = one.woken() => wake,
            wake = two.woken() => wake,
        };
        assert_eq!(wake, Wake::Poll);
        polls += 1;
    }
    assert_eq!(polls, 10);
}

#[tokio::test(start_paused = true)]
async fn who_goes_away_with_the_turn_to_poll_passes_it_on() {
    let (ends, id) = (Ends::default(), id());
    let (mut gone, mut next) = (ends.wait_for(id), ends.wait_for(id));
    assert_eq!(gone.woken().await, Wake::Poll);
    drop(gone);
    assert_eq!(is_woken(&mut next).await, Some(Wake::Announced));
}

#[tokio::test(start_paused = true)]
async fn an_execution_is_forgotten_with_the_last_who_waits_for_it() {
    let (ends, id) = (Ends::default(), id());
    let (one, two) = (ends.wait_for(id), ends.wait_for(id));
    assert_eq!((ends.waiting(id), ends.waited_for()), (2, vec![id]));
    drop(one);
    assert_eq!((ends.waiting(id), ends.waited_for()), (1, vec![id]));
    drop(two);
    assert_eq!((ends.waiting(id), ends.waited_for()), (0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_listens_is_told_of_an_execution_once_it_is_waited_for() {
    let (ends, id) = (Ends::default(), id());
    let mut arrivals = ends.arrivals();
    let mut waiting = ends.wait_for(id);
    assert!(arrivals.try_recv().is_err(), "its record may show that it has ended");
    assert_eq!(is_woken(&mut waiting).await, None);
    assert_eq!(arrivals.try_recv(), Ok(id));
    assert_eq!(is_woken(&mut waiting).await, None);
    assert!(arrivals.try_recv().is_err(), "once");
}
