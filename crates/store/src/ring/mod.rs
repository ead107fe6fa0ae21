//! Signed tokens, and the keys that sign them.
//!
//! A token names an execution, a waitpoint and whom it was made for, and proves by its signature that a
//! holder of a key said so: it is verified before anything is looked up, and it is stored nowhere,
//! because the same claims under the same key give the same token. Secrets come from a file or from
//! the operating system's randomness, never from a store; what holds one prints `redacted`.

mod body;
mod file;
mod key;
pub(crate) mod signer;
mod token;

pub use file::{FileError, KeyFile};
pub use key::{Key, KeyError, Keys};
pub use token::{Claims, Purpose, SignedToken, TOKEN_BYTES};
