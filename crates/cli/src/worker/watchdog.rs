//! Ends the programs of a worker that was killed.
//!
//! A separate process learns through a pipe which process groups run. When the worker dies, in
//! whatever way, the pipe closes, and the groups that still run are killed.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::Pid;

/// Reads `+ GROUP` and `- GROUP`; at the end of its input it kills the groups that are left.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
groups=' '
while read -r change group; do
  case $change in
    +) groups="$groups$group " ;;
    -) groups="${groups%% $group *} ${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
"#;

/// The watchdog process. It ends with the worker.
pub(super) struct Watchdog {
    child: Child,
    pipe: Arc<Pipe>,
}

struct Pipe(Mutex<Option<ChildStdin>>);

/// A process group that is ended should the worker die, until this is dropped.
pub(super) struct Watched {
    group: Pid,
    pipe: Arc<Pipe>,
}

impl Watchdog {
    pub(super) fn start() -> io::Result<Watchdog> {
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(SCRIPT)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let pipe = Arc::new(Pipe(Mutex::new(child.stdin.take())));
        Ok(Watchdog { child, pipe })
    }

    /// Ends `group` should the worker die.
    pub(super) fn watch(&self, group: Pid) -> Watched {
        self.pipe.send('+', group);
        Watched { group, pipe: self.pipe.clone() }
    }
}

impl Drop for Watchdog {
    /// The programs have ended, so there is nothing left for it to end.
    fn drop(&mut self) {
        self.pipe.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = self.child.wait();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.pipe.send('-', self.group);
    }
}

impl Pipe {
    /// A watchdog that was killed reads nothing; the programs run without it.
    fn send(&self, change: char, group: Pid) {
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipe) = pipe.as_mut() {
            let line = format!("{change} {}\n", group.as_raw_nonzero());
            let _ = pipe.write_all(line.as_bytes());
        }
    }
}
