//! The embedded default store.
