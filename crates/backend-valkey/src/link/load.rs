//! Loads the library on a node.

use std::sync::Arc;

use redis::{Cmd, Value};
use tokio::time::Instant;

use super::node::Node;
use crate::error::{Fault, Kind};
use crate::library::Library;

/// Makes sure that the node has exactly this library. A user who may not load functions is served
/// all the same where another user has loaded them.
pub(crate) async fn load(node: &Arc<Node>, library: &Library, by: Instant) -> Result<(), Fault> {
    match find(node, library, by).await {
        Ok(Found::Same) => return Ok(()),
        Ok(Found::Other) => {
            let text = format!("the library {} on the server is not ours", library.name());
            return Err(Fault::new(Kind::Other, text).at(node.address()));
        }
        Ok(Found::None) => {}
        // A user who may not list libraries may still be allowed to load.
        Err(fault) if fault.is_denied() => {}
        Err(fault) => return Err(fault),
    }
    let mut command = Cmd::new();
    command.arg("FUNCTION").arg("LOAD").arg(library.source());
    match node.send(&command, by).await {
        Ok(_) => {
            tracing::info!(node = %node.address(), library = library.name(), "library loaded");
            Ok(())
        }
        // Another process was quicker.
        Err(fault) if fault.kind == Kind::AlreadyLoaded => Ok(()),
        Err(mut fault) if fault.is_denied() => {
            fault.text += "; let the user run FUNCTION LOAD, or load the library as another user";
            Err(fault)
        }
        Err(fault) => Err(fault),
    }
}

enum Found {
    None,
    Same,
    Other,
}

async fn find(node: &Arc<Node>, library: &Library, by: Instant) -> Result<Found, Fault> {
    let mut command = Cmd::new();
    command.arg("FUNCTION").arg("LIST").arg("LIBRARYNAME").arg(library.name()).arg("WITHCODE");
    let Value::Array(libraries) = node.send(&command, by).await? else {
        return Ok(Found::None);
    };
    let Some(Value::Array(fields)) = libraries.first() else {
        return Ok(Found::None);
    };
    let code = fields.chunks(2).find_map(|pair| match pair {
        [Value::BulkString(name), Value::BulkString(code)] if name == b"library_code" => Some(code),
        _ => None,
    });
    match code {
        Some(code) if code == library.source().as_bytes() => Ok(Found::Same),
        _ => Ok(Found::Other),
    }
}
