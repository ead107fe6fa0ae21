//! Failures of SQLite, and the errors that callers get.

use ff_store::StoreError;
use ff_store::codec::Unreadable;
use rusqlite::ErrorCode;

/// A failure inside this crate.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite failed.
    Sql(rusqlite::Error),
    /// SQLite returned something else than what was stored.
    Unreadable(String),
}

impl Fault {
    /// Whether only the row that was read is bad, and the transaction is not.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self, Fault::Unreadable(_))
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        use rusqlite::Error as E;
        match error {
            E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::Utf8Error(..)
            | E::InvalidColumnType(..) => Fault::Unreadable(error.to_string()),
            error => Fault::Sql(error),
        }
    }
}

impl From<rusqlite::types::FromSqlError> for Fault {
    fn from(error: rusqlite::types::FromSqlError) -> Fault {
        Fault::Unreadable(error.to_string())
    }
}

impl From<Unreadable> for Fault {
    fn from(unreadable: Unreadable) -> Fault {
        Fault::Unreadable(unreadable.0)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> StoreError {
        let error = match fault {
            Fault::Unreadable(what) => return StoreError::Corrupt(what),
            Fault::Sql(error) => error,
        };
        let what = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Busy("another process is writing".into())
            }
            Some(
                ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch,
            ) => StoreError::Corrupt(what),
            Some(ErrorCode::DiskFull) => StoreError::Full(what),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::Denied(format!(
                "{what}; let this process write the file and its folder"
            )),
            _ => StoreError::Unavailable(what),
        }
    }
}
