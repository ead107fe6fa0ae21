//! The URLs of stores.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use ff_core::Refusal;

/// A store, as its URL names it.
#[derive(Debug, Clone)]
pub enum StoreUrl {
    /// Plain maps in the memory of this process.
    Memory,
    /// SQLite in the memory of this process.
    SqliteMemory,
    /// A SQLite file.
    Sqlite(PathBuf),
    /// A Valkey server or cluster.
    #[cfg(feature = "valkey")]
    Valkey(Box<ff_backend_valkey::Options>),
    /// A schema of a Postgres database.
    #[cfg(feature = "postgres")]
    Postgres(Box<ff_backend_postgres::Options>),
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
            #[cfg(feature = "valkey")]
            Some((scheme, _)) if is_valkey(scheme) => Ok(StoreUrl::Valkey(Box::new(url.parse()?))),
            #[cfg(not(feature = "valkey"))]
            Some((scheme, _)) if is_valkey(scheme) => Err(left_out("valkey")),
            #[cfg(feature = "postgres")]
            Some(("postgres" | "postgresql", _)) => Ok(StoreUrl::Postgres(Box::new(url.parse()?))),
            #[cfg(not(feature = "postgres"))]
            Some(("postgres" | "postgresql", _)) => Err(left_out("postgres")),
            Some((scheme, _)) if scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') => {
                Err(bad(&format!("has the unknown scheme {scheme:?}")))
            }
            _ => Err(bad("has no scheme")),
        }
    }
}

/// As a URL, without a password.
impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreUrl::Memory => f.write_str("memory:"),
            StoreUrl::SqliteMemory => f.write_str("sqlite::memory:"),
            StoreUrl::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            #[cfg(feature = "valkey")]
            StoreUrl::Valkey(options) => options.fmt(f),
            #[cfg(feature = "postgres")]
            StoreUrl::Postgres(options) => options.fmt(f),
        }
    }
}

/// Whether a URL of this scheme is parsed by the Valkey backend, if only to refuse it.
fn is_valkey(scheme: &str) -> bool {
    ["valkey", "redis"].iter().any(|name| scheme.starts_with(name)) || scheme == "unix"
}

/// The refusal of a URL whose backend is not compiled into this program.
#[cfg(not(all(feature = "postgres", feature = "sqlite", feature = "valkey")))]
pub(crate) fn left_out(feature: &str) -> Refusal {
    let why = format!("needs the feature `{feature}`, which this program was built without");
    Refusal::invalid("store", why)
}

fn bad(what: &str) -> Refusal {
    Refusal::invalid(
        "store",
        format!(
            "{what}; give sqlite:PATH, for example sqlite:work.ff, valkey://HOST:PORT or \
             postgres://HOST/DATABASE"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_understood() {
        for (url, shown) in [
            ("memory:", "memory:"),
            ("sqlite::memory:", "sqlite::memory:"),
            ("sqlite:work.ff", "sqlite:work.ff"),
            ("sqlite:./a b/c", "sqlite:./a b/c"),
            ("sqlite:/tmp/x", "sqlite:/tmp/x"),
            ("sqlite:///tmp/x", "sqlite:/tmp/x"),
        ] {
            assert_eq!(url.parse::<StoreUrl>().unwrap().to_string(), shown, "{url}");
        }
    }

    #[cfg(feature = "valkey")]
    #[test]
    fn every_form_of_a_valkey_server_is_understood() {
        for (url, shown) in [
            ("valkey://localhost", "valkey://localhost:6379"),
            ("redis://localhost:7000/2", "valkey://localhost:7000/2"),
            ("valkeys-cluster://a,b:7000", "valkeys-cluster://a:6379,b:7000"),
        ] {
            assert_eq!(url.parse::<StoreUrl>().unwrap().to_string(), shown, "{url}");
        }
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn every_form_of_a_postgres_database_is_understood_without_its_password() {
        for (url, shown) in [
            ("postgres://localhost/app", "postgres://localhost:5432/app"),
            ("postgresql://me:hunter2@db:1/app?schema=work", "postgres://me@db:1/app?schema=work"),
        ] {
            let url: StoreUrl = url.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains("hunter2"));
        }
    }

    #[cfg(not(feature = "valkey"))]
    #[test]
    fn a_backend_that_was_left_out_is_refused_with_its_feature() {
        let refusal = "valkey://localhost".parse::<StoreUrl>().unwrap_err();
        assert!(refusal.to_string().contains("the feature `valkey`"), "{refusal}");
    }

    #[cfg(feature = "valkey")]
    #[test]
    fn a_password_is_not_shown() {
        let url: StoreUrl = "valkey://user:hunter2@localhost".parse().unwrap();
        assert!(!format!("{url} {url:?}").contains("hunter2"));
    }

    #[test]
    fn anything_else_is_refused_with_an_example() {
        for url in ["", "work.ff", "sqlite:", "mysql://x", "/tmp/x", "://", "memory:x"] {
            let refusal = url.parse::<StoreUrl>().unwrap_err();
            assert!(refusal.to_string().contains("sqlite:PATH"), "{url}: {refusal}");
        }
    }

    #[cfg(feature = "valkey")]
    #[test]
    fn a_wrong_valkey_url_is_refused_with_an_example() {
        for url in ["valkey:", "valkey://", "redis+unix:///tmp/x", "valkey://h:0"] {
            let refusal = url.parse::<StoreUrl>().unwrap_err();
            assert!(refusal.to_string().contains("valkey://"), "{url}: {refusal}");
        }
    }
}
