//! Failures of Postgres, and the errors that callers get.

use ff_store::StoreError;
use ff_store::codec::Unreadable;
use tokio_postgres::error::SqlState;

/// A failure inside this crate.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Postgres failed, or its connection.
    Sql(tokio_postgres::Error),
    /// Postgres returned something else than what was stored.
    Unreadable(String),
    /// What callers get already.
    Store(StoreError),
}

impl Fault {
    /// Whether the same transaction, run again, may succeed: others were in its way, or it was too slow.
    pub(crate) fn is_conflict(&self) -> bool {
        let conflicts = [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::UNIQUE_VIOLATION,
        ];
        self.state().is_some_and(|state| conflicts.contains(state))
    }

    /// Whether the connection is of no use any more.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Fault::Sql(error) => {
                error.is_closed() || error.as_db_error().is_none() || self.is_ended()
            }
            Fault::Unreadable(_) | Fault::Store(_) => false,
        }
    }

    /// Whether the server ends, or has become one that cannot be written to.
    fn is_ended(&self) -> bool {
        let class = self.state().map(SqlState::code).unwrap_or_default();
        let ends =
            [SqlState::READ_ONLY_SQL_TRANSACTION, SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT];
        class.starts_with("57P") || self.state().is_some_and(|state| ends.contains(state))
    }

    fn state(&self) -> Option<&SqlState> {
        match self {
            Fault::Sql(error) => error.code(),
            Fault::Unreadable(_) | Fault::Store(_) => None,
        }
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Fault {
        // The library tells a value of another type, or none where there must be one, by its words alone.
        let what = error.to_string();
        match what.starts_with("error deserializing column") {
            true => Fault::Unreadable(what),
            false => Fault::Sql(error),
        }
    }
}

impl From<Unreadable> for Fault {
    fn from(unreadable: Unreadable) -> Fault {
        Fault::Unreadable(unreadable.0)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::Store(error)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> StoreError {
        let error = match fault {
            Fault::Unreadable(what) => return StoreError::Corrupt(what),
            Fault::Store(error) => return error,
            Fault::Sql(error) => error,
        };
        let Some(state) = error.code() else {
            return StoreError::Unavailable(described(&error));
        };
        let what = described(&error);
        let is = |states: &[SqlState]| states.contains(state);
        match state.code().get(..2).unwrap_or_default() {
            _ if is(&[SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED]) => {
                StoreError::Contention
            }
            _ if is(&[SqlState::LOCK_NOT_AVAILABLE, SqlState::TOO_MANY_CONNECTIONS]) => {
                StoreError::Busy(what)
            }
            _ if is(&[SqlState::DISK_FULL]) => StoreError::Full(what),
            _ if is(&[SqlState::INSUFFICIENT_PRIVILEGE]) => StoreError::Denied(what),
            _ if is(&[SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_FUNCTION]) => {
                StoreError::Incompatible(format!("{what}; run `ff migrate`"))
            }
            // A prepared statement is not where it was made.
            "26" | "42"
                if is(&[SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT]) =>
            {
                StoreError::Incompatible(format!(
                    "{what}; a pooler in between must be in session mode, not in transaction mode"
                ))
            }
            "28" => StoreError::Denied(what),
            "3D" => StoreError::Incompatible(what),
            "22" | "23" | "XX" => StoreError::Corrupt(what),
            _ => StoreError::Unavailable(what),
        }
    }
}

/// What the server said, or what failed on the way to it.
fn described(error: &tokio_postgres::Error) -> String {
    use std::error::Error;
    match (error.as_db_error(), error.source()) {
        (Some(said), _) => said.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
