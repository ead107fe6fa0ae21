//! `ff dev`: everything, on a fresh file, with demo work.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use ff_core::WorkerId;
use ff_sdk::Client;
use serde::Serialize;

use super::Verdict;
use super::serve::{Options, Service};
use crate::address::Address;
use crate::dev::{demo, trickle, watch};
use crate::error::Error;
use crate::output::style::Style;
use crate::session::{Session, quote};
use crate::signals::Signals;

/// `ff dev`.
#[derive(Debug, Args)]
pub(crate) struct Dev {
    /// Keep the store in this directory [default: a temporary one, removed at the end].
    #[arg(long, value_name = "DIRECTORY")]
    dir: Option<PathBuf>,

    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", env = "FF_LISTEN", hide_env_values = true)]
    #[arg(default_value_t = ff_server::DEFAULT_LISTEN)]
    listen: SocketAddr,

    /// Do not start demo work.
    #[arg(long)]
    quiet: bool,
}

impl Dev {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let mut signals = Signals::listen().map_err(Error::Runtime)?;
        let given = session.store_url().ok().filter(|_| self.dir.is_none());
        let home = Home::make(self.dir).map_err(Error::Runtime)?;
        let store = match given {
            Some(url) => url.to_owned(),
            None => format!("sqlite:{}", home.file().display()),
        };
        let backend = ff_backends::open(&store).await?;
        ff_backends::serve_keys(&*backend, &store, session.signing_keys.clone()).await?;
        let options = Options::for_development(self.listen);
        let service = Service::start(backend.clone(), options, session).await?;
        let shown = Address::from(store.clone()).to_string();
        let started = Started { url: &service.url, store: &shown };
        session.output.answer(&started, |_| String::new())?;
        welcome(session, &started, self.quiet);
        if self.quiet {
            signals.next().await;
        } else {
            session.output.talk("demo work runs on lanes demo and fragile; all others are yours\n");
            let workers = demo::start(backend.clone(), WorkerId::new("demo")?).await?;
            let client = Client::new(backend.clone());
            tokio::select! {
                () = signals.next() => {}
                () = trickle::run(&client) => {}
                () = watch::run(&client, session.output) => {}
            }
            session.output.talk("\nstopping");
            workers.stop().await;
        }
        service.stop().await;
        Ok(Verdict::Good)
    }
}

/// The directory of the store.
enum Home {
    /// A directory that stays.
    Kept(PathBuf),
    /// A directory that is removed with the process.
    Temporary(tempfile::TempDir),
}

impl Home {
    fn make(dir: Option<PathBuf>) -> std::io::Result<Home> {
        match dir {
            Some(dir) => {
                std::fs::create_dir_all(&dir)?;
                Ok(Home::Kept(dir))
            }
            None => tempfile::Builder::new().prefix("ff-dev-").tempdir().map(Home::Temporary),
        }
    }

    fn file(&self) -> PathBuf {
        match self {
            Home::Kept(dir) => dir.join("work.ff"),
            Home::Temporary(dir) => dir.path().join("work.ff"),
        }
    }
}

/// What is printed with `--json`.
#[derive(Serialize)]
struct Started<'a> {
    url: &'a str,
    store: &'a str,
}

fn welcome(session: &Session<'_>, &Started { url, store }: &Started<'_>, quiet: bool) {
    let style = Style::of_stderr();
    let elsewhere = (url != "http://127.0.0.1:7272").then(|| format!("  export FF_URL={url}"));
    let heading = [
        format!("{}  {url}", style.bold("FlowFabric is running at")),
        format!("its store is {}", quote(store)),
        format!("{}  {url}/", style.bold("watch it in a browser at")),
        String::new(),
        "in another terminal (`ff` is target/release/ff):".to_owned(),
    ];
    // Without demo work, nothing serves the lane demo.
    let demo = "  ff submit --lane demo --kind greet --input '\"world\"' --wait";
    let demo = (!quiet).then(|| demo.to_owned());
    let commands = [
        "  ff worker --lane mine --exec 'tr a-z A-Z' &".to_owned(),
        "  ff submit --lane mine --input '\"quietly\"' --wait".to_owned(),
        format!("  curl -s '{url}/v1/executions?limit=1'"),
        String::new(),
    ];
    let first = std::iter::once("  ff ls".to_owned()).chain(demo);
    for line in heading.into_iter().chain(elsewhere).chain(first).chain(commands) {
        session.output.talk(line);
    }
}
