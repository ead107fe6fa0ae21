//! Tasks that are submitted inside a transaction of the program's own.
//!
//! ```no_run
//! # use flowfabric::prelude::*;
//! # type Done = Result<(), Box<dyn std::error::Error>>;
//! # async fn order(ff: FlowFabric, mut transaction: flowfabric::postgres::Transaction<'_>) -> Done {
//! transaction.execute("INSERT INTO orders VALUES (7)", &[]).await?;
//! let task = ff.task("mail", &7);
//! flowfabric::postgres::submit_in(&mut transaction, task).await?;
//! transaction.commit().await?;
//! # Ok(())
//! # }
//! ```

pub use ff_backends::postgres::{Schema, Transaction};

use crate::{Error, TaskBuilder, TaskHandle};

/// Submits `task` in `transaction`, of the database whose schema `flowfabric` has the store: it is there if
/// and only if the transaction commits. Workers get it within a second of that.
///
/// Keep the transaction short: until it ends, the settings of the task's lane cannot be changed.
pub async fn submit_in(
    transaction: &mut Transaction<'_>,
    task: TaskBuilder,
) -> Result<TaskHandle, Error> {
    submit_in_schema(transaction, &Schema::default(), task).await
}

/// The same for a store in another schema.
pub async fn submit_in_schema(
    transaction: &mut Transaction<'_>,
    schema: &Schema,
    task: TaskBuilder,
) -> Result<TaskHandle, Error> {
    let (flowfabric, submit) = task.checked()?;
    let submitted = ff_backends::postgres::submit_in(transaction, schema, submit).await?;
    Ok(TaskHandle::new(flowfabric, submitted.execution))
}
