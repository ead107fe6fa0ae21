//! One run of a benchmark, on a new store.

use std::path::Path;
use std::process::{Command, Stdio};

use ff_testkit::valkey::{Config, Server};
use serde_json::Value;

use crate::Result;
use crate::cases::Store;

/// The report of `ff bench`.
pub(crate) fn once(ff: &Path, store: Store, words: &str) -> Result<Value> {
    match store {
        Store::Sqlite => {
            let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
            bench(ff, words, &format!("sqlite:{}", folder.path().join("bench.ff").display()))
        }
        Store::Valkey => {
            let server = Server::start(Config::default().with("appendonly", "no"));
            bench(ff, words, &format!("{}?accept_data_loss=true", server.url()))
        }
        Store::ValkeyAof => bench(ff, words, &Server::start(Config::default()).url()),
    }
}

fn bench(ff: &Path, words: &str, url: &str) -> Result<Value> {
    let mut command = Command::new(ff);
    command.arg("bench").args(words.split(' ')).args(["--json", "--store", url]);
    // A server without a file warns; here that is intended.
    command.env("FF_LOG", "error").stderr(Stdio::inherit());
    let done =
        command.output().map_err(|error| format!("cannot start {}: {error}", ff.display()))?;
    if !done.status.success() {
        return Err(format!("`ff bench {words}` failed ({})", done.status));
    }
    serde_json::from_slice(&done.stdout)
        .map_err(|error| format!("`ff bench {words}` printed something else than JSON: {error}"))
}
