//! Connections that only read, concurrently with the writer and with each other.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ff_store::StoreError;
use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connection;
use crate::error::Fault;

/// A few connections, each used by one read at a time. A read begins after it was called and sees
/// everything that was answered before that.
pub(crate) struct Readers {
    idle: Arc<Mutex<Vec<Connection>>>,
    places: Arc<Semaphore>,
}

impl Readers {
    /// Opens `count` connections to the file at `path`.
    pub(crate) fn open(
        path: &Path,
        busy_timeout: Duration,
        count: usize,
    ) -> Result<Readers, StoreError> {
        let open = |_| connection::reader(path, busy_timeout);
        let idle = (0..count).map(open).collect::<Result<Vec<_>, _>>()?;
        Ok(Readers { idle: Arc::new(Mutex::new(idle)), places: Arc::new(Semaphore::new(count)) })
    }

    /// Runs `read` off the callers' threads.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = self.places.clone().acquire_owned().await.map_err(|_| closed())?;
        let connection = lock(&self.idle).pop().ok_or_else(closed)?;
        let borrowed =
            Borrowed { connection: Some(connection), idle: self.idle.clone(), _place: place };
        let done = tokio::task::spawn_blocking(move || match &borrowed.connection {
            Some(connection) => read(connection).map_err(StoreError::from),
            None => Err(closed()),
        });
        done.await.map_err(|_| StoreError::Unavailable("a read was cut short".into()))?
    }
}

/// A connection that is returned when its read ends, however it ends.
struct Borrowed {
    connection: Option<Connection>,
    idle: Arc<Mutex<Vec<Connection>>>,
    // Dropped last: the next reader must find the connection.
    _place: OwnedSemaphorePermit,
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        lock(&self.idle).extend(self.connection.take());
    }
}

fn lock(idle: &Mutex<Vec<Connection>>) -> std::sync::MutexGuard<'_, Vec<Connection>> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}
