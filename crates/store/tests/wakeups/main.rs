//! Wake-ups inside one process.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod ends;
mod work;
