//! Work that is submitted inside a caller's own transaction: it is there if and only if the caller commits.

use ff_core::machine::{Command, Reply, Submit, Submitted};
use ff_store::{StoreError, mint};
use tokio_postgres::Transaction;

use crate::clock::StoreClock;
use crate::connection::Session;
use crate::error::Fault;
use crate::group::{decide, first_wants};
use crate::load;
use crate::options::Schema;

/// Submits in `transaction`, of a database that has a store in `schema`. A refusal changes nothing; any other
/// error leaves the transaction to be rolled back.
///
/// Until the transaction ends, operators cannot change the settings of the lanes, and others that submit under
/// the same key wait for it. Workers learn of the work within a second of the commit.
pub async fn submit_in(
    transaction: &Transaction<'_>,
    schema: &Schema,
    submit: Submit,
) -> Result<Submitted, StoreError> {
    let session = Session::lent(schema.as_str(), transaction.client());
    let path = use_path(&session, schema.as_str()).await?;
    let answer = run(&session, mint::command(submit)).await;
    if !matches!(answer, Err(Fault::Sql(_))) {
        use_path(&session, &path).await?;
    }
    match answer?? {
        Reply::Submitted(submitted) => Ok(submitted),
        _ => Err(StoreError::Corrupt("a submit was answered by something else".into())),
    }
}

/// Sets the path of names until the transaction ends, and answers what it was.
async fn use_path(session: &Session<'_>, path: &str) -> Result<String, Fault> {
    let sql = "WITH before AS MATERIALIZED (SELECT current_setting('search_path') AS path)
         SELECT before.path, set_config('search_path', $1, true) FROM before";
    let row = session.first(sql, &[&path]).await?;
    let row = row.ok_or_else(|| Fault::Unreadable("the path of names is silent".into()))?;
    Ok(row.try_get(0)?)
}

async fn run(session: &Session<'_>, command: Command) -> Result<Result<Reply, StoreError>, Fault> {
    let batch = [command];
    let calls = [&batch[..]];
    let mut view = load::join(session, &StoreClock::default(), first_wants(&calls)).await?;
    let mut decided = decide(session, &mut view, &calls).await?;
    view.pending.flush(session, &[]).await?;
    let answer = decided.answers.pop().and_then(|mut answers| answers.pop());
    Ok(answer.unwrap_or(Err(StoreError::Contention)))
}
