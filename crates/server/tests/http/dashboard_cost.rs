//! What the dashboard costs the store: little for each page, and nothing more for each viewer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use ff_backend_memory::MemoryStore;
use ff_core::collection::{Element, ElementRange};
use ff_core::journal::ReplayJournal;
use ff_core::machine::{AppendFrames, Assignment, Command, Fail, Replay, Reply, Submit};
use ff_core::payload::BlobKey;
use ff_core::policy::Backoff;
use ff_core::state::Failure;
use ff_core::stream::Frame;
use ff_core::{
    Capabilities, Category, Execution, ExecutionId, FrameType, Millis, Namespace, Resource,
    ResourceKey, Time,
};
use ff_server::Server;
use ff_store::backlog::Backlog;
use ff_store::events::{FeedUpdate, LogPage, LogScan, Positions};
use ff_store::roles::Engine;
use ff_store::{
    ClientBackend, EmitBackend, EventsBackend, ListScan, Listed, ResourceScan, Store, StoreError,
    WorkerBackend,
};
use ff_testkit::{Forward, Forwarding, ManualClock};
use tokio_util::sync::CancellationToken;

use crate::fixture::raw::{Wire, ask, get};
use crate::fixture::{claim, config, target};

/// A page is rendered every two seconds, and costs less than ten calls in each.
const CALLS: u64 = 20;

/// A store whose calls are counted, and what they read.
struct Counted {
    beneath: MemoryStore,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    calls: AtomicU64,
    rows: AtomicU64,
}

impl Counts {
    fn reset(&self) {
        self.calls.store(0, Ordering::SeqCst);
        self.rows.store(0, Ordering::SeqCst);
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    fn rows(&self) -> u64 {
        self.rows.load(Ordering::SeqCst)
    }
}

/// How many rows an answer has.
trait Rows {
    fn rows(&self) -> usize;
}

impl<T> Rows for Option<T> {
    fn rows(&self) -> usize {
        usize::from(self.is_some())
    }
}

impl<T> Rows for Vec<T> {
    fn rows(&self) -> usize {
        self.len()
    }
}

impl Rows for Time {
    fn rows(&self) -> usize {
        0
    }
}

/// Counts that the store has anyway; one of them serves many pages.
impl Rows for Backlog {
    fn rows(&self) -> usize {
        0
    }
}

impl Rows for LogPage {
    fn rows(&self) -> usize {
        self.events.len()
    }
}

impl Rows for Positions {
    fn rows(&self) -> usize {
        self.iter().len()
    }
}

macro_rules! counted {
    ($($call:ident($($name:ident: $kind:ty),*) -> $answer:ty;)+) => {
        #[async_trait]
        impl Forward for Counted {
            fn beneath(&self) -> &dyn Store {
                &self.beneath
            }

            $(async fn $call(&self, $($name: $kind),*) -> Result<$answer, StoreError> {
                self.counts.calls.fetch_add(1, Ordering::SeqCst);
                let answer = self.beneath.$call($($name),*).await?;
                self.counts.rows.fetch_add(answer.rows() as u64, Ordering::SeqCst);
                Ok(answer)
            })+

            async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
                self.counts.calls.fetch_add(1, Ordering::SeqCst);
                self.beneath.execute(batch).await
            }
        }
    };
}

counted! {
    record(id: ExecutionId) -> Option<Execution>;
    blob(key: BlobKey) -> Option<Bytes>;
    elements(range: ElementRange) -> Vec<Element>;
    list(scan: ListScan) -> Vec<Listed>;
    resource(key: &ResourceKey) -> Option<Resource>;
    resources(scan: ResourceScan) -> Vec<Resource>;
    now() -> Time;
    backlog() -> Backlog;
    events(scan: LogScan) -> LogPage;
    event_heads(namespace: &Namespace) -> Positions;
}

/// A server over a store that counts, and an execution that no worker can run.
async fn counting()
-> (std::net::SocketAddr, Engine<Forwarding<Counted>>, Arc<Counts>, ExecutionId, impl Drop) {
    let counts = Arc::<Counts>::default();
    let beneath = MemoryStore::serial(Arc::new(ManualClock::default()));
    let store = Engine::new(Forwarding(Counted { beneath, counts: counts.clone() }));
    let server = Server::bind(Arc::new(store.clone()), config()).await.unwrap();
    let (address, shutdown) = (server.address(), CancellationToken::new());
    tokio::spawn(server.run(shutdown.clone()));
    let mut submit = Submit::new(store.new_id(&Default::default(), None));
    submit.requires = Capabilities::new(["gpu"]).unwrap();
    let id = submit.id;
    store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    (address, store, counts, id, shutdown.drop_guard())
}

#[tokio::test]
async fn an_open_page_costs_less_than_ten_calls_of_the_store_per_second() {
    let (address, store, counts, id, _running) = counting().await;
    let update = FeedUpdate { on: Some(true), ..FeedUpdate::default() };
    store.set_feed(update).await.unwrap();
    for path in [
        "/",
        "/executions",
        "/executions?state=failed",
        &format!("/executions/{id}"),
        "/approvals",
        "/workers",
        "/lanes",
        "/limits",
        "/events",
        "/events?event=failed",
    ] {
        counts.reset();
        assert_eq!(ask(address, get(path)).await.status, 200);
        let cost = counts.calls();
        assert!(cost > 0 && cost < CALLS, "{path} costs {cost} calls");
    }
}

