//! One server on this machine, with its own port and folder.

use std::{
    env, fs,
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use super::{CommandError, Config, Reply, resp};
use crate::supervisor::{Supervisor, has_ended};
use crate::{port, wait};

/// How long a server may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(20);

/// How often another port is tried when another process was quicker to take it.
const PORT_TRIES: usize = 5;

/// A running server. It ends, and its folder is removed, when this is dropped or when this
/// process ends in whatever way.
#[derive(Debug)]
pub struct Server {
    port: u16,
    folder: PathBuf,
    running: Mutex<Running>,
}

#[derive(Debug)]
struct Running {
    supervisor: Supervisor,
    pid: u32,
    /// Whether it was last resumed, not paused.
    answers: bool,
}

impl Server {
    /// The server that all tests of this process share. It writes its append-only file as
    /// production does, but leaves the syncing to the system.
    pub fn shared() -> &'static Server {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| {
            let config = Config::default();
            let config = config.with("appendfsync", "no").with("databases", "16");
            Server::start(config.with("hz", "10"))
        })
    }

    /// Starts a server on a free port and waits until it answers.
    ///
    /// # Panics
    ///
    /// When it does not start; the message has its log.
    pub fn start(config: Config) -> Server {
        let mut why = String::new();
        for _ in 0..PORT_TRIES {
            match Self::try_start(&config) {
                Ok(server) => return server,
                Err(log) => why = log,
            }
        }
        panic!("a server did not start in {PORT_TRIES} tries, at last with this log:\n{why}");
    }

    fn try_start(config: &Config) -> Result<Server, String> {
        let port = port::free();
        let unique = RandomState::new().hash_one(port);
        let folder = env::temp_dir().join(format!("ff-valkey-{port}-{unique:016x}"));
        fs::create_dir(&folder).expect("the system's temporary folder is writable");
        let config = config.clone().with("port", &port.to_string());
        let config = config.with("dir", &folder.to_string_lossy());
        // Otherwise the bus takes the port 10,000 above, which may not be free.
        let config = match config.is_cluster() {
            true => config.with("cluster-port", &port::free().to_string()),
            false => config,
        };
        let mut supervisor = Supervisor::new(&folder, &config.command_line(), "KILL");
        let pid = supervisor.start();
        let running = Mutex::new(Running { supervisor, pid, answers: true });
        let server = Server { port, folder, running };
        server.wait_ready(pid).map(|()| server)
    }

    /// The URL of a store on the server.
    pub fn url(&self) -> String {
        format!("valkey://{}", self.address())
    }

    /// Host and port.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The port it listens on, the same after a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of its data and its log.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The server's process id; a restart changes it.
    pub fn pid(&self) -> u32 {
        self.running().pid
    }

    /// Kills the server at once, as a crash does; its data stays. Returns when it is gone.
    pub fn kill(&self) {
        let mut running = self.running();
        running.answers = false;
        running.supervisor.kill();
    }

    /// Kills the server if it runs, starts it on the same data and port, and waits until it
    /// answers.
    ///
    /// # Panics
    ///
    /// When it does not start; the message has its log.
    pub fn restart(&self) {
        let mut running = self.running();
        running.supervisor.kill();
        running.pid = running.supervisor.start();
        running.answers = true;
        let ready = self.wait_ready(running.pid);
        drop(running);
        ready.unwrap_or_else(|log| panic!("the server did not restart, with this log:\n{log}"));
    }

    /// Stops the server without ending it: connections stay open and nothing is answered.
    pub fn pause(&self) {
        let mut running = self.running();
        running.answers = false;
        running.supervisor.signal("STOP");
    }

    /// Resumes a paused server.
    pub fn resume(&self) {
        let mut running = self.running();
        running.answers = true;
        running.supervisor.signal("CONT");
    }

    /// Sends one command on a new connection, such as `&["CONFIG", "GET", "port"]`.
    pub fn command<W: AsRef<[u8]>>(&self, words: &[W]) -> Result<Reply, CommandError> {
        resp::command(self.port, words)
    }

    /// Sends one command that must be answered.
    pub(super) fn order(&self, words: &[&str]) -> Reply {
        self.command(words)
            .unwrap_or_else(|why| panic!("{} to {}: {why}", words.join(" "), self.address()))
    }

    /// Whether it is neither killed nor paused by a test, nor crashed.
    pub(super) fn runs(&self) -> bool {
        self.running().answers && self.command(&["PING"]).is_ok()
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the server answers, and not another process on its port. When it ends or is
    /// late, its log is the error.
    fn wait_ready(&self, pid: u32) -> Result<(), String> {
        let own = format!("process_id:{pid}\r\n");
        let answered = wait::until(START_LIMIT, || {
            let info = self.command(&["INFO", "server"]).map(|reply| reply.to_string());
            let is_own = info.is_ok_and(|info| info.contains(&own));
            let is_ready = is_own && self.command(&["PING"]).is_ok_and(|reply| reply == "PONG");
            is_ready.then_some(true).or_else(|| has_ended(pid).then_some(false))
        });
        match answered {
            Some(true) => Ok(()),
            _ => Err(fs::read_to_string(self.folder.join("log")).unwrap_or_default()),
        }
    }
}
