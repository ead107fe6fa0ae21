//! The worker's registration: people and the engine know that it is there.

use ff_sdk::Presence;
use ff_store::mint;
use ff_store::roles::Registering;

use super::Context;
use crate::error::Error;

/// Registers. A refusal is told at once; a server that is not there yet may come.
pub(super) async fn register(context: &Context) -> Result<Presence, Error> {
    let options = &context.options;
    let worker = Registering {
        namespace: options.namespace.clone(),
        worker: options.worker.clone(),
        session: mint::request_id(),
        lanes: vec![options.lane.clone()],
        capabilities: options.capabilities.clone(),
        ttl: options.registration_ttl,
    };
    let backend = context.backend.clone();
    match Presence::register(backend.clone(), worker.clone()).await {
        Err(error) if error.is_retryable() => {
            context.log.trouble(&options.lane, format!("cannot register: {error}; trying again"));
            Ok(Presence::register_later(backend, worker))
        }
        answer => Ok(answer?),
    }
}
