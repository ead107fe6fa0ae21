//! The exam that every backend sits.
