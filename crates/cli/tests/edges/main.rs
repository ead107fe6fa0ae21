//! The built program where it and its store fail: the harnesses of `ff-edges`, processes that are
//! killed, and holders that are stopped, in a form short enough for every run. `cargo xtask edges` and
//! `cargo xtask kill` run them for longer.

// A test that cannot continue panics.
#![allow(clippy::unwrap_used)]

#[path = "../fixture/mod.rs"]
mod fixture;
mod kill;
mod stale_holder;

use ff_edges::Place;

/// One test per store.
macro_rules! edges {
    ($($name:ident: $harness:path;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn sqlite() {
                $harness(Place::sqlite(env!("CARGO_BIN_EXE_ff")));
            }

            #[test]
            fn valkey() {
                $harness(Place::valkey(env!("CARGO_BIN_EXE_ff")));
            }
        })+
    };
}

edges! {
    edge_damage: ff_edges::damage;
    edge_disconnect: ff_edges::disconnect;
    edge_limits: ff_edges::limits;
    edge_overload: ff_edges::overload;
    edge_restart: ff_edges::restart;
    edge_restart_frozen: ff_edges::frozen;
}
