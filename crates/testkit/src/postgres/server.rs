//! One server on this machine, with its own port and folder.

use std::{
    env, fs,
    hash::{BuildHasher, RandomState},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use super::binary;
use crate::supervisor::{Supervisor, has_ended};
use crate::tools::run;
use crate::{port, wait};

/// How long a server may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How often another port is tried when another process was quicker to take it.
const PORT_TRIES: usize = 5;

/// The users that root runs the server as, the first that exists.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// What every server has.
const SETTINGS: &[(&str, &str)] = &[
    ("listen_addresses", "127.0.0.1"),
    ("unix_socket_directories", ""),
    ("max_connections", "300"),
    ("shared_buffers", "64MB"),
    // Files in the server's folder: what a killed server leaves goes with it.
    ("dynamic_shared_memory_type", "mmap"),
    ("jit", "off"),
];

/// What a server that only tests behaviour has besides: nothing waits for the disk.
const CARELESS: &[(&str, &str)] =
    &[("fsync", "off"), ("synchronous_commit", "off"), ("full_page_writes", "off")];

/// A running server with the superuser `ff`. It ends, and its folder is removed, when this is dropped or
/// when this process ends in whatever way.
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
}

impl Server {
    /// The server that all tests of this process share, which does not wait for the disk.
    pub fn shared() -> &'static Server {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| Server::start(CARELESS))
    }

    /// Starts a server on a free port, which does not wait for the disk and has these settings too.
    ///
    /// # Panics
    ///
    /// When it does not start; the message has its log.
    pub fn careless(settings: &[(&str, &str)]) -> Server {
        Server::start(&[CARELESS, settings].concat())
    }

    /// Starts a server on a free port with these settings, as durable as they make it, and waits until it
    /// answers.
    ///
    /// # Panics
    ///
    /// When it does not start; the message has its log.
    pub fn start(settings: &[(&str, &str)]) -> Server {
        let mut why = String::new();
        for _ in 0..PORT_TRIES {
            match Self::try_start(settings) {
                Ok(server) => return server,
                Err(log) => why = log,
            }
        }
        panic!("a Postgres server did not start in {PORT_TRIES} tries, at last with this:\n{why}");
    }

    fn try_start(settings: &[(&str, &str)]) -> Result<Server, String> {
        let programs = binary::programs();
        let port = port::free();
        let unique = RandomState::new().hash_one(port);
        let folder = env::temp_dir().join(format!("ff-postgres-{port}-{unique:016x}"));
        fs::create_dir(&folder).expect("the system's temporary folder is writable");
        let data = folder.join("data");
        let as_user = as_another_user(&folder)?;
        // A failed start leaves its folder to the supervisor.
        let port_setting = port.to_string();
        let own = [("port", port_setting.as_str())];
        let all = SETTINGS.iter().chain(settings).chain(&own);
        let options = all.flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")]);
        let server = programs.join("postgres").to_string_lossy().into_owned();
        let data_text = data.to_string_lossy().into_owned();
        let command_line: Vec<String> = as_user
            .iter()
            .cloned()
            .chain([server, "-D".to_owned(), data_text])
            .chain(options)
            .collect();
        let mut supervisor = Supervisor::new(&folder, &command_line, "QUIT");
        initialise(programs, &data, &as_user)?;
        let pid = supervisor.start();
        let server = Server { port, folder, running: Mutex::new(Running { supervisor, pid }) };
        server.wait_ready(pid).map(|()| server)
    }

    /// The URL of the server's database.
    pub fn url(&self) -> String {
        format!("postgres://ff@{}/postgres", self.address())
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

    /// Kills the server at once, as a crash does; its data stays. Returns when it is gone.
    pub fn kill(&self) {
        self.running().supervisor.kill();
    }

    /// Kills the server if it runs, starts it on the same data and port, and waits until it answers.
    ///
    /// # Panics
    ///
    /// When it does not start; the message has its log.
    pub fn restart(&self) {
        let mut running = self.running();
        running.supervisor.kill();
        running.pid = running.supervisor.start();
        let ready = self.wait_ready(running.pid);
        drop(running);
        ready.unwrap_or_else(|log| panic!("the server did not restart, with this log:\n{log}"));
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the server says that it is ready, in the file that it keeps for this. When it ends or
    /// is late, its log is the error.
    fn wait_ready(&self, pid: u32) -> Result<(), String> {
        let says = self.folder.join("data/postmaster.pid");
        let ready = wait::until(START_LIMIT, || {
            let text = fs::read_to_string(&says).unwrap_or_default();
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            let is_own = lines.first().is_some_and(|first| *first == pid.to_string());
            let is_ready = is_own && lines.get(7) == Some(&"ready");
            is_ready.then_some(true).or_else(|| has_ended(pid).then_some(false))
        });
        match ready {
            Some(true) => Ok(()),
            _ => Err(fs::read_to_string(self.folder.join("log")).unwrap_or_default()),
        }
    }
}

/// How a command line begins that must not run as root; `folder` is made that user's.
fn as_another_user(folder: &Path) -> Result<Vec<String>, String> {
    let owner = fs::metadata(folder).map_err(|why| why.to_string())?.uid();
    if owner != 0 {
        return Ok(Vec::new());
    }
    let users = fs::read_to_string("/etc/passwd").map_err(|why| format!("/etc/passwd: {why}"))?;
    let ids = |user: &str| {
        let fields: Vec<&str> = users
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
            .find(|fields| fields.first() == Some(&user))?;
        Some(((*fields.get(2)?).to_owned(), (*fields.get(3)?).to_owned()))
    };
    let (user, group) = USERS.iter().find_map(|user| ids(user)).ok_or_else(|| {
        format!("Postgres does not run as root, and this machine has none of the users {USERS:?}")
    })?;
    // The folder itself stays root's, so that the log is written by the supervisor.
    let data = folder.join("data");
    fs::create_dir(&data).map_err(|why| why.to_string())?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
        .map_err(|why| why.to_string())?;
    run(Command::new("chown").arg(format!("{user}:{group}")).arg(&data))?;
    let words = ["setpriv", "--reuid", &user, "--regid", &group, "--clear-groups", "--"];
    Ok(words.map(str::to_owned).to_vec())
}

/// Makes the server's data.
fn initialise(programs: &Path, data: &Path, as_user: &[String]) -> Result<(), String> {
    let initdb = programs.join("initdb").to_string_lossy().into_owned();
    let words = [
        as_user,
        &[initdb, "--pgdata".to_owned(), data.to_string_lossy().into_owned()],
        &["--username=ff", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
            .map(str::to_owned),
    ]
    .concat();
    // Not in the caller's folder, which the other user may not enter.
    run(Command::new(&words[0]).args(&words[1..]).current_dir("/"))
}
