//! The worker protocol over HTTP, compared with the same load in process.

use std::sync::Arc;

use ff_api::client::{HttpClient, HttpOptions};
use ff_server::{Config, Server};
use ff_store::EngineBackend;
use tokio_util::sync::CancellationToken;

use crate::crowd::measure;
use crate::cycle::fill;
use crate::samples::round;
use crate::{BenchError, Load, Progress, Report};

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let quiet: Progress = Arc::new(|_, _| ());
    measure(backend.clone(), load.warm_up(), quiet.clone()).await?;
    let in_process = measure(backend.clone(), load, quiet.clone()).await?;

    let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::bind(backend, Config { listen, ..Config::default() }).await?;
    let client = HttpClient::new(HttpOptions::new(format!("http://{}", server.address())))?;
    let stop = CancellationToken::new();
    let serving = tokio::spawn(server.run(stop.clone()));
    let client = Arc::new(client);
    measure(client.clone(), load.warm_up(), quiet).await?;
    let mut measured = measure(client, load, progress).await?;
    stop.cancel();
    serving.await?;

    let mut report = Report::new("http", url, load);
    fill(&mut report, &mut measured);
    report.baseline_per_second = Some(round(in_process.per_second));
    report.fraction_of_baseline = Some(round(measured.per_second / in_process.per_second));
    Ok(report)
}
