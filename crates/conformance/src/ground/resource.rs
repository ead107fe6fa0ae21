//! Words for what workers say of themselves, operators of lanes, and the engine of executions.

use ff_core::explain::{Explanation, Reason};
use ff_core::machine::{Registered, Submit};
use ff_core::resource::{LaneState, Registration};
use ff_core::{Amend, Capabilities, ExecutionId, Lane, ResourceKey};
use ff_store::roles::{Answer, LaneOrder, Registering, Session};
use ff_store::{Share, mint};

use super::{Ground, ms, worker};

pub(crate) fn lane(name: &str) -> Lane {
    Lane::new(name).unwrap()
}

/// The set of these tokens, joined by commas.
pub(crate) fn capabilities(tokens: &str) -> Capabilities {
    Capabilities::parse(tokens).unwrap()
}

impl Ground {
    /// A worker that serves lane `default`, offers `tokens` and may be silent for ten seconds.
    pub(crate) fn registering(&self, name: &str, tokens: &str) -> Registering {
        Registering {
            namespace: self.namespace.clone(),
            worker: worker(name),
            session: mint::request_id(),
            lanes: vec![Lane::default()],
            capabilities: capabilities(tokens),
            ttl: ms(10_000),
        }
    }

    pub(crate) async fn try_register(&self, registering: &Registering) -> Answer<Registered> {
        self.backend().register(registering.clone()).await
    }

    /// Registers a worker that offers `tokens`.
    pub(crate) async fn registered(&self, name: &str, tokens: &str) -> Session {
        let registering = self.registering(name, tokens);
        self.try_register(&registering).await.unwrap();
        registering.session()
    }

    pub(crate) async fn heartbeat(&self, session: &Session) -> Answer<Registered> {
        self.backend().heartbeat(session).await
    }

    pub(crate) async fn disconnect(&self, session: &Session) {
        self.backend().disconnect(session).await.unwrap();
    }

    /// The workers on the first page.
    pub(crate) async fn workers(&self) -> Vec<Registration> {
        self.backend().workers(&self.namespace, None, 100).await.unwrap()
    }

    /// The resources that time has something to do to.
    pub(crate) async fn due_resources(&self) -> Vec<ResourceKey> {
        self.backend().due(&Share::All, None, 100).await.unwrap().resources
    }

    /// What is said of lane `default` when nothing is.
    pub(crate) fn order(&self) -> LaneOrder {
        let (namespace, lane) = (self.namespace.clone(), Lane::default());
        LaneOrder { namespace, lane, ..LaneOrder::default() }
    }

    pub(crate) async fn say(&self, order: LaneOrder) -> LaneState {
        self.backend().order_lane(order).await.unwrap()
    }

    pub(crate) async fn pause(&self) -> LaneState {
        self.say(LaneOrder { paused: Some(true), ..self.order() }).await
    }

    pub(crate) async fn drain(&self) -> LaneState {
        self.say(LaneOrder { draining: Some(true), ..self.order() }).await
    }

    /// So many of lane `default` run at once.
    pub(crate) async fn limit(&self, most: u32) -> LaneState {
        self.say(LaneOrder { max_active: Amend::Put(most), ..self.order() }).await
    }

    /// Any number of lane `default` runs at once.
    pub(crate) async fn unlimit(&self) -> LaneState {
        self.say(LaneOrder { max_active: Amend::Clear, ..self.order() }).await
    }

    pub(crate) async fn resume(&self) -> LaneState {
        self.say(LaneOrder { paused: Some(false), draining: Some(false), ..self.order() }).await
    }

    /// What was said of lane `default`.
    pub(crate) async fn lane(&self) -> LaneState {
        self.backend().lane(&self.namespace, &Lane::default()).await.unwrap()
    }

    /// Work that requires `tokens`, waiting in its queue.
    pub(crate) async fn needing(&self, tokens: &str) -> ExecutionId {
        self.submit(Submit { requires: capabilities(tokens), ..self.work() }).await
    }

    pub(crate) async fn explained(&self, id: ExecutionId) -> Explanation {
        self.backend().explain(&self.target(id)).await.unwrap()
    }

    /// Why an execution stands where it stands.
    pub(crate) async fn reasons(&self, id: ExecutionId) -> Vec<Reason> {
        self.explained(id).await.reasons
    }
}
