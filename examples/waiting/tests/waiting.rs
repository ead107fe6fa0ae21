//! The examples as their reader runs them: against a server, and killed with -9.

// A test that cannot continue panics.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use ff_engine::services::Services;
use ff_engine::supervisor::Supervisor;
use ff_example_waiting::post;
use ff_server::{Config, Server};
use flowfabric::prelude::*;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How long anything may take before the test gives up on it.
const TIMEOUT: Duration = Duration::from_secs(60);

const APPROVAL: &str = env!("CARGO_BIN_EXE_approval");
const CALLBACK: &str = env!("CARGO_BIN_EXE_callback");
const AGENT: &str = env!("CARGO_BIN_EXE_agent");

/// A server over a store in memory, and the services beside it.
async fn serve() -> (String, Supervisor) {
    serve_over("memory:").await
}

async fn serve_over(store: &str) -> (String, Supervisor) {
    let store = ff_backends::open(store).await.unwrap();
    let config = Config { listen: "127.0.0.1:0".parse().unwrap(), ..Config::default() };
    let server = Server::bind(store.clone(), config).await.unwrap();
    let url = format!("http://{}", server.address());
    tokio::spawn(server.run(CancellationToken::new()));
    (url, Services::new(store).start())
}

/// A browser that is logged in nowhere: it reads pages, follows what they show, and sends their forms.
struct Browser {
    host: String,
}

impl Browser {
    async fn ask(&self, request: String) -> TcpStream {
        let mut tcp = TcpStream::connect(&self.host).await.unwrap();
        tcp.write_all(request.as_bytes()).await.unwrap();
        tcp
    }

    async fn page(&self, path: &str) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n", self.host);
        let mut tcp = self.ask(format!("{head}connection: close\r\n\r\n")).await;
        let mut page = String::new();
        timeout(TIMEOUT, tcp.read_to_string(&mut page)).await.unwrap().unwrap();
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        page
    }

    /// All that a page's output comes to, until the execution has ended.
    async fn watch(self, path: String) -> String {
        let mut tcp = self.ask(format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.host)).await;
        let mut seen = Vec::new();
        let ended = async {
            while !String::from_utf8_lossy(&seen).contains("event: end") {
                assert!(tcp.read_buf(&mut seen).await.unwrap() > 0, "it was cut off");
            }
        };
        timeout(TIMEOUT * 2, ended).await.unwrap();
        let seen = String::from_utf8(seen).unwrap();
        let data = seen.lines().filter_map(|line| line.strip_prefix("data: "));
        let frames = data.map(|data| serde_json::from_str::<serde_json::Value>(data).unwrap());
        frames.filter_map(|frame| Some(frame["text"].as_str()?.to_owned())).collect()
    }

    /// Presses `Approve` in the inbox.
    async fn approve(&self, id: ExecutionId) {
        let inbox = self.page("/approvals").await;
        assert!(inbox.contains("Book the 9:04 to Lyon, for 42 EUR?"), "{inbox}");
        let (_, rest) = inbox.split_once("name=\"proof\" value=\"").unwrap();
        let form = format!("proof={}&decision=approve", rest.split('"').next().unwrap());
        let (host, length) = (&self.host, form.len());
        let head = format!(
            "POST /executions/{id}/decide HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n"
        );
        let mut answer = String::new();
        let mut tcp = self.ask(head + &form).await;
        timeout(TIMEOUT, tcp.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 303") && answer.contains("note=approved"), "{answer}");
    }
}

/// A running example.
struct Example {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    said: Vec<String>,
}

impl Example {
    fn start(program: &str, url: Option<&str>, arguments: &[&str]) -> Example {
        let mut command = Command::new(program);
        command.args(arguments).env_remove("FF_URL").env_remove("FF_TOKEN").kill_on_drop(true);
        command.envs(url.map(|url| ("FF_URL", url)));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Example { child, lines, said: Vec::new() }
    }

    /// Its next line; `None` once it has ended.
    async fn line(&mut self) -> Option<String> {
        let line = timeout(TIMEOUT, self.lines.next_line()).await.unwrap().unwrap();
        self.said.extend(line.clone());
        line
    }

    /// The next line that begins so.
    async fn until(&mut self, beginning: &str) -> String {
        loop {
            let line = self.line().await;
            let line = line.unwrap_or_else(|| panic!("no {beginning}: {:?}", self.said));
            if line.starts_with(beginning) {
                return line;
            }
        }
    }

    /// All that it said, once it has come to its good end.
    async fn ended(mut self) -> String {
        while self.line().await.is_some() {}
        let status = timeout(TIMEOUT, self.child.wait()).await.unwrap().unwrap();
        assert!(status.success(), "{status}: {:?}", self.said);
        self.said.join("\n")
    }

    /// Lets it go on.
    async fn enter(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").await.unwrap();
    }

