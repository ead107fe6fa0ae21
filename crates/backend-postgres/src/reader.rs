//! Connections that only read, concurrently with the writers and with each other.

use std::sync::{Arc, Mutex, PoisonError};

use ff_store::StoreError;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::connection::{Dial, Session};
use crate::error::Fault;

/// A few connections, each used by one read at a time, made when they are needed.
pub(crate) struct Readers {
    dial: Arc<Dial>,
    idle: Mutex<Vec<Arc<Session<'static>>>>,
    places: Semaphore,
}

/// Runs a read on a connection of its own. One that finds the connection lost is run once more.
macro_rules! read {
    ($readers:expr, $session:ident => $read:expr) => {{
        let mut is_last = false;
        loop {
            let borrowed = $readers.borrow().await?;
            let $session = borrowed.session();
            match $read.await {
                Ok(found) => {
                    borrowed.succeeded();
                    break Ok(found);
                }
                Err(fault) => {
                    if !borrowed.failed(&fault) || is_last {
                        break Err(StoreError::from(fault));
                    }
                    is_last = true;
                }
            }
        }
    }};
}
pub(crate) use read;

/// A connection that is returned when its read has ended well.
pub(crate) struct Borrowed<'a> {
    session: Arc<Session<'static>>,
    readers: &'a Readers,
    /// The read has ended and left nothing behind.
    is_sound: bool,
    // Dropped last: the next reader must find the connection.
    _place: SemaphorePermit<'a>,
}

impl Readers {
    pub(crate) fn new(dial: Arc<Dial>) -> Readers {
        let places = Semaphore::new(dial.options().readers);
        Readers { dial, idle: Mutex::default(), places }
    }

    /// A connection that no one else uses meanwhile.
    pub(crate) async fn borrow(&self) -> Result<Borrowed<'_>, StoreError> {
        let closed = |_| StoreError::Unavailable("the store is closed".into());
        let place = self.places.acquire().await.map_err(closed)?;
        let idle = self.lock().pop().filter(|session| !session.is_closed());
        let session = match idle {
            Some(session) => session,
            None => Arc::new(self.dial.connect(None).await?),
        };
        Ok(Borrowed { session, readers: self, is_sound: false, _place: place })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Session<'static>>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Borrowed<'_> {
    /// The connection.
    pub(crate) fn session(&self) -> &Session<'static> {
        &self.session
    }

    /// The read has ended well.
    pub(crate) fn succeeded(mut self) {
        self.is_sound = true;
    }

    /// The read has failed. Answers whether it is worth another try: its connection was lost, and with it
    /// those that are idle.
    pub(crate) fn failed(self, fault: &Fault) -> bool {
        let was_lost = fault.is_lost();
        if was_lost {
            self.readers.lock().clear();
        }
        was_lost
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        // One that failed, or was given up, may have left a transaction open.
        if self.is_sound {
            self.readers.lock().push(self.session.clone());
        }
    }
}
