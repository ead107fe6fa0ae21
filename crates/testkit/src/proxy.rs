//! A TCP proxy between a client and a server that fails the way networks do.
//!
//! A stream is never repaired: when bytes of it were swallowed, all later ones are too, so no
//! client gets the reply of another request.

#![allow(clippy::expect_used, reason = "a test whose proxy cannot listen fails")]

use std::{
    collections::HashMap,
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

/// How many bytes are passed on at once.
const BUFFER: usize = 16 * 1024;

/// What the proxy does with connections and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Everything passes.
    #[default]
    Forward,
    /// New connections are closed at once; the open ones stay.
    Refuse,
    /// Connections are accepted and stay open, and nothing passes in either direction, not even
    /// the close of one end.
    BlackHole,
    /// Requests pass and run; replies do not come back.
    DropReplies,
    /// Requests pass and run; the first reply is not sent on, the connection is closed instead.
    CutAfterRequest,
    /// Requests wait until the mode changes, and then pass; replies pass.
    Hold,
}

/// A proxy on a free loopback port; it forwards by default. When it is dropped,
/// its connections are closed and new ones are refused.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Listens, and forwards to this port of this machine.
    ///
    /// # Panics
    ///
    /// When no port is free.
    pub fn to(target: u16) -> Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
        let port = listener.local_addr().expect("the address of a listener").port();
        let target = SocketAddr::from((Ipv4Addr::LOCALHOST, target));
        let shared = Arc::new(Shared { target, state: Mutex::default(), changed: Condvar::new() });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            listener.incoming().map_while(Result::ok).all(|client| accepting.accept(client))
        });
        Proxy { port, shared }
    }

    /// The URL of a store on the server through the proxy.
    pub fn url(&self) -> String {
        format!("valkey://127.0.0.1:{}", self.port)
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Changes the mode from the next connection and the next bytes on.
    pub fn set(&self, mode: Mode) {
        let mut state = self.shared.state();
        (state.mode, state.trap) = (mode, None);
        self.shared.changed.notify_all();
    }

    /// Changes the mode at the first request that contains `text`; that request is the first
    /// to which the new mode applies.
    pub fn set_at(&self, text: &str, mode: Mode) {
        self.shared.state().trap = Some((text.as_bytes().to_vec(), mode));
    }

    /// Cuts one connection: that of the next request that contains `text`, which runs, before its
    /// reply comes back. Nothing else is changed.
    pub fn cut_once(&self, text: &str) {
        self.shared.state().cut_at = Some(text.as_bytes().to_vec());
    }

    /// Cuts one connection: that of the request after the next `requests` of all connections, which runs,
    /// before its reply comes back. Nothing else is changed.
    pub fn cut_after(&self, requests: u64) {
        self.shared.state().cut_after = Some(requests);
    }

    /// How many connections were cut in place of a reply by [`Proxy::cut_once`] and
    /// [`Proxy::cut_after`].
    pub fn cuts(&self) -> u64 {
        self.shared.state().cuts
    }

    /// The current mode.
    pub fn mode(&self) -> Mode {
        self.shared.state().mode
    }

    /// Closes all open connections. New ones are accepted according to the mode.
    pub fn cut(&self) {
        for (_, connection) in self.shared.state().open.drain() {
            connection.close();
        }
    }

    /// How many connections were accepted so far, refused ones included.
    pub fn accepted(&self) -> u64 {
        self.shared.state().accepted
    }

    /// How many times bytes were swallowed so far. A test that waits for this to grow knows that
    /// what it sent, or the reply to it, is lost.
    pub fn swallowed(&self) -> u64 {
        self.shared.state().swallowed
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.set(Mode::Refuse);
        self.cut();
        // The accepting thread notices at its next connection, which is this one.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

#[derive(Debug)]
struct Shared {
    target: SocketAddr,
    state: Mutex<State>,
    /// The mode has changed.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    mode: Mode,
    /// The text that a request must contain to change the mode, and to which.
    trap: Option<(Vec<u8>, Mode)>,
    /// The text that a request must contain to lose its reply, once.
    cut_at: Option<Vec<u8>>,
    /// How many requests pass before the one that loses its reply, once.
    cut_after: Option<u64>,
    /// The connection whose next reply is lost.
    doomed: Option<u64>,
    cuts: u64,
    ended: bool,
    accepted: u64,
    swallowed: u64,
    /// By the order of their acceptance.
    open: HashMap<u64, Connection>,
}

/// Both ends; a connection accepted into a black hole has no target.
#[derive(Debug)]
struct Connection {
    client: TcpStream,
    target: Option<TcpStream>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Requests,
    Replies,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection as the mode says; false when the proxy has ended. The state is locked
    /// meanwhile, so that a cut finds every connection of an earlier mode.
    fn accept(self: &Arc<Self>, client: TcpStream) -> bool {
        let mut state = self.state();
        if state.ended {
            return false;
        }
        state.accepted += 1;
        let number = state.accepted;
        let opened = match state.mode {
            Mode::Refuse => return true,
            Mode::BlackHole => self.swallow(number, client),
            _ => self.connect(number, client),
        };
        if let Ok(connection) = opened {
            state.open.insert(number, connection);
        }
        true
    }

    fn swallow(self: &Arc<Self>, number: u64, client: TcpStream) -> io::Result<Connection> {
        let (shared, mut from) = (Arc::clone(self), client.try_clone()?);
        thread::spawn(move || {
            let mut buffer = [0; BUFFER];
            while let Ok(1..) = from.read(&mut buffer) {
                shared.state().swallowed += 1;
            }
            shared.close(number);
        });
        Ok(Connection { client, target: None })
    }

    fn connect(self: &Arc<Self>, number: u64, client: TcpStream) -> io::Result<Connection> {
        let target = TcpStream::connect(self.target)?;
        target.set_nodelay(true)?;
        client.set_nodelay(true)?;
        for (from, to, direction) in
            [(&client, &target, Direction::Requests), (&target, &client, Direction::Replies)]
        {
            let (shared, from, to) = (Arc::clone(self), from.try_clone()?, to.try_clone()?);
            thread::spawn(move || shared.pump(number, from, to, direction));
        }
        Ok(Connection { client, target: Some(target) })
    }

    fn pump(&self, number: u64, mut from: TcpStream, mut to: TcpStream, direction: Direction) {
        let mut buffer = [0; BUFFER];
        let mut has_hole = false;
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let mode = match direction {
                Direction::Requests => self.mode_for(number, &buffer[..count]),
                Direction::Replies if self.is_doomed(number) => break,
                Direction::Replies => self.state().mode,
            };
            match (mode, direction) {
                (Mode::BlackHole, _) | (Mode::DropReplies, Direction::Replies) => has_hole = true,
                (Mode::CutAfterRequest, Direction::Replies) => break,
                _ => {}
            }
            if has_hole {
                self.state().swallowed += 1;
            } else if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        if self.state().mode != Mode::BlackHole {
            self.close(number);
        }
    }

    /// The mode for these bytes of a request, once they need not wait.
    fn mode_for(&self, number: u64, request: &[u8]) -> Mode {
        let mut state = self.state();
        let is_in = |text: &Vec<u8>| request.windows(text.len()).any(|part| part == text);
        if state.cut_at.take_if(|text| is_in(text)).is_some() {
            state.doomed = Some(number);
        }
        match state.cut_after.as_mut() {
            Some(0) => (state.cut_after, state.doomed) = (None, Some(number)),
            Some(left) => *left -= 1,
            None => {}
        }
        if let Some((_, mode)) = state.trap.take_if(|(text, _)| is_in(text)) {
            state.mode = mode;
        }
        let held = |state: &mut State| state.mode == Mode::Hold;
        let state = self.changed.wait_while(state, held);
        state.unwrap_or_else(PoisonError::into_inner).mode
    }

    /// Whether the reply that comes on this connection is the one to lose.
    fn is_doomed(&self, number: u64) -> bool {
        let mut state = self.state();
        let is_doomed = state.doomed.take_if(|doomed| *doomed == number).is_some();
        state.cuts += u64::from(is_doomed);
        is_doomed
    }

    fn close(&self, number: u64) {
        if let Some(connection) = self.state().open.remove(&number) {
            connection.close();
        }
    }
}

impl Connection {
    /// Ends the streams for the threads that read from them too.
    fn close(self) {
        for stream in [Some(self.client), self.target].into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}
