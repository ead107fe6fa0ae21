//! The first picture of the README: the overview of `ff dev` in a browser, taken again here.
//!
//! What a picture must show is read from the page; its pixels are not compared. To replace the picture, copy
//! the one that this test has taken, as CONTRIBUTING.md says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ff_testkit::chromium::chromium;
use serde_json::{Value, json};

use crate::dev::Dev;
use crate::fixture::{finish, wait_for};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Where the README has it.
const PICTURE: &str = "docs/dashboard.png";
/// How wide it is, and how many bytes it may have.
const WIDTH: u32 = 1_280;
const BYTES: usize = 200 << 10;
/// How much has ended when the picture is taken, so that the charts have something to show.
const ENDED: usize = 40;

/// Opens `url`, takes the steps, and gives what the browser reports.
fn browse(url: &str, steps: &Value) -> Value {
    let asked = json!({
        "browser": chromium(),
        "url": url,
        "width": WIDTH,
        "height": 800,
        "dark": false,
        "script": true,
        "steps": steps,
        "screenshot": null,
    });
    let mut driver = Command::new("python3");
    driver.arg(Path::new(ROOT).join("crates/server/tests/browser/drive.py"));
    let done = finish(&mut driver, asked.to_string().as_bytes());
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    serde_json::from_slice(&done.stdout).unwrap()
}

/// A picture has the width of the window, and is small enough to be kept.
fn check(picture: &Path) {
    let bytes = fs::read(picture).unwrap_or_else(|why| panic!("{}: {why}", picture.display()));
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{} is no picture", picture.display());
    let width = u32::from_be_bytes(bytes[16..20].try_into().unwrap());
    // A bar to scroll has its room.
    assert!((WIDTH - 20..=WIDTH).contains(&width), "{} is {width} wide", picture.display());
    assert!(bytes.len() < BYTES, "{} has {} bytes", picture.display(), bytes.len());
}

#[test]
fn the_first_picture_shows_live_work_with_limits_an_approval_and_a_flaky_task() {
    let dev = Dev::start(&[]);
    let is_over = |view: &Value| view["state"] == "completed";
    wait_for("work to end", || (dev.listed(is_over).len() >= ENDED).then_some(()));
    let taken = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dashboard.png");
    let url = dev.url.trim_end_matches('/');
    let steps = json!([
        {"see": [".pulse", "live"]},
        {"goto": format!("{url}/executions?kind=flaky")},
        {"see": ["tr[data-id]", "flaky"]},
        {"goto": format!("{url}/approvals")},
        {"see": ["#inbox", "to production?"]},
        {"goto": format!("{url}/limits")},
        {"see": ["#limits", "tokens"]},
        {"see": ["#limits", "web"]},
        {"goto": format!("{url}/workers")},
        {"see": ["#workers", "alive"]},
        {"goto": format!("{url}/")},
        {"see": [".pulse", "live"]},
        {"see": ["#attention", "Waiting for approval"]},
        {"see": ["#attention", "Failed"]},
        {"see": ["#lanes", "demo"]},
        {"see": ["#latest", "completed"]},
        {"is": "document.querySelectorAll('.metric').length === 4"},
        {"is": "document.querySelectorAll('.chart .ok').length >= 5"},
        {"is": "document.querySelectorAll('.chart path.line').length >= 4"},
        {"shot": taken},
    ]);
    let seen = browse(url, &steps);
    assert_eq!(seen["problems"], json!([]));
    check(&taken);
    check(&Path::new(ROOT).join(PICTURE));
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let (_, first) = readme.split_once("![").expect("the README has a picture");
    let (_, place) = first.split_once("](").unwrap();
    assert!(place.starts_with(&format!("{PICTURE})")), "the first one is another");
}
