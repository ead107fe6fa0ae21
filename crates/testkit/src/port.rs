//! Free loopback ports.
//!
//! They are below the range from which the system takes the ports of outgoing connections, so a
//! killed server's port is still free for its restart, and a client that tries a dead server
//! never connects to itself.

#![allow(clippy::expect_used, reason = "a test without a port fails")]

use std::{
    hash::{BuildHasher, RandomState},
    net::{Ipv4Addr, TcpListener},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

const FIRST: u64 = 10_000;
const COUNT: u64 = 20_000;

/// A port on which no process listens. One process never gets the same port twice; another
/// process can be quicker to take it, so the starter of a server checks that it is its own.
///
/// # Panics
///
/// When no port is free.
pub fn free() -> u16 {
    static NEXT: LazyLock<AtomicU64> =
        LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one("port") % COUNT));
    (0..COUNT)
        .filter_map(|_| {
            let port = FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
            u16::try_from(port).ok()
        })
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .expect("no loopback port is free")
}
