//! How long the pages of the dashboard take with many executions queued and one that has ten thousand
//! attempts, and what an open page costs the store.
//!
//! Each page is loaded in turn, one load after the other, over HTTP.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ff_core::journal::ReplayJournal;
use ff_core::machine::{Fail, Replay, Submit, Target};
use ff_core::policy::Backoff;
use ff_core::state::Failure;
use ff_core::{Category, ExecutionId, Lane, Namespace};
use ff_server::{Config, Server};
use ff_store::EngineBackend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::calls::{Producer, Taker};
use crate::meter::Meter;
use crate::samples::{Samples, round};
use crate::{BenchError, Load, Progress, Report};

/// The execution with many attempts has so many runs, of so many attempts each.
const RUNS: u32 = 10;
const ATTEMPTS: u32 = 1_000;
/// How many executions are submitted in one call.
const BATCH: u64 = 100;
/// How long a page is left open.
const OPEN: Duration = Duration::from_secs(10);
/// How long a claim waits, though there is work.
const WAIT: ff_core::Millis = ff_core::Millis::from_secs(10);

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    queued: u64,
    progress: Progress,
) -> Result<Report, BenchError> {
    let mut meter = Meter::open(url).await?;
    let tried = tried_often(&backend).await?;
    let producer = Producer::new(load.payload, load.retention);
    let mut submitted = 0;
    while submitted < queued {
        let count = producer.fitting(BATCH).min(queued - submitted);
        producer.submit(&*backend, count).await?;
        submitted += count;
        progress(submitted, queued);
    }
    let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::bind(backend, Config { listen, ..Config::default() }).await?;
    let (address, stop) = (server.address().to_string(), CancellationToken::new());
    let serving = tokio::spawn(server.run(stop.clone()));
    let pages = [
        "/".to_owned(),
        "/executions".to_owned(),
        "/executions?state=waiting&lane=default".to_owned(),
        format!("/executions/{tried}"),
        "/lanes".to_owned(),
        "/limits".to_owned(),
    ];
    let loads = async |count: u64| {
        let mut samples = Samples::default();
        for page in pages.iter().cycle().take(count as usize) {
            let began = Instant::now();
            load_page(&address, page).await?;
            samples.add(began.elapsed());
        }
        Ok::<_, BenchError>(samples)
    };
    // The first loads open connections and count what waits for the first time.
    loads(pages.len() as u64).await?;
    let began = Instant::now();
    let mut samples = loads(load.executions).await?;
    let span = began.elapsed();
    let few = load.executions.min(pages.len() as u64 * 10);
    let (_, calls) = meter.watch(loads(few)).await?;
    let (_, open) = meter.watch(left_open(&address)).await?;
    stop.cancel();
    serving.await?;

    let mut report = Report::new("pages", url, load);
    report.queued = Some(queued);
    report.per_second = Some(round(load.executions as f64 / span.as_secs_f64()));
    report.p50_ms = samples.percentile_ms(50);
    report.p99_ms = samples.percentile_ms(99);
    report.store_calls_per_execution = calls.map(|calls| round(calls as f64 / few as f64));
    report.store_commands_per_second = open.map(|calls| round(calls as f64 / OPEN.as_secs_f64()));
    Ok(report)
}

/// An execution whose attempts have all failed.
async fn tried_often(backend: &Arc<dyn EngineBackend>) -> Result<ExecutionId, BenchError> {
    let lane = Lane::new("tried-often")?;
    let mut submit = Submit::new(backend.new_id(&Namespace::default(), None));
    submit.lane = lane.clone();
    submit.policy.max_attempts = Some(ATTEMPTS);
    submit.policy.backoff = Backoff::none().into();
    let execution = submit.id;
    backend.submit(vec![submit]).await?.into_iter().collect::<Result<Vec<_>, _>>()?;
    let taker = Taker::new(backend.clone(), 0)?.in_lane(&lane);
    for run in 0..RUNS {
        for _ in 0..ATTEMPTS {
            let held = taker.claim(1, WAIT).await?.pop();
            let held = held.ok_or(BenchError::Missing { done: 0, of: 1 })?;
            let (category, message) = (Category::error(), "not yet".into());
            let failure = Failure { category, retryable: true, message };
            backend.fail(Fail { hold: held.hold(), failure }).await?;
        }
        if run + 1 < RUNS {
            let target = Target { namespace: Namespace::default(), execution };
            backend.replay(Replay { target, run, journal: ReplayJournal::Keep }).await?;
        }
    }
    Ok(execution)
}

/// Loads a page as a browser does, without what it refers to.
async fn load_page(address: &str, path: &str) -> Result<(), BenchError> {
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    let mut page = Vec::new();
    let mut tcp = TcpStream::connect(address).await.map_err(BenchError::Page)?;
    tcp.write_all(head.as_bytes()).await.map_err(BenchError::Page)?;
    tcp.read_to_end(&mut page).await.map_err(BenchError::Page)?;
    match page.starts_with(b"HTTP/1.1 200 ") && page.ends_with(b"</html>\n") {
        true => Ok(()),
        false => Err(BenchError::Page(std::io::Error::other(format!("{path} was not shown")))),
    }
}

/// Follows the changes of the overview, and reads them.
async fn left_open(address: &str) -> Result<(), BenchError> {
    let head = format!("GET /live?page=%2F HTTP/1.1\r\nhost: {address}\r\n\r\n");
    let mut tcp = TcpStream::connect(address).await.map_err(BenchError::Page)?;
    tcp.write_all(head.as_bytes()).await.map_err(BenchError::Page)?;
    let mut changes = Vec::new();
    let read = tcp.read_to_end(&mut changes);
    match tokio::time::timeout(OPEN, read).await {
        Err(_) => Ok(()),
        Ok(_) => Err(BenchError::Page(std::io::Error::other("the page did not stay open"))),
    }
}