#[tokio::test]
async fn viewers_of_one_page_share_what_it_costs() {
    let (address, store, counts, _, _running) = counting().await;
    let mut viewers = Vec::new();
    for _ in 0..50 {
        let mut wire = Wire::open(address).await;
        wire.send(get("/live?page=%2Fexecutions")).await;
        wire.until("event: part").await;
        viewers.push(wire);
    }
    counts.reset();
    let submit = Submit::new(store.new_id(&Default::default(), None));
    let id = submit.id.to_string();
    store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    for viewer in &mut viewers {
        viewer.until(&id).await;
    }
    let cost = counts.calls();
    assert!(cost < 3 * CALLS, "{cost} calls for fifty viewers");
}

/// An execution that a worker holds.
async fn held(store: &Engine<Forwarding<Counted>>, submit: Submit) -> Assignment {
    store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    store.claim(claim(), Millis::ZERO).await.unwrap().assignments.remove(0)
}

/// An execution whose attempts have all failed: as many runs of as many attempts.
async fn failed(store: &Engine<Forwarding<Counted>>, runs: u32, attempts: u32) -> ExecutionId {
    let mut submit = Submit::new(store.new_id(&Default::default(), None));
    submit.policy.max_attempts = Some(attempts);
    submit.policy.backoff = Backoff::none().into();
    let id = submit.id;
    store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    for run in 0..runs {
        for _ in 0..attempts {
            let held = store.claim(claim(), Millis::ZERO).await.unwrap().assignments.remove(0);
            let (category, message) = (Category::error(), "not yet".into());
            let failure = Failure { category, retryable: true, message };
            store.fail(Fail { hold: held.hold(), failure }).await.unwrap();
        }
        if run + 1 < runs {
            let journal = ReplayJournal::Keep;
            store.replay(Replay { target: target(id), run, journal }).await.unwrap();
        }
    }
    id
}

#[tokio::test]
async fn a_page_reads_as_much_of_ten_thousand_attempts_as_of_sixty() {
    let (address, store, counts, _, _running) = counting().await;
    let mut costs = Vec::new();
    for (runs, attempts) in [(1, 60), (10, 1_000)] {
        let id = failed(&store, runs, attempts).await;
        counts.reset();
        let page = ask(address, get(&format!("/executions/{id}"))).await;
        let total = runs * attempts;
        assert!(page.text().contains(&format!("of {total}</span>")), "{}", page.text());
        let shown = page.text().matches("not yet").count();
        assert!((50..60).contains(&shown), "{shown} attempts on a page of 50");
        assert!(page.body.len() < 128 << 10, "{} bytes", page.body.len());
        costs.push((counts.calls(), counts.rows()));
    }
    assert_eq!(costs[0], costs[1], "calls and rows of 60 and of 10,000 attempts");
}

#[tokio::test]
async fn a_list_reads_as_much_of_many_executions_as_of_few() {
    let (address, store, counts, _, _running) = counting().await;
    let mut costs = Vec::new();
    for more in [1_000, 20_000] {
        for _ in 0..more / 200 {
            let submits = (0..200).map(|_| Submit::new(store.new_id(&Default::default(), None)));
            store.submit(submits.collect()).await.unwrap();
        }
        for path in ["/executions", "/executions?state=waiting", "/executions?lane=default", "/"] {
            counts.reset();
            assert_eq!(ask(address, get(path)).await.status, 200);
            costs.push((path, counts.rows()));
        }
    }
    let (few, many) = costs.split_at(4);
    assert_eq!(few, many, "rows of 1,000 and of 21,000 executions");
}

#[tokio::test]
async fn a_page_of_events_reads_a_bounded_part_of_a_long_log() {
    let (address, store, counts, _, _running) = counting().await;
    let update = FeedUpdate { on: Some(true), ..FeedUpdate::default() };
    store.set_feed(update).await.unwrap();
    for _ in 0..60 {
        let submits = (0..200).map(|_| Submit::new(store.new_id(&Default::default(), None)));
        store.submit(submits.collect()).await.unwrap();
    }
    for (path, calls, rows) in [("/events", CALLS, 1_000), ("/events?event=failed", 40, 20_000)] {
        counts.reset();
        assert_eq!(ask(address, get(path)).await.status, 200);
        assert!(counts.calls() < calls, "{path} costs {} calls", counts.calls());
        assert!(counts.rows() < rows, "{path} reads {} rows", counts.rows());
    }
}

#[tokio::test]
async fn a_thousand_viewers_share_the_reads_of_one_stream() {
    let (address, store, counts, _, _running) = counting().await;
    let held = held(&store, Submit::new(store.new_id(&Default::default(), None))).await;
    let append = async |first: u64, text: &str| {
        let frame = Frame::new(FrameType::stdout(), text.to_owned());
        let append = AppendFrames { hold: held.hold(), first: Some(first), frames: vec![frame] };
        store.append_frames(append).await.unwrap();
    };
    append(0, "first").await;
    let mut viewers = Vec::new();
    for _ in 0..1_000 {
        let mut wire = Wire::open(address).await;
        wire.send(get(&format!("/executions/{}/output?from=0", held.execution))).await;
        wire.until("\"text\":\"first\"").await;
        viewers.push(wire);
    }
    counts.reset();
    for number in 1..=5 {
        append(number, &format!("frame {number}")).await;
        for viewer in &mut viewers {
            viewer.until(&format!("frame {number}")).await;
        }
    }
    let cost = counts.calls();
    assert!(cost < 100, "{cost} calls for 5 frames and 1,000 viewers");
}
