//! The URLs of stores.

use std::path::PathBuf;
use std::str::FromStr;

use ff_core::Refusal;

/// A store, as its URL names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// Plain maps in the memory of this process.
    Memory,
    /// SQLite in the memory of this process.
    SqliteMemory,
    /// A SQLite file.
    Sqlite(PathBuf),
}

impl FromStr for StoreUrl {
    type Err = Refusal;

    fn from_str(url: &str) -> Result<StoreUrl, Refusal> {
        match url.split_once(':') {
            Some(("memory", "")) => Ok(StoreUrl::Memory),
            Some(("sqlite", ":memory:")) => Ok(StoreUrl::SqliteMemory),
            Some(("sqlite", "")) => Err(bad("names no file")),
            // Both `sqlite:/a/b` and `sqlite:///a/b` are the file /a/b.
            Some(("sqlite", path)) => {
                Ok(StoreUrl::Sqlite(path.strip_prefix("//").unwrap_or(path).into()))
            }
            Some((scheme, _)) if scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') => {
                Err(bad(&format!("has the unknown scheme {scheme:?}")))
            }
            _ => Err(bad("has no scheme")),
        }
    }
}

fn bad(what: &str) -> Refusal {
    Refusal::invalid("store", format!("{what}; give sqlite:PATH, for example sqlite:work.ff"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_understood() {
        let file = |path: &str| StoreUrl::Sqlite(path.into());
        for (url, store) in [
            ("memory:", StoreUrl::Memory),
            ("sqlite::memory:", StoreUrl::SqliteMemory),
            ("sqlite:work.ff", file("work.ff")),
            ("sqlite:./a b/c", file("./a b/c")),
            ("sqlite:/tmp/x", file("/tmp/x")),
            ("sqlite:///tmp/x", file("/tmp/x")),
        ] {
            assert_eq!(url.parse(), Ok(store), "{url}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_an_example() {
        for url in ["", "work.ff", "sqlite:", "mysql://x", "/tmp/x", "://", "memory:x"] {
            let refusal = url.parse::<StoreUrl>().unwrap_err();
            assert!(refusal.to_string().contains("sqlite:PATH"), "{url}: {refusal}");
        }
    }
}
