//! The subject of the exam: a fresh backend and its clock.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use ff_core::{Millis, Time};
use ff_store::roles::Engine;
use ff_store::{Clock, EngineBackend, Store};
use ff_testkit::ManualClock;

/// A backend in the making.
pub type Making = Pin<Box<dyn Future<Output = Subject> + Send>>;

/// A fresh, empty backend, and its clock.
pub struct Subject {
    /// What the rest of the system sees.
    pub backend: Arc<dyn EngineBackend>,
    /// The store beneath.
    pub store: Arc<dyn Store>,
    /// Its time, which only the exam moves.
    pub clock: Arc<dyn TestClock>,
    /// A guard that must live as long as the subject: a directory, a server.
    guard: Box<dyn Any + Send + Sync>,
}

/// The time of a store, wherever it is kept.
#[async_trait]
pub trait TestClock: Send + Sync + 'static {
    /// The current time.
    async fn now(&self) -> Time;

    /// Moves time forward.
    async fn advance(&self, span: Millis);

    /// Sets the clock back, as a machine's clock may be.
    async fn step_back(&self, span: Millis);

    /// Sets the clock forward, and no time passes.
    async fn step_ahead(&self, span: Millis);
}

#[async_trait]
impl TestClock for ManualClock {
    async fn now(&self) -> Time {
        Clock::now(self)
    }

    async fn advance(&self, span: Millis) {
        ManualClock::advance(self, span);
    }

    async fn step_back(&self, span: Millis) {
        self.set(Clock::now(self) - span);
    }

    async fn step_ahead(&self, span: Millis) {
        self.set(Clock::now(self) + span);
    }
}

impl Subject {
    /// The roles on `store`, whose clock is `clock`.
    pub fn new(store: impl Store, clock: impl TestClock) -> Subject {
        let backend = Engine::new(store);
        let store = backend.store().clone();
        Subject::over(Arc::new(backend), store, clock)
    }

    /// Roles that are reached in another way, for example over HTTP, and the store behind them.
    pub fn over(
        backend: Arc<dyn EngineBackend>,
        store: Arc<dyn Store>,
        clock: impl TestClock,
    ) -> Subject {
        Subject { store, backend, clock: Arc::new(clock), guard: Box::new(()) }
    }

    /// Keeps `guard` as long as the subject.
    pub fn keeping(self, guard: impl Any + Send + Sync) -> Subject {
        Subject { guard: Box::new((self.guard, guard)), ..self }
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").finish_non_exhaustive()
    }
}
