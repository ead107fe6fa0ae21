//! Work that other programs have submitted by SQL, in transactions of their own: it becomes executions.
//!
//! A submission is removed in the transaction that makes its execution, so it is neither lost nor made twice.
//! Several processes share the work. One that is refused stays, with the reason.

use std::sync::Arc;
use std::time::Duration;

use ff_core::machine::{Command, Reply, Submit};
use ff_core::{
    ExecutionId, IdempotencyKey, Kind, Lane, Millis, Namespace, Payload, Refusal, TagKey, TagValue,
    When,
};
use ff_store::{StoreError, mint};
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::clock::StoreClock;
use crate::connection::{Line, Session};
use crate::error::Fault;
use crate::group::{Answer, Failure, decide, finish, first_wants};
use crate::writer::Effects;
use crate::{load, query};

/// How often it is looked for submissions.
const EVERY: Duration = Duration::from_millis(500);
/// How many become executions in one transaction.
const PAGE: usize = 100;

const ANY: &str = "SELECT count(*) FROM (
     SELECT 1 FROM submission WHERE refused IS NULL ORDER BY id LIMIT 1) AS one";

const NEXT: &str = "SELECT id, namespace, key, kind, input::text, options ->> 'lane',
     (options ->> 'priority')::numeric::integer, (options ->> 'delay_ms')::numeric::bigint,
     ARRAY(SELECT t.key FROM jsonb_each_text(coalesce(options -> 'tags', '{}')) AS t ORDER BY t.key),
     ARRAY(SELECT t.value FROM jsonb_each_text(coalesce(options -> 'tags', '{}')) AS t ORDER BY t.key)
 FROM submission WHERE refused IS NULL ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED";

const REMOVE: &str = "DELETE FROM submission WHERE id = ANY($1)";

const REFUSE: &str = "UPDATE submission s SET refused = n.why
 FROM unnest($1::uuid[], $2::text[]) AS n(id, why) WHERE s.id = n.id";

/// The task that does it. It ends when this is dropped.
pub(crate) struct Inbox(AbortHandle);

impl Inbox {
    /// Starts it.
    pub(crate) fn start(mut line: Line, clock: Arc<StoreClock>, effects: Effects) -> Inbox {
        let working = tokio::spawn(async move {
            loop {
                sleep(EVERY).await;
                loop {
                    match take(&mut line, &clock, &effects).await {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(failure) => {
                            let why = failure.into_error();
                            tracing::debug!(%why, "submissions wait");
                            // An open transaction goes with its connection.
                            line.drop_session();
                            break;
                        }
                    }
                }
            }
        });
        Inbox(working.abort_handle())
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Makes executions of the first submissions. Answers whether there may be more.
async fn take(line: &mut Line, clock: &StoreClock, effects: &Effects) -> Result<bool, Failure> {
    let session = line.session().await?;
    if session.number(ANY, &[]).await? == 0 {
        return Ok(false);
    }
    session.batch("BEGIN").await?;
    let rows = session.query(NEXT, &[&(PAGE as i64)]).await?;
    let mut ended = Ended::default();
    let mut batch = Vec::with_capacity(rows.len());
    for row in &rows {
        let id: Uuid = row.try_get(0).map_err(Fault::from)?;
        match submit(row) {
            Ok(submit) => batch.push(mint::command(submit)),
            Err(why) => ended.refuse(id, why.to_string()),
        }
    }
    let calls: Vec<&[Command]> = batch.chunks(1).collect();
    let mut view = load::join(session, clock, first_wants(&calls)).await?;
    let mut decided = decide(session, &mut view, &calls).await?;
    for (call, answers) in calls.iter().zip(decided.answers.drain(..)) {
        if let Some((command, answer)) = call.first().zip(answers.into_iter().next()) {
            ended.answered(command, answer);
        }
    }
    ended.write(session).await?;
    let armed = finish(session, view, true).await?;
    decided.after.adds(armed);
    effects.publish(decided.after);
    Ok(rows.len() == PAGE)
}

/// What became of submissions.
#[derive(Default)]
struct Ended {
    done: Vec<Uuid>,
    refused: (Vec<Uuid>, Vec<String>),
}

impl Ended {
    fn answered(&mut self, command: &Command, answer: Answer) {
        let ff_core::machine::Action::Submit(submit) = &command.action else { return };
        let id = query::uuid(submit.id);
        match answer {
            Ok(Reply::Submitted(submitted)) if submitted.execution == submit.id => {
                self.done.push(id);
            }
            Ok(Reply::Submitted(submitted)) => {
                let other = submitted.execution;
                self.refuse(
                    id,
                    format!("its key names execution {other}, which has the same body"),
                );
            }
            Err(error) if error.refused().is_some() => self.refuse(id, error.to_string()),
            // It is tried again.
            Ok(_) | Err(_) => {}
        }
    }

    fn refuse(&mut self, id: Uuid, why: String) {
        tracing::warn!(submission = %id, why, "a submission is refused");
        self.refused.0.push(id);
        self.refused.1.push(why);
    }

    async fn write(&self, session: &Session<'_>) -> Result<(), Fault> {
        let (refused, why) = &self.refused;
        session.query(REMOVE, &[&self.done]).await?;
        if !refused.is_empty() {
            session.query(REFUSE, &[refused, why]).await?;
        }
        Ok(())
    }
}

/// The submission in a row of [`NEXT`].
fn submit(row: &Row) -> Result<Submit, StoreError> {
    let text = |column: usize| row.try_get::<_, &str>(column).map_err(Fault::from);
    let id = row.try_get::<_, Uuid>(0).map_err(Fault::from)?;
    let id = ExecutionId::try_from(id)?;
    let optional = |column: usize| row.try_get::<_, Option<&str>>(column).map_err(Fault::from);
    let (keys, values): (Vec<&str>, Vec<&str>) =
        (row.try_get(8).map_err(Fault::from)?, row.try_get(9).map_err(Fault::from)?);
    let tag = |(key, value)| Ok((TagKey::new(key)?, TagValue::new(value)?));
    let priority = row.try_get::<_, Option<i32>>(6).map_err(Fault::from)?.unwrap_or_default();
    let delay = row.try_get::<_, Option<i64>>(7).map_err(Fault::from)?;
    let not_a_priority = |_| Refusal::invalid("priority", "is no number from -9000 to 9000");
    Ok(Submit {
        namespace: Namespace::new(text(1)?)?,
        key: optional(2)?.map(IdempotencyKey::new).transpose()?,
        kind: Kind::new(text(3)?)?,
        input: optional(4)?.map_or_else(Payload::default, |json| Payload::json(json.to_owned())),
        lane: optional(5)?.map(Lane::new).transpose()?.unwrap_or_default(),
        priority: i16::try_from(priority).map_err(not_a_priority)?,
        start: delay.map_or(When::Now, |ms| When::After(Millis::new(ms.unsigned_abs()))),
        tags: keys.into_iter().zip(values).map(tag).collect::<Result<_, Refusal>>()?,
        ..Submit::new(id)
    })
}
