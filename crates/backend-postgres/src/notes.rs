//! What other processes are to learn of this one's commits, collected for a few milliseconds.
//!
//! A note is a line of text in the message of a notification. Losing it costs up to a second.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ff_core::{Capabilities, ExecutionId, Lane, Namespace, Time, WorkerInstanceId};
use ff_store::Wakeups;
use ff_store::stops::Stop;
use ff_store::wakeups::Announcement;
use tokio::sync::Notify;

/// How many bytes a message has at most; Postgres allows 8,000.
const MESSAGE_BYTES: usize = 7_900;
/// How many lines are kept for one sending. Of more, the others are told to look for themselves.
const LINES: usize = 1_000;

/// Something may have happened that no line says.
const MAYBE: &str = "m";
/// An engine has come or gone.
const ENGINES: &str = "g";

/// Notes to other processes.
#[derive(Debug)]
pub(crate) struct Notes {
    /// The name of this process in its messages: what it hears from itself it knows.
    sender: String,
    /// How often each line is to be said.
    lines: Mutex<BTreeMap<String, u32>>,
    any: Notify,
}

impl Notes {
    pub(crate) fn new() -> Notes {
        let sender = format!("{:016x}", fastrand::u64(..));
        Notes { sender, lines: Mutex::default(), any: Notify::new() }
    }

    /// Adds what was announced in this process.
    pub(crate) fn add(&self, announcements: &[Announcement]) {
        if announcements.is_empty() {
            return;
        }
        let mut lines = self.lock();
        for announcement in announcements {
            if lines.len() >= LINES {
                lines.clear();
                lines.insert(MAYBE.to_owned(), 1);
                break;
            }
            *lines.entry(line(announcement)).or_default() += 1;
        }
        drop(lines);
        self.any.notify_one();
    }

    /// An engine has come or gone.
    pub(crate) fn add_engines(&self) {
        self.lock().insert(ENGINES.to_owned(), 1);
        self.any.notify_one();
    }

    /// Waits until there is something to send.
    pub(crate) async fn any(&self) {
        self.any.notified().await;
    }

    /// Takes all notes, as messages.
    pub(crate) fn take(&self) -> Vec<String> {
        let lines = std::mem::take(&mut *self.lock());
        let mut messages: Vec<String> = Vec::new();
        for (line, count) in lines {
            let line = format!("\n{count} {line}");
            match messages.last_mut().filter(|last| last.len() + line.len() <= MESSAGE_BYTES) {
                Some(last) => last.push_str(&line),
                None => messages.push(format!("{}{line}", self.sender)),
            }
        }
        messages
    }

    /// Announces in this process what another says in `message`.
    pub(crate) fn heard(&self, message: &str, wakeups: &Wakeups) {
        let mut lines = message.lines();
        if lines.next() == Some(self.sender.as_str()) {
            return;
        }
        for line in lines {
            if read(line, wakeups).is_none() {
                // It is of a release that says more: whatever it is, waiters look for it.
                wakeups.announce_maybe();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u32>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An announcement as a line.
fn line(announcement: &Announcement) -> String {
    match announcement {
        Announcement::Work { namespace, lane, class } => {
            format!("w\t{}\t{}\t{}", namespace.as_str(), lane.as_str(), class.as_str())
        }
        Announcement::Timer(due) => format!("t\t{}", due.as_ms()),
        Announcement::Ended(id) => format!("e\t{id}"),
        Announcement::Frames(id) => format!("f\t{id}"),
        Announcement::Events(namespace) => format!("n\t{}", namespace.as_str()),
        Announcement::Stop(stop) => {
            let Stop { namespace, instance, execution } = stop;
            format!("s\t{}\t{}\t{execution}", namespace.as_str(), instance.as_str())
        }
    }
}

/// Announces what a line says; nothing if it is not understood.
fn read(line: &str, wakeups: &Wakeups) -> Option<()> {
    let (count, rest) = line.split_once(' ')?;
    let count: u32 = count.parse().ok()?;
    let words: Vec<&str> = rest.split('\t').collect();
    let announcement = match words[..] {
        [MAYBE] => {
            wakeups.announce_maybe();
            wakeups.stops().note_gap();
            return Some(());
        }
        [ENGINES] => {
            wakeups.announce_engines();
            return Some(());
        }
        ["w", namespace, lane, class] => Announcement::Work {
            namespace: Namespace::new(namespace).ok()?,
            lane: Lane::new(lane).ok()?,
            class: Capabilities::parse(class).ok()?,
        },
        ["t", ms] => Announcement::Timer(Time::from_ms(ms.parse().ok()?)),
        ["e", id] => Announcement::Ended(id.parse::<ExecutionId>().ok()?),
        ["f", id] => Announcement::Frames(id.parse::<ExecutionId>().ok()?),
        ["n", namespace] => Announcement::Events(Namespace::new(namespace).ok()?),
        ["s", namespace, instance, id] => {
            wakeups.stops().note(Stop {
                namespace: Namespace::new(namespace).ok()?,
                instance: WorkerInstanceId::new(instance).ok()?,
                execution: id.parse().ok()?,
            });
            return Some(());
        }
        _ => return None,
    };
    wakeups.announce(std::iter::repeat_n(announcement, count.min(LINES as u32) as usize));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(lane: &str) -> Announcement {
        let (namespace, class) = (Namespace::default(), Capabilities::parse("gpu").unwrap());
        Announcement::Work { namespace, lane: Lane::new(lane).unwrap(), class }
    }

    #[tokio::test]
    async fn what_one_process_notes_wakes_those_who_wait_in_another() {
        let (one, other) = (Notes::new(), Notes::new());
        one.add(&[work("a"), work("a"), Announcement::Timer(Time::from_ms(5))]);
        let messages = one.take();
        assert_eq!(messages.len(), 1);
        assert!(one.take().is_empty());
        let wakeups = Wakeups::default();
        let queue = (Namespace::default(), Lane::new("a").unwrap());
        let waiting = wakeups.subscribe(queue.clone(), Capabilities::parse("gpu").unwrap());
        waiting.register();
        one.heard(&messages[0], &wakeups);
        assert_eq!(wakeups.waiting(&queue), 1, "a process does not hear itself");
        other.heard(&messages[0], &wakeups);
        assert_eq!(wakeups.waiting(&queue), 0);
        wakeups.timer_changed().await;
    }

    #[test]
    fn messages_are_short_and_many_notes_become_one() {
        let notes = Notes::new();
        for number in 0..500 {
            notes.add(&[work(&format!("lane-{number}"))]);
        }
        let messages = notes.take();
        assert!(messages.len() > 1 && messages.iter().all(|one| one.len() <= MESSAGE_BYTES));
        for number in 0..=LINES {
            notes.add(&[work(&format!("lane-{number}"))]);
        }
        assert_eq!(notes.take()[0].lines().nth(1), Some("1 m"));
    }
}
