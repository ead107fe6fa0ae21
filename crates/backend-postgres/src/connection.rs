//! One connection: how it is made and set up, and the statements it has prepared.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::AbortHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Row, Statement};

use crate::error::Fault;
use crate::options::Options;
use crate::tls::{self, Secure};

/// What a statement is given.
pub(crate) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// How long a transaction may wait for its process: a frozen one loses its locks.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(5);

/// Everything that a new connection needs to know.
pub(crate) struct Dial {
    options: Options,
    tls: Option<Secure>,
}

/// Receives notifications and other messages that answer nothing.
pub(crate) type Messages = UnboundedSender<AsyncMessage>;

impl Dial {
    pub(crate) fn new(options: &Options) -> Result<Dial, Fault> {
        Ok(Dial { options: options.clone(), tls: tls::connector(&options.tls)? })
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// A new connection whose tables are those of the store. It may be that the schema is missing.
    pub(crate) async fn connect(
        &self,
        messages: Option<Messages>,
    ) -> Result<Session<'static>, Fault> {
        let (server, schema) = (&self.options.server, self.options.schema.as_str());
        let session = match &self.tls {
            None => {
                let (client, connection) = server.connect(NoTls).await?;
                Session::over(schema, client, connection, messages)
            }
            Some(secure) => {
                let mut server = server.clone();
                server.ssl_mode(tokio_postgres::config::SslMode::Require);
                let (client, connection) = server.connect(secure.clone()).await?;
                Session::over(schema, client, connection, messages)
            }
        };
        session.batch(&self.settings()).await?;
        Ok(session)
    }

    /// The settings of every connection. All statements read by an index, however small a table is and
    /// whatever the server knows of it, so plans are made once and never depend on statistics.
    fn settings(&self) -> String {
        format!(
            "SET search_path TO {schema}, pg_catalog; SET lock_timeout TO {lock_ms};
             SET idle_in_transaction_session_timeout TO {idle_ms}; SET statement_timeout TO 0;
             SET default_transaction_isolation TO 'read committed';
             SET plan_cache_mode TO force_generic_plan; SET jit TO off;
             SET enable_seqscan TO off; SET enable_hashjoin TO off; SET enable_mergejoin TO off;
             SET client_min_messages TO warning",
            schema = self.options.schema.as_str(),
            lock_ms = self.options.busy_timeout.as_millis(),
            idle_ms = IDLE_IN_TRANSACTION.as_millis(),
        )
    }
}

/// A connection.
pub(crate) struct Session<'a> {
    schema: String,
    client: Handle<'a>,
    statements: Mutex<HashMap<&'static str, Statement>>,
}

/// Whose connection it is.
enum Handle<'a> {
    /// Ours, and the task that drives it. Dropping it closes the connection.
    Own(Box<Client>, AbortHandle),
    /// That of a caller, who has a transaction open.
    Lent(&'a Client),
}

impl Session<'static> {
    fn over<S, T>(
        schema: &str,
        client: Client,
        mut connection: Connection<S, T>,
        messages: Option<Messages>,
    ) -> Session<'static>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
        T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let driver = tokio::spawn(async move {
            let mut next = std::future::poll_fn(|context| connection.poll_message(context));
            while let Some(Ok(message)) = (&mut next).await {
                if let Some(messages) = &messages
                    && messages.send(message).is_err()
                {
                    return;
                }
            }
        });
        let client = Handle::Own(Box::new(client), driver.abort_handle());
        Session { schema: schema.to_owned(), client, statements: Mutex::default() }
    }
}

impl<'a> Session<'a> {
    /// The connection of a caller, whose schema must be set to `schema` meanwhile.
    pub(crate) fn lent(schema: &str, client: &'a Client) -> Session<'a> {
        let (schema, client) = (schema.to_owned(), Handle::Lent(client));
        Session { schema, client, statements: Mutex::default() }
    }

    fn client(&self) -> &Client {
        match &self.client {
            Handle::Own(client, _) => client,
            Handle::Lent(client) => client,
        }
    }

    /// The schema of the store's tables.
    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// Whether the connection has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.client().is_closed()
    }

    /// Runs text without parameters: several statements, or one that cannot be prepared.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Fault> {
        Ok(self.client().batch_execute(sql).await?)
    }

    /// Prepares statements, so that calls that are made together are sent in the order in which they
    /// were made.
    pub(crate) async fn prepare(&self, all: &[&'static str]) -> Result<(), Fault> {
        let missing: Vec<_> = all.iter().filter(|sql| self.prepared(sql).is_none()).collect();
        if !missing.is_empty() {
            try_join_all(missing.into_iter().map(|sql| self.statement(sql))).await?;
        }
        Ok(())
    }

    /// The rows that a statement answers.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Fault> {
        let statement = self.statement(sql).await?;
        Ok(self.client().query(&statement, parameters).await?)
    }

    /// The first row that a statement answers, if there is one.
    pub(crate) async fn first(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<Option<Row>, Fault> {
        Ok(self.query(sql, parameters).await?.into_iter().next())
    }

    /// The number in the one row of a statement.
    pub(crate) async fn number(
        &self,
        sql: &'static str,
        parameters: Parameters<'_>,
    ) -> Result<i64, Fault> {
        let row = self.first(sql, parameters).await?;
        let row = row.ok_or_else(|| Fault::Unreadable("a statement answered nothing".into()))?;
        Ok(row.try_get(0)?)
    }

    /// Runs statements that were [prepared](Self::prepare), all sent before the first is answered. The first
    /// error is the answer; the statements after it have failed too, if a transaction is open.
    pub(crate) async fn all(
        &self,
        statements: &[(&'static str, Vec<&(dyn ToSql + Sync)>)],
    ) -> Result<Vec<Vec<Row>>, Fault> {
        let running = statements.iter().map(|(sql, parameters)| self.query(sql, parameters));
        join_all(running).await.into_iter().collect()
    }

    /// The client itself, for portals; only our own has one.
    pub(crate) fn client_mut(&mut self) -> Option<&mut Client> {
        match &mut self.client {
            Handle::Own(client, _) => Some(client),
            Handle::Lent(_) => None,
        }
    }

    async fn statement(&self, sql: &'static str) -> Result<Statement, Fault> {
        if let Some(statement) = self.prepared(sql) {
            return Ok(statement);
        }
        let statement = self.client().prepare(sql).await?;
        self.lock().insert(sql, statement.clone());
        Ok(statement)
    }

    fn prepared(&self, sql: &str) -> Option<Statement> {
        self.lock().get(sql).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<&'static str, Statement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        if let Handle::Own(_, driver) = self {
            driver.abort();
        }
    }
}

/// A place for the one connection of a task, which is made again when it is lost.
pub(crate) struct Line {
    dial: Arc<Dial>,
    session: Option<Session<'static>>,
}

impl Line {
    pub(crate) fn new(dial: Arc<Dial>, session: Option<Session<'static>>) -> Line {
        Line { dial, session }
    }

    /// The connection; a new one if there is none.
    pub(crate) async fn session(&mut self) -> Result<&Session<'static>, Fault> {
        if self.session.as_ref().is_some_and(Session::is_closed) {
            self.session = None;
        }
        match &mut self.session {
            Some(session) => Ok(session),
            none => Ok(none.insert(self.dial.connect(None).await?)),
        }
    }

    /// Gives up the connection.
    pub(crate) fn drop_session(&mut self) {
        self.session = None;
    }
}
