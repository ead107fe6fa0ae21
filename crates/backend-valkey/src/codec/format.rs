//! The stored format as Rust, generated from `build/format.rs`: each layout as a structure of its
//! fields, which packs and unpacks them in their order and width, and the numbers of states and flags.
#![allow(dead_code, reason = "arguments are only packed here, and some numbers only Lua reads")]

use super::bytes::{Packer, Short, Unpacker};

include!(concat!(env!("OUT_DIR"), "/format.rs"));
