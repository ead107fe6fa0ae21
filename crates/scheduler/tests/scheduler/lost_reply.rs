//! A scheduler whose store does its work and whose answer is lost.

use std::sync::Arc;

use ff_core::machine::{Submit, Target};
use ff_core::state::{State, Worker};
use ff_core::{Capabilities, ExecutionId, Lane, Millis, Namespace};
use ff_scheduler::{Scheduler, SchedulerConfig};
use ff_store::EngineBackend;
use ff_testkit::proxy::Proxy;
use ff_testkit::valkey::Server;

async fn submit(store: &Arc<dyn EngineBackend>) -> ExecutionId {
    let submit = Submit::new(store.new_id(&Namespace::default(), None));
    store.submit(vec![submit]).await.unwrap().remove(0).unwrap().execution
}

#[tokio::test]
async fn a_grant_whose_reply_is_lost_is_repeated_with_the_same_id() {
    let server = Server::shared();
    let proxy = Proxy::to(server.port());
    let store = |port: u16| format!("valkey://127.0.0.1:{port}?prefix=lost-grant&partitions=4");
    let direct = ff_backends::open(&store(server.port())).await.unwrap();
    let behind = ff_backends::open(&store(proxy.port())).await.unwrap();
    let two = [submit(&direct).await, submit(&direct).await];
    let scheduler = Scheduler::new(behind, SchedulerConfig::default()).unwrap();
    let (namespace, lane, ttl) = (Namespace::default(), Lane::default(), Millis::from_secs(60));
    let worker = Worker { id: "ada".parse().unwrap(), instance: "ada-1".parse().unwrap() };
    proxy.cut_once("_commit");
    let granted =
        scheduler.claim_for_worker(&namespace, &lane, &worker, &Capabilities::NONE, ttl).await;
    let grant = granted.unwrap().unwrap();
    assert_eq!(proxy.cuts(), 1, "one reply was lost");
    let mut reserved = Vec::new();
    for execution in two {
        let target = Target { namespace: namespace.clone(), execution };
        match direct.describe(&target).await.unwrap().state {
            State::Granted { .. } => reserved.push(execution),
            State::Queued { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(reserved, [grant.execution], "one is reserved, and it is the one that was answered");
}
