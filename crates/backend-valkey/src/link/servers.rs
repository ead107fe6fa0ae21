//! The servers of a store, on connections separate from those of its [`Link`](super::Link): for
//! measurements.

use std::sync::Arc;

use ff_store::StoreError;

use super::dial::Dial;
use super::{Node, Nodes, slot};
use crate::options::Options;

/// The servers of a store.
pub(crate) struct Servers {
    nodes: Nodes,
    dial: Arc<Dial>,
}

impl Servers {
    /// Finds them.
    pub(crate) async fn connect(options: &Options) -> Result<Servers, StoreError> {
        let dial = Arc::new(Dial::new(options)?);
        let nodes = Nodes::connect(options, &dial).await?;
        Ok(Servers { nodes, dial })
    }

    /// Those that accept writes.
    pub(crate) fn primaries(&self) -> Vec<Arc<Node>> {
        self.nodes.primaries()
    }

    /// The one that serves `key`.
    pub(crate) fn owner(&self, key: &str) -> Result<Arc<Node>, StoreError> {
        Ok(self.nodes.owner(slot::of(key.as_bytes()))?)
    }

    /// The one that serves `key`, on a dedicated connection.
    pub(crate) fn owner_alone(&self, key: &str) -> Result<Arc<Node>, StoreError> {
        let node = self.owner(key)?;
        Ok(Node::new(node.address().clone(), Arc::clone(&self.dial)))
    }
}
