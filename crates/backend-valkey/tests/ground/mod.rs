//! Subjects for the exam: stores on real servers, whose clock a test moves.
//!
//! The library is loaded with a prelude that takes the server's clock away. Every subject has a
//! prefix of its own and borrows a library of its own, so that all tests share one server.
#![allow(dead_code, reason = "each test uses its part")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use ff_backend_valkey::{Options, ValkeyStore};
use ff_conformance::{Subject, TestClock};
use ff_core::{Millis, Time};
use ff_testkit::valkey::{Cluster, Server};

/// When every subject's time begins.
const START: u64 = 1_700_000_000_000;

static SUBJECTS: AtomicU64 = AtomicU64::new(0);
static FREE: Mutex<Vec<u64>> = Mutex::new(Vec::new());
static MADE: AtomicU64 = AtomicU64::new(0);

/// A library that nobody else uses meanwhile.
pub(crate) struct Borrowed(u64);

impl Borrowed {
    pub(crate) fn new() -> Borrowed {
        let free = FREE.lock().unwrap().pop();
        Borrowed(free.unwrap_or_else(|| MADE.fetch_add(1, Ordering::SeqCst)))
    }

    pub(crate) fn number(&self) -> u64 {
        self.0
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        FREE.lock().unwrap().push(self.0);
    }
}

/// The Lua that puts the clock into a test's hands.
pub(crate) fn prelude(library: u64, kind: &str) -> String {
    format!(
        "local clock = {START}
         wrap_now = function() return function() return clock end end
         redis.register_function{{function_name = 'clock_{kind}_{library}', callback = function(_, args)
           clock = tonumber(args[1])
           return clock
         end, flags = {{'no-writes'}}}}\n"
    )
}

/// The clock of a subject, kept by the servers.
pub(crate) struct LuaClock {
    servers: &'static [Server],
    function: String,
    now: Mutex<u64>,
}

impl LuaClock {
    pub(crate) fn new(servers: &'static [Server], library: u64, kind: &str) -> LuaClock {
        let clock =
            LuaClock { servers, function: format!("clock_{kind}_{library}"), now: Mutex::new(0) };
        clock.set(START);
        clock
    }

    fn set(&self, ms: u64) {
        for server in self.servers {
            let ms = ms.to_string();
            server.command(&["FCALL", &self.function, "0", &ms]).expect("the clock is set");
        }
        *self.now.lock().unwrap() = ms;
    }

    fn ms(&self) -> u64 {
        *self.now.lock().unwrap()
    }
}

#[async_trait]
impl TestClock for LuaClock {
    async fn now(&self) -> Time {
        Time::from_ms(self.ms())
    }

    async fn advance(&self, span: Millis) {
        self.set(self.ms() + span.get());
    }

    async fn step_back(&self, span: Millis) {
        self.set(self.ms() - span.get());
    }

    async fn step_ahead(&self, span: Millis) {
        self.set(self.ms() + span.get());
    }
}

/// A prefix that nothing else uses.
pub(crate) fn fresh_prefix() -> String {
    format!("t{}", SUBJECTS.fetch_add(1, Ordering::SeqCst))
}

/// What is wrong with a library.
#[derive(Clone, Copy)]
pub(crate) struct Bug<'a> {
    /// Lua at its head.
    pub(crate) prelude: &'a str,
    /// Lua that is replaced.
    pub(crate) alter: &'a [(&'a str, &'a str)],
}

impl Bug<'_> {
    /// Nothing.
    pub(crate) const NONE: Bug<'static> = Bug { prelude: "", alter: &[] };
}

async fn subject(
    url: &str,
    servers: &'static [Server],
    partitions: u16,
    kind: &str,
    bug: Bug<'_>,
) -> Subject {
    let library = Borrowed::new();
    let mut options: Options = url.parse().expect("the fixture's URL");
    options.prefix = ff_backend_valkey::Prefix::new(&fresh_prefix()).expect("a prefix");
    options.partitions = Some(partitions);
    options.prelude = prelude(library.0, kind) + bug.prelude;
    let owned = |(old, new): &(&str, &str)| ((*old).to_owned(), (*new).to_owned());
    options.alter = bug.alter.iter().map(owned).collect();
    let store = ValkeyStore::open(&options).await.expect("a fresh store opens");
    let clock = LuaClock::new(servers, library.0, kind);
    Subject::new(store, clock).keeping(library)
}

/// A store in one partition of the shared server.
pub(crate) async fn standalone() -> Subject {
    let server = Server::shared();
    subject(&server.url(), std::slice::from_ref(server), 1, "one", Bug::NONE).await
}

/// A store in one partition of the shared cluster.
pub(crate) async fn cluster() -> Subject {
    let cluster = Cluster::shared();
    subject(&cluster.url(), cluster.nodes(), 1, "cluster", Bug::NONE).await
}

/// A store in four partitions of the shared server.
pub(crate) async fn four_partitions() -> Subject {
    let server = Server::shared();
    subject(&server.url(), std::slice::from_ref(server), 4, "four", Bug::NONE).await
}

/// A store in one partition of the shared server, whose library has a bug. Bugs differ by `name`.
pub(crate) async fn planted(name: &str, bug: Bug<'_>) -> Subject {
    let server = Server::shared();
    subject(&server.url(), std::slice::from_ref(server), 1, name, bug).await
}

/// A store in sixty-four partitions of the shared server.
pub(crate) async fn sixty_four_partitions() -> Subject {
    let server = Server::shared();
    subject(&server.url(), std::slice::from_ref(server), 64, "many", Bug::NONE).await
}
