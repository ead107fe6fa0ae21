//! Hints that a namespace has new events, inside one process. Losing every hint costs up to a second.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use ff_core::Namespace;
use tokio::sync::{Notify, mpsc};

use crate::lock::lock;

/// How many namespaces may be on their way to a store that listens for them.
const ARRIVALS: usize = 256;

/// The namespaces that a reader of this process follows.
#[derive(Debug, Default)]
pub struct EventHints {
    readers: Mutex<HashMap<Namespace, Arc<Notify>>>,
    /// How many there are, so that a hint that nobody needs pays for no lock.
    count: AtomicUsize,
    /// Where a store that has to listen to other processes learns that there is a reader.
    listener: OnceLock<mpsc::Sender<()>>,
}

impl EventHints {
    /// A reader begins to follow `namespace`.
    pub(crate) fn follow(&self, namespace: &Namespace) -> Arc<Notify> {
        let hint = Arc::<Notify>::default();
        let mut readers = lock(&self.readers);
        readers.insert(namespace.clone(), hint.clone());
        self.count.store(readers.len(), Ordering::SeqCst);
        drop(readers);
        if let Some(listener) = self.listener.get() {
            // One that is full learns of readers anyway.
            let _ = listener.try_send(());
        }
        hint
    }

    /// The reader with this hint stops.
    pub(crate) fn leave(&self, namespace: &Namespace, hint: &Arc<Notify>) {
        let mut readers = lock(&self.readers);
        if readers.get(namespace).is_some_and(|known| Arc::ptr_eq(known, hint)) {
            readers.remove(namespace);
            self.count.store(readers.len(), Ordering::SeqCst);
        }
    }

    /// `namespace` has new events.
    pub fn hint(&self, namespace: &str) {
        if self.is_followed()
            && let Some(hint) = lock(&self.readers).get(namespace)
        {
            hint.notify_one();
        }
    }

    /// Any namespace may have new events.
    pub fn hint_all(&self) {
        if self.is_followed() {
            lock(&self.readers).values().for_each(|hint| hint.notify_one());
        }
    }

    /// Whether any namespace is followed.
    pub fn is_followed(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// Tells a store that listens to other processes that a reader has come. There is one such
    /// listener.
    pub fn arrivals(&self) -> mpsc::Receiver<()> {
        let (listener, arrivals) = mpsc::channel(ARRIVALS);
        let _ = self.listener.set(listener);
        arrivals
    }
}
