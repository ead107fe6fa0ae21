//! The servers of a store, on connections beside those of its [`Link`](super::Link): for measuring
//! them.

use std::sync::Arc;

use ff_store::StoreError;
use tokio::time::Instant;

use super::cluster::Cluster;
use super::dial::{Address, Dial};
use super::{Node, Nodes, slot};
use crate::options::{Options, Topology};

/// The servers of a store.
pub(crate) struct Servers {
    nodes: Nodes,
    dial: Arc<Dial>,
}

impl Servers {
    /// Finds them.
    pub(crate) async fn connect(options: &Options) -> Result<Servers, StoreError> {
        let dial = Arc::new(Dial::new(options)?);
        let addresses = options.nodes.iter();
        let mut addresses =
            addresses.map(|(host, port)| Address { host: host.clone(), port: *port });
        let nodes = match options.topology {
            Topology::Standalone => {
                let no_host = || StoreError::Incompatible("the options name no host".into());
                Nodes::Single(Node::new(addresses.next().ok_or_else(no_host)?, Arc::clone(&dial)))
            }
            Topology::Cluster => {
                let by = Instant::now() + options.connect_timeout;
                Nodes::Cluster(Cluster::connect(addresses.collect(), Arc::clone(&dial), by).await?)
            }
        };
        Ok(Servers { nodes, dial })
    }

    /// Those that take writes.
    pub(crate) fn primaries(&self) -> Vec<Arc<Node>> {
        self.nodes.primaries()
    }

    /// The one that serves `key`.
    pub(crate) fn owner(&self, key: &str) -> Result<Arc<Node>, StoreError> {
        Ok(self.nodes.owner(slot::of(key.as_bytes()))?)
    }

    /// The one that serves `key`, on a connection that nobody else uses.
    pub(crate) fn owner_alone(&self, key: &str) -> Result<Arc<Node>, StoreError> {
        let node = self.owner(key)?;
        Ok(Node::new(node.address().clone(), Arc::clone(&self.dial)))
    }
}
