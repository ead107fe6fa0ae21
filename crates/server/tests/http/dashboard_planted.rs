//! The tests of the dashboard are themselves tested: each planted bug must be caught.
//!
//! A bug is planted between the server and its visitors: what the server answers is changed on its way.

use std::net::{Ipv4Addr, SocketAddr};

use ff_core::credential::Role;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::browse::Window;
use super::dashboard::{
    act_on_an_execution, are_escaped, are_safe, follow_changes, say_what_to_do,
};
use super::dashboard_access::logged_in;
use super::dashboard_browser::{furnished, look, use_keys};
use crate::fixture::Fixture;
use crate::tokens::guarded;

/// What a server answers, on its way.
struct Passing {
    /// Status and headers, a line each.
    head: String,
    /// Empty of one that is sent over a long time.
    body: String,
}

impl Passing {
    fn is(&self, media: &str) -> bool {
        self.head.contains(&format!("content-type: {media}"))
    }

    fn drop_header(&mut self, name: &str) {
        let lines = self.head.lines().filter(|line| !line.starts_with(name));
        self.head = lines.map(|line| format!("{line}\r\n")).collect();
    }
}

/// Changes an answer; false ends the connection instead.
type Spoil = fn(&mut Passing) -> bool;

/// The same server, whose answers are spoiled.
async fn spoiled(mut server: Fixture, spoil: Spoil) -> Fixture {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let upstream = std::mem::replace(&mut server.address, listener.local_addr().unwrap());
    let stop = server.shutdown.clone();
    tokio::spawn(stop.run_until_cancelled_owned(async move {
        while let Ok((visitor, _)) = listener.accept().await {
            tokio::spawn(pass(visitor, upstream, spoil));
        }
    }));
    server
}

/// Passes one request and its answer on.
async fn pass(mut visitor: TcpStream, upstream: SocketAddr, spoil: Spoil) -> Option<()> {
    let (head, mut rest) = read_head(&mut visitor).await?;
    while rest.len() < length(&head) {
        visitor.read_buf(&mut rest).await.ok().filter(|read| *read > 0)?;
    }
    let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1) + "\r\n";
    let mut server = TcpStream::connect(upstream).await.ok()?;
    server.write_all(head.as_bytes()).await.ok()?;
    server.write_all(&rest).await.ok()?;
    let (head, mut body) = read_head(&mut server).await?;
    let mut passing = Passing { head, body: String::new() };
    passing.drop_header("connection:");
    if passing.is("text/event-stream") {
        if spoil(&mut passing) {
            let head = format!("{}connection: close\r\n\r\n", passing.head);
            visitor.write_all(head.as_bytes()).await.ok()?;
            visitor.write_all(&body).await.ok()?;
            tokio::io::copy_bidirectional(&mut visitor, &mut server).await.ok()?;
        }
        return Some(());
    }
    server.read_to_end(&mut body).await.ok()?;
    passing.drop_header("content-length:");
    passing.body = String::from_utf8_lossy(&body).into_owned();
    if !spoil(&mut passing) {
        return Some(());
    }
    let Passing { head, body } = passing;
    let (length, end) = (body.len(), "connection: close\r\n\r\n");
    let answer = format!("{head}content-length: {length}\r\n{end}{body}");
    visitor.write_all(answer.as_bytes()).await.ok()
}

/// A head without its empty line, and what came with it.
async fn read_head(from: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut read = Vec::new();
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = read.split_off(end + 4);
            read.truncate(end + 2);
            return Some((String::from_utf8(read).ok()?, rest));
        }
        from.read_buf(&mut read).await.ok().filter(|read| *read > 0)?;
    }
}

fn length(head: &str) -> usize {
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    let mut lengths = lines.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    lengths.next().and_then(|(_, length)| length.parse().ok()).unwrap_or(0)
}

async fn plain(spoil: Spoil) -> Fixture {
    spoiled(Fixture::start().await, spoil).await
}

/// Looks at every page of a furnished server.
async fn seen(spoil: Spoil, width: u32, dark: bool) {
    let (server, past) = furnished().await;
    look(&spoiled(server, spoil).await, past, Window { width, dark, script: true }).await;
}

