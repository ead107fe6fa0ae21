//! One node and the one connection that carries all commands to it.
//!
//! A lost connection is re-established by a background task, with growing pauses, from the first call
//! that needs it until it is open or the node is forgotten. Calls wait for it up to their deadline.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use ff_store::retry::Backoff;
use redis::{Cmd, Pipeline, Value};
use tokio::sync::{Mutex, watch};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout_at};

use super::dial::{Address, Dial, Live};
use crate::error::{Fault, Kind};
use crate::library::Library;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
const CONNECT_WAIT: Duration = Duration::from_secs(1);

/// A node.
pub(crate) struct Node {
    address: Address,
    dial: Arc<Dial>,
    /// How long a try waits for a connection, when another node may answer instead.
    connect_wait: Option<Duration>,
    state: watch::Sender<State>,
    /// How often the library was loaded; the holder of the lock is loading it.
    loads: AtomicU64,
    loading: Mutex<()>,
}

enum State {
    /// No call has needed a connection.
    Idle,
    /// A task is making one; the last failure.
    Connecting(Option<Fault>),
    /// There is one.
    Open(Arc<Live>),
}

impl State {
    fn live(&self) -> Option<&Arc<Live>> {
        match self {
            State::Open(live) if !live.is_closed() => Some(live),
            _ => None,
        }
    }
}

impl Node {
    /// The only node there is.
    pub(crate) fn new(address: Address, dial: Arc<Dial>) -> Arc<Node> {
        Node::with_connect_wait(address, dial, None)
    }

    /// A node among others.
    pub(crate) fn of_many(address: Address, dial: Arc<Dial>) -> Arc<Node> {
        Node::with_connect_wait(address, dial, Some(CONNECT_WAIT))
    }

    fn with_connect_wait(
        address: Address,
        dial: Arc<Dial>,
        connect_wait: Option<Duration>,
    ) -> Arc<Node> {
        let state = watch::Sender::new(State::Idle);
        let (loads, loading) = (AtomicU64::new(0), Mutex::new(()));
        Arc::new(Node { address, dial, connect_wait, state, loads, loading })
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Whether there is a connection, as far as is known.
    #[cfg(test)]
    pub(crate) fn is_connected(&self) -> bool {
        self.state.borrow().live().is_some()
    }

    /// Whether it is one of several and there is no connection to it, though one was tried.
    pub(crate) fn is_away(&self) -> bool {
        self.connect_wait.is_some() && matches!(*self.state.borrow(), State::Connecting(_))
    }

    /// Makes the first connection; unlike a later one, it is tried once.
    pub(crate) async fn open(&self) -> Result<(), Fault> {
        let live = self.dial.commands(&self.address).await?;
        self.state.send_replace(State::Open(Arc::new(live)));
        Ok(())
    }

    /// Sends one command and waits for its reply, an error reply being a fault.
    pub(crate) async fn send(self: &Arc<Node>, command: &Cmd, by: Instant) -> Result<Value, Fault> {
        let live = self.live(by).await?;
        let answer = timeout_at(by, live.connection().send_packed_command(command)).await;
        self.judge(self.arrived(answer, &live)?, &live)
    }

    /// Sends commands that must follow each other on one connection; gives their replies.
    pub(crate) async fn send_all(
        self: &Arc<Node>,
        commands: &Pipeline,
        by: Instant,
    ) -> Result<Vec<Value>, Fault> {
        let live = self.live(by).await?;
        let mut connection = live.connection();
        let answers = connection.send_packed_commands(commands, 0, commands.len());
        let answers = self.arrived(timeout_at(by, answers).await, &live)?;
        answers.into_iter().map(|value| self.judge(value, &live)).collect()
    }

    /// How often the library was loaded, to be passed to [`Node::load`].
    pub(crate) fn loads(&self) -> u64 {
        self.loads.load(Ordering::Acquire)
    }

    /// Loads the library, unless another call has since `seen` loads.
    pub(crate) async fn load(
        self: &Arc<Node>,
        library: &Library,
        seen: u64,
        by: Instant,
    ) -> Result<(), Fault> {
        let _alone = self.loading.lock().await;
        if self.loads() != seen {
            return Ok(());
        }
        super::load::load(self, library, by).await?;
        self.loads.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// An open connection, re-established if needed.
    async fn live(self: &Arc<Node>, by: Instant) -> Result<Arc<Live>, Fault> {
        if let Some(live) = self.state.borrow().live() {
            return Ok(Arc::clone(live));
        }
        self.connect();
        let by = self.connect_wait.map_or(by, |connect_wait| by.min(Instant::now() + connect_wait));
        let mut state = self.state.subscribe();
        let decided = state.wait_for(|state| match state {
            State::Idle => false,
            // Waiting does not help against a wrong password.
            State::Connecting(failure) => failure.as_ref().is_some_and(Fault::is_denied),
            State::Open(_) => true,
        });
        let failure = match timeout_at(by, decided).await {
            Ok(Ok(state)) => match &*state {
                State::Open(live) => return Ok(Arc::clone(live)),
                State::Connecting(failure) => failure.clone(),
                State::Idle => None,
            },
            Ok(Err(_)) => None,
            Err(_) => match &*self.state.borrow() {
                State::Connecting(failure) => failure.clone(),
                _ => None,
            },
        };
        Err(failure.unwrap_or_else(|| {
            Fault::new(Kind::Unreached, "no connection in time").at(&self.address)
        }))
    }

    /// Starts to connect, unless another call has.
    fn connect(self: &Arc<Node>) {
        let begun = self.state.send_if_modified(|state| match state {
            State::Connecting(_) => false,
            State::Open(live) if !live.is_closed() => false,
            _ => {
                *state = State::Connecting(None);
                true
            }
        });
        if begun {
            tokio::spawn(connect(Arc::downgrade(self)));
        }
    }

    /// An error reply is a fault, except one of our functions: that is an answer.
    fn judge(&self, value: Value, live: &Live) -> Result<Value, Fault> {
        let Value::ServerError(error) = &value else {
            return Ok(value);
        };
        if error.code().starts_with("FF_") {
            return Ok(value);
        }
        let fault = Fault::replied(error).at(&self.address);
        if fault.kind == Kind::ReadOnly {
            // The name may resolve to another server by now.
            live.retire();
        }
        Err(fault)
    }

    /// The answer, or the fault that there is none.
    fn arrived<T>(
        self: &Arc<Node>,
        answer: Result<redis::RedisResult<T>, Elapsed>,
        live: &Live,
    ) -> Result<T, Fault> {
        let fault = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => Fault::sent(&error),
            Err(_) => Fault::new(Kind::Lost, "no answer in time"),
        };
        // After a timeout the connection may be one that swallows everything.
        live.retire();
        if self.connect_wait.is_some() {
            self.connect();
        }
        Err(fault.at(&self.address))
    }
}

/// Connects until it succeeds or the node is dropped.
async fn connect(node: Weak<Node>) {
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
    loop {
        let Some(node) = node.upgrade() else { return };
        match node.dial.commands(&node.address).await {
            Ok(live) => {
                tracing::info!(node = %node.address, "connected to the store");
                node.state.send_replace(State::Open(Arc::new(live)));
                return;
            }
            Err(fault) => {
                tracing::debug!(error = fault.text, "cannot connect to the store");
                node.state.send_replace(State::Connecting(Some(fault)));
            }
        }
        drop(node);
        sleep(backoff.pause()).await;
    }
}
