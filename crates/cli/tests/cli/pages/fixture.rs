//! The environment of a page: `ff` on the PATH, a running `ff dev`, a Valkey or Postgres server, the folder of
//! the repository, a certificate, the packages of a program in TypeScript.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;

use ff_testkit::postgres;
use ff_testkit::valkey::{Config, Server, free_port};
use tempfile::TempDir;

use super::page::Page;
use super::shell::Shell;
use crate::fixture::{Process, bare};
use crate::typescript;

/// Pages that start a server themselves, at the address where the others find `ff dev`.
const OWN_SERVER: &[&str] =
    &["docs/backup.md", "docs/postgres.md", "docs/server.md", "docs/valkey.md"];
/// Where pages find `ff dev`, Valkey and Postgres.
const DEV: u16 = 7272;
const VALKEY: u16 = 6379;
const POSTGRES: u16 = 5432;
/// How a page writes this machine.
const HOSTS: &[&str] = &["127.0.0.1", "localhost"];

/// The environment of one page, which ends with it.
pub(super) struct Fixture {
    folder: TempDir,
    /// The port of the test for every port that the page names.
    ports: BTreeMap<u16, u16>,
    _dev: Option<Process>,
    _valkey: Option<Server>,
    _postgres: Option<postgres::Server>,
}

impl Fixture {
    /// All that the commands of `page` need.
    pub(super) fn for_page(root: &Path, page: &Page) -> Fixture {
        let folder = TempDir::new().unwrap();
        prepare(root, folder.path());
        if page.blocks.iter().any(|block| block.kind == "ts") {
            symlink(typescript::packages(), folder.path().join("node_modules")).unwrap();
        }
        let named = ports(&page.commands());
        let mut ports: BTreeMap<_, _> = named.iter().map(|port| (*port, free_port())).collect();
        let has_dev = !OWN_SERVER.contains(&page.name.as_str());
        let dev = has_dev.then(|| start_dev(folder.path()));
        ports.insert(DEV, dev.as_ref().map_or_else(free_port, |(_, port)| *port));
        let valkey = named.contains(&VALKEY).then(|| {
            let server = Server::start(Config::default().with("appendfsync", "no"));
            ports.insert(VALKEY, server.port());
            server
        });
        let postgres = named.contains(&POSTGRES).then(|| {
            let server = postgres::Server::start(&[]);
            ports.insert(POSTGRES, server.port());
            server
        });
        let _dev = dev.map(|(process, _)| process);
        Fixture { folder, ports, _dev, _valkey: valkey, _postgres: postgres }
    }

    /// A shell in the page's folder. By default `ff` uses the port of the test, just as it
    /// would use the port that the page names.
    pub(super) fn shell(&self) -> Shell {
        let address = format!("127.0.0.1:{}", self.ports[&DEV]);
        let release = self.folder.path().join("target/release");
        let mut path = format!("{}:{}", release.display(), std::env::var("PATH").unwrap());
        if self._postgres.is_some() {
            // Its client may be nowhere else.
            path = format!("{path}:{}", postgres::binary::programs().display());
        }
        let variables = [
            ("PATH", path),
            ("FF_URL", format!("http://{address}")),
            ("FF_LISTEN", address),
            ("CURL_HOME", self.folder.path().display().to_string()),
            ("TMPDIR", self.folder.path().display().to_string()),
            // `clients` and `examples` are those of the repository.
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ];
        Shell::start(self.folder.path(), &variables)
    }

    /// Saves a program of the page in its folder.
    pub(super) fn save(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), self.localized(text)).unwrap();
    }

    /// A command of the page with the addresses of the test.
    pub(super) fn localized(&self, command: &str) -> String {
        self.replaced(command, |(named, own)| (*named, *own))
    }

    /// What a command printed, with the addresses of the page.
    pub(super) fn as_named(&self, output: &str) -> String {
        self.replaced(output, |(named, own)| (*own, *named))
    }

    fn replaced(&self, text: &str, direction: impl Fn((&u16, &u16)) -> (u16, u16)) -> String {
        let pairs = self.ports.iter().map(direction);
        let pairs = pairs.flat_map(|pair| HOSTS.iter().map(move |host| (host, pair)));
        pairs.fold(text.to_owned(), |text, (host, (from, to))| {
            text.replace(&format!("{host}:{from}"), &format!("{host}:{to}"))
        })
    }
}

/// Makes `folder` look like the root of the repository after a build, with a certificate in it. There,
/// curl exits with an error when a request is refused; a reader sees that in what it prints.
fn prepare(root: &Path, folder: &Path) {
    std::fs::write(folder.join(".curlrc"), "fail-with-body\n").unwrap();
    std::fs::create_dir_all(folder.join("target/release")).unwrap();
    symlink(env!("CARGO_BIN_EXE_ff"), folder.join("target/release/ff")).unwrap();
    for shared in ["examples", "clients"] {
        symlink(root.join(shared), folder.join(shared)).unwrap();
    }
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join("cert.pem"), certified.cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), certified.signing_key.serialize_pem()).unwrap();
}

/// `ff dev` as a reader starts it, but on a free port.
fn start_dev(folder: &Path) -> (Process, u16) {
    let mut command = bare(&["dev", "--listen", "127.0.0.1:0"]);
    command.env("TMPDIR", folder).stdin(Stdio::null());
    let mut process = Process::start(command.stdout(Stdio::null()).stderr(Stdio::piped()));
    let url = process.stderr().after("FlowFabric is running at  ");
    let port = url.rsplit_once(':').unwrap().1.parse().unwrap();
    (process, port)
}

/// The ports of this machine that `commands` name.
fn ports(commands: &str) -> Vec<u16> {
    let hosts = HOSTS.iter().map(|host| format!("{host}:"));
    let named =
        hosts.flat_map(|host| commands.split(&host).skip(1).map(digits).collect::<Vec<_>>());
    named.filter_map(|digits| digits.parse().ok()).collect()
}

/// The digits that a text begins with.
fn digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}
