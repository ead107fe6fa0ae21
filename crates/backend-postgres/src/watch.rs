//! Tells other processes what this one has committed, and hears what they have.
//!
//! Notifications are sent after a commit, over a connection of their own: one inside a transaction would
//! make all commits of the database wait for each other. The connection is made again when it is lost, and
//! then all waiting calls read for themselves.

use std::sync::Arc;
use std::time::Duration;

use ff_store::Wakeups;
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tokio_postgres::AsyncMessage;

use crate::connection::{Dial, Session};
use crate::error::Fault;
use crate::notes::Notes;

/// How long notes are collected before they are sent.
const COLLECT: Duration = Duration::from_millis(5);
/// How long after a failure the connection is made again.
const PAUSE: Duration = Duration::from_millis(500);

/// The task that does it. It ends when this is dropped.
pub(crate) struct Watch(AbortHandle);

impl Watch {
    /// Starts it. It listens when this returns.
    pub(crate) async fn start(
        dial: Arc<Dial>,
        wakeups: Arc<Wakeups>,
        notes: Arc<Notes>,
    ) -> Result<Watch, Fault> {
        let first = listen(&dial).await?;
        let watch = tokio::spawn(async move {
            let mut line = Some(first);
            loop {
                if let Some((session, heard)) = line.take() {
                    pass_on(&session, heard, &wakeups, &notes).await;
                }
                sleep(PAUSE).await;
                match listen(&dial).await {
                    Ok(again) => line = Some(again),
                    Err(fault) => tracing::debug!(?fault, "other processes are not heard"),
                }
                // Whatever was said meanwhile was not heard.
                wakeups.announce_maybe();
                wakeups.stops().note_gap();
                wakeups.announce_engines();
            }
        });
        Ok(Watch(watch.abort_handle()))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

type Listening = (Session<'static>, UnboundedReceiver<AsyncMessage>);

async fn listen(dial: &Dial) -> Result<Listening, Fault> {
    let (messages, heard) = mpsc::unbounded_channel();
    let session = dial.connect(Some(messages)).await?;
    // A notification has nothing that must survive a crash.
    session.batch(&format!("SET synchronous_commit TO off; LISTEN {}", channel(&session))).await?;
    Ok((session, heard))
}

/// Hears and tells until the connection is lost.
async fn pass_on(
    session: &Session<'_>,
    mut heard: UnboundedReceiver<AsyncMessage>,
    wakeups: &Wakeups,
    notes: &Notes,
) {
    let channel = channel(session);
    loop {
        tokio::select! {
            message = heard.recv() => match message {
                Some(AsyncMessage::Notification(note)) => notes.heard(note.payload(), wakeups),
                Some(_) => {}
                None => return,
            },
            () = notes.any() => {
                sleep(COLLECT).await;
                for message in notes.take() {
                    let sent = session.query("SELECT pg_notify($1, $2)", &[&channel, &message]).await;
                    if sent.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// The channel of the store. Channels are those of a database, which may have several stores.
fn channel(session: &Session<'_>) -> String {
    format!("ff_{}", session.schema())
}
