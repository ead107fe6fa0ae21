//! What was stopped while a worker held it.

use ff_core::{ExecutionId, Refusal};
use ff_store::stops::StopNews;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::schema;

/// Which executions a worker should look at: send a heartbeat for what it holds of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StopsView {
    /// Where the next call continues.
    pub cursor: String,
    /// Look at everything that the worker holds: what was stopped since the cursor is not known here.
    pub all: bool,
    /// Executions that were cancelled, revoked or have expired; empty with `all`.
    #[schema(value_type = Vec<schema::Id>)]
    pub executions: Vec<ExecutionId>,
}

impl From<&StopNews> for StopsView {
    fn from(news: &StopNews) -> StopsView {
        StopsView {
            cursor: news.cursor.to_string(),
            all: news.stopped.is_none(),
            executions: news.stopped.clone().unwrap_or_default(),
        }
    }
}

impl StopsView {
    /// What the server has said.
    pub fn news(self) -> Result<StopNews, Refusal> {
        let stopped = (!self.all).then_some(self.executions);
        Ok(StopNews { cursor: self.cursor.parse()?, stopped })
    }
}
