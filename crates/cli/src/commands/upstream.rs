//! `ff upstream`: a program reads the result of a node that its execution depends on.

use clap::Args;
use ff_core::NodeName;

use super::Verdict;
use crate::error::Error;
use crate::holder;
use crate::session::Session;

const INSIDE: &str = "\
For programs run by `ff worker --exec`, which passes the execution and the
server in the environment. FF_NODE is the name of the node that the program runs
for, FF_FLOW the id of its flow.

  ff upstream fetch | ./parse.sh";

/// `ff upstream`.
#[derive(Debug, Args)]
#[command(after_help = INSIDE)]
pub(crate) struct Upstream {
    /// The name of the node.
    node: NodeName,
}

impl Upstream {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let hold = holder::hold()?;
        let backend = session.open_as_holder(hold.fence.lease).await?;
        let result = backend.upstream(&hold.target, &self.node).await?;
        session.output.bytes(&result.bytes)?;
        Ok(Verdict::Good)
    }
}