    /// Kills it with -9.
    async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_different_people_approve_a_deployment_and_one_stops_another() {
    let (url, services) = serve().await;
    let said = Example::start(APPROVAL, Some(&url), &[]).ended().await;
    assert!(said.contains("ann approves once more: recorded"), "{said}");
    assert!(said.contains("1.4 is out, approved by ann and bo"), "{said}");
    assert!(said.contains("bo said no: not on a Friday"), "{said}");
    services.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_approved_at_two_links() {
    let (url, services) = serve().await;
    let mut example = Example::start(APPROVAL, Some(&url), &["--links"]);
    for person in ["ann", "bo"] {
        let line = example.until(&format!("for {person}: ")).await;
        let path = line.split_once(&url).unwrap().1.to_owned();
        let (url, form) = (url.clone(), "application/x-www-form-urlencoded");
        let decide = move || post(&url, &path, form, "decision=approve");
        let (status, page) = tokio::task::spawn_blocking(decide).await.unwrap().unwrap();
        assert_eq!(status, 200, "{page}");
    }
    let said = example.ended().await;
    assert!(said.contains("1.6 is out, approved by ann and bo"), "{said}");
    services.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_system_answers_by_its_token() {
    let (url, services) = serve().await;
    let said = Example::start(CALLBACK, Some(&url), &[]).ended().await;
    assert!(said.contains("somebody guesses a token: 401"), "{said}");
    assert!(said.contains("500 copies of Moby-Dick are printed"), "{said}");
    services.stop().await;
}

/// The calls on the bill, each by what it was for and its key.
fn bill(file: &str) -> Vec<(String, String)> {
    let bill = fs::read_to_string(format!("{file}.bill")).unwrap();
    let calls = bill.lines().map(|line| line.split_once(' ').unwrap());
    calls.map(|(what, key)| (what.to_owned(), key.to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_killed_after_every_step_pays_for_each_call_once_while_a_page_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.ff").display().to_string();
    let start = || Example::start(AGENT, None, &["--pause", &file]);

    // Killed after each call of the model; the next process finds what was paid for.
    let mut example = start();
    example.until("model-0").await;
    let (url, services) = serve_over(&format!("sqlite:{file}")).await;
    let browser = || Browser { host: url.trim_start_matches("http://").to_owned() };
    let listed = browser().page("/executions?kind=agent").await;
    let (_, id) = listed.split_once("<tr data-id=\"").unwrap();
    let id: ExecutionId = id.split('"').next().unwrap().parse().unwrap();
    let watched = tokio::spawn(browser().watch(format!("/executions/{id}/output?from=0")));
    example.kill().await;
    let mut example = start();
    example.until("model-0").await;
    example.enter().await;
    example.until("model-1").await;
    example.kill().await;

    // Killed while a person thinks about it. The decision needs no process of the agent.
    let mut example = start();
    example.until("model-0").await;
    example.enter().await;
    example.until("model-1").await;
    example.enter().await;
    let command = example.until("  ff approve ").await;
    assert!(command.contains(&id.to_string()), "{command}");
    example.kill().await;
    browser().approve(id).await;

    // Killed after the booking, and run to its end.
    let mut example = start();
    for line in ["model-0", "model-1"] {
        example.until(line).await;
        example.enter().await;
    }
    example.until("book-1").await;
    example.kill().await;
    let mut example = start();
    for line in ["model-0", "model-1", "book-1", "model-2"] {
        example.until(line).await;
        example.enter().await;
    }
    let said = example.ended().await;
    assert!(said.contains("You are on the 9:04 to Lyon."), "{said}");
    assert!(said.contains("used 420 of 1000 tokens"), "{said}");

    let calls = bill(&file);
    let paid: Vec<_> = calls.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(paid, ["model", "model", "booking", "model"], "each call is paid for once");
    let keys: std::collections::BTreeSet<_> = calls.iter().map(|(_, key)| key).collect();
    assert_eq!(keys.len(), 4);

    // One viewer has seen all of it, through every kill.
    let story = timeout(TIMEOUT, watched).await.unwrap().unwrap();
    let mut rest = story.as_str();
    for part in [
        "Monday, then. I look for trains to Lyon.\n",
        "search: trains to Lyon on Monday\n",
        "The 9:04 is the earlier one, and it costs money: I ask before I book.\n",
        "book: the 9:04 to Lyon, for 42 EUR\n",
        "It is booked.\n",
    ] {
        let (_, after) =
            rest.split_once(part).unwrap_or_else(|| panic!("no {part:?} in {story:?}"));
        rest = after;
    }
    let page = browser().page(&format!("/executions/{id}")).await;
    for shown in ["completed", "model-0", "model-2", "approval-1", "book-1", "lease lost", "It is "]
    {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(browser().page("/limits").await.contains("420"), "the budget shows what was used");
    services.stop().await;
}