/// Without a bug, nothing is caught.
#[tokio::test]
async fn what_is_passed_on_as_it_is_passes() {
    let passes: Spoil = |_| true;
    are_safe(&plain(passes).await).await;
    are_escaped(&plain(passes).await).await;
    act_on_an_execution(&plain(passes).await).await;
    follow_changes(&plain(passes).await).await;
    say_what_to_do(&plain(passes).await).await;
}

#[tokio::test]
#[should_panic(expected = "/: ")]
async fn a_page_without_a_policy_is_caught() {
    let spoil: Spoil = |answer| {
        answer.drop_header("content-security-policy:");
        true
    };
    are_safe(&plain(spoil).await).await;
}

#[tokio::test]
#[should_panic(expected = "names another place")]
async fn a_page_that_loads_from_elsewhere_is_caught() {
    let spoil: Spoil = |answer| {
        let image = "<img src=\"http://192.0.2.1/logo.png\" alt=\"\"></main>";
        answer.body = answer.body.replace("</main>", image);
        true
    };
    are_safe(&plain(spoil).await).await;
}

#[tokio::test]
#[should_panic(expected = "has \"<script>\"")]
async fn text_that_is_not_escaped_is_caught() {
    let spoil: Spoil = |answer| {
        answer.body = answer.body.replace("&lt;", "<").replace("&gt;", ">");
        true
    };
    are_escaped(&plain(spoil).await).await;
}

#[tokio::test]
#[should_panic(expected = "(403, None)")]
async fn a_form_whose_proof_is_lost_is_caught() {
    let spoil: Spoil = |answer| {
        answer.body = answer.body.replace("name=\"proof\" value=\"", "name=\"proof\" value=\"x");
        true
    };
    act_on_an_execution(&plain(spoil).await).await;
}

#[tokio::test]
#[should_panic(expected = "SameSite")]
async fn a_cookie_that_scripts_can_read_is_caught() {
    let spoil: Spoil = |answer| {
        answer.head = answer.head.replace("HttpOnly", "SameParty");
        true
    };
    let server = spoiled(guarded().await, spoil).await;
    let token = server.issued("ann", Role::Reader, &["default"]).await;
    logged_in(&server, &token).await;
}

#[tokio::test]
#[should_panic(expected = "ended")]
async fn changes_that_never_arrive_are_caught() {
    follow_changes(&plain(|answer| !answer.is("text/event-stream")).await).await;
}

#[tokio::test]
#[should_panic(expected = "/events: ")]
async fn an_empty_page_that_leaves_a_visitor_alone_is_caught() {
    let spoil: Spoil = |answer| {
        answer.body = answer.body.replace("ff events --follow", "");
        true
    };
    say_what_to_do(&plain(spoil).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[should_panic(expected = "900")]
async fn a_page_that_is_wider_than_a_phone_is_caught() {
    let spoil: Spoil = |answer| {
        if answer.is("text/css") {
            answer.body += "main{min-width:900px}";
        }
        true
    };
    seen(spoil, 390, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[should_panic(expected = "colorScheme")]
async fn a_page_that_is_light_in_the_dark_is_caught() {
    let spoil: Spoil = |answer| {
        answer.body = answer.body.replace("color-scheme:dark", "color-scheme:light");
        true
    };
    seen(spoil, 1280, true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[should_panic(expected = "querySelectorAll")]
async fn a_button_without_a_name_is_caught() {
    let spoil: Spoil = |answer| {
        answer.body = answer.body.replace("</main>", "<button></button></main>");
        true
    };
    seen(spoil, 1280, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[should_panic(expected = "the script is broken")]
async fn a_script_that_fails_is_caught() {
    let spoil: Spoil = |answer| {
        if answer.is("text/javascript") {
            answer.body += "\nconsole.error('the script is broken');";
        }
        true
    };
    seen(spoil, 1280, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[should_panic(expected = "activeElement")]
async fn keys_that_do_nothing_are_caught() {
    let spoil: Spoil = |answer| {
        answer.body = answer.body.replace("case 'j':", "case 'J':");
        true
    };
    use_keys(&spoiled(furnished().await.0, spoil).await).await;
}
