//! `ff serve` in a separate process: killed, stopped, frozen and restarted.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use ff_testkit::wait;
use rustix::process::{Pid, Signal, kill_process};

use crate::http::Client;
use crate::place::bare;

/// How long a server may take to stop.
const STOP: Duration = Duration::from_secs(30);

/// A running server. It is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Serving {
    program: PathBuf,
    store: String,
    log: PathBuf,
    child: Child,
    address: SocketAddr,
}

impl Serving {
    /// Starts on a free port, and returns when it prints the address.
    pub(crate) fn start(program: &Path, store: &str, log: PathBuf) -> Serving {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let (child, address) = launch(program, store, &log, listen);
        Serving { program: program.to_owned(), store: store.to_owned(), log, child, address }
    }

    /// A client of this server, and of its restarts at the same address.
    pub(crate) fn client(&self) -> Client {
        Client::of(self.address)
    }

    /// Ends it like a crash.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops it, waits until it has ended, and answers whether it exited cleanly.
    pub(crate) fn stop(&mut self) -> bool {
        self.signal(Signal::TERM);
        let ended = wait::until(STOP, || self.child.try_wait().unwrap());
        ended.unwrap_or_else(|| panic!("the server does not stop")).success()
    }

    /// Serves the same store at the same address again.
    pub(crate) fn restart(&mut self) {
        (self.child, self.address) = launch(&self.program, &self.store, &self.log, self.address);
    }

    /// Stops it from running without ending it.
    pub(crate) fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets a frozen server run.
    pub(crate) fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The memory that the process keeps resident, in KiB.
    pub(crate) fn resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|rest| rest.split_whitespace().next());
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    }
}

fn launch(program: &Path, store: &str, log: &Path, listen: SocketAddr) -> (Child, SocketAddr) {
    let log = File::options().create(true).append(true).open(log).unwrap();
    let mut command = bare(program);
    command.args(["serve", "--listen", &listen.to_string(), "--store", store]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").and_then(|text| text.parse().ok());
    let address = address.unwrap_or_else(|| panic!("no server on {listen}: {line:?}"));
    (child, address)
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
