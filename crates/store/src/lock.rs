//! Locks whose holders do not panic half-way.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`; what a panicking holder left is whole, because no holder leaves a half.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
