//! Measuring real servers: what is counted, and that nothing is left behind.

use ff_backend_valkey::{CeilingPlan, Options, Probe, ceiling};
use ff_testkit::valkey::{Cluster, Config, Server};

const PLAN: CeilingPlan = CeilingPlan { executions: 200, payload: 100, callers: 8, batch: 1 };

const LIBRARY: &str = "#!lua name=counted\n\
    redis.register_function('counted_twice', function(keys)\n\
      redis.call('SET', keys[1], 'x')\n\
      return redis.call('GET', keys[1])\n\
    end)";

fn call(server: &Server, times: u64) {
    for _ in 0..times {
        server.command(&["FCALL", "counted_twice", "1", "k"]).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_clients_are_counted_apart_from_those_of_functions() {
    let server = Server::start(Config::default());
    server.command(&["FUNCTION", "LOAD", LIBRARY]).unwrap();
    let mut probe = Probe::connect(server.url().parse().unwrap()).await.unwrap();
    assert_eq!(probe.read().await.unwrap().client_calls, None, "nothing was watched yet");

    assert!(probe.watch().await);
    call(&server, 10);
    assert_eq!(probe.end_watch().await.unwrap(), Some(10));

    let before = probe.read().await.unwrap();
    call(&server, 7);
    server.command(&["ECHO", "a command that was not watched"]).unwrap();
    let after = probe.read().await.unwrap();
    assert_eq!(after.client_calls.unwrap() - before.client_calls.unwrap(), 8);
    assert!(after.cpu_us >= before.cpu_us && before.cpu_us > 0);
    assert!(after.used_memory > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_leaves_a_server_as_it_was() {
    let server = Server::start(Config::default());
    let options: Options = server.url().parse().unwrap();
    for batch in [1, 16] {
        let limit = ceiling(&options, CeilingPlan { batch, ..PLAN }).await.unwrap();
        assert!(limit.functions.per_second > 0.0 && limit.list.per_second > 0.0, "{limit:?}");
        assert!(limit.functions.cpu_us_per_execution > 0.0, "{limit:?}");
    }
    assert_eq!(server.command(&["DBSIZE"]).unwrap().to_string(), "0");
    assert_eq!(server.command(&["FUNCTION", "LIST"]).unwrap().list().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_a_cluster_is_measured_on_all_its_primaries() {
    let cluster = Cluster::start(3, 0);
    let options: Options = cluster.url().parse().unwrap();
    let limit = ceiling(&options, PLAN).await.unwrap();
    assert!(limit.functions.per_second > 0.0 && limit.list.per_second > 0.0, "{limit:?}");
    for node in cluster.nodes() {
        assert_eq!(node.command(&["DBSIZE"]).unwrap().to_string(), "0");
        assert_eq!(node.command(&["FUNCTION", "LIST"]).unwrap().list().len(), 0);
    }
    let mut probe = Probe::connect(options).await.unwrap();
    assert!(probe.watch().await);
    for node in cluster.nodes() {
        node.command(&["PING"]).unwrap();
    }
    assert_eq!(probe.end_watch().await.unwrap(), Some(3));
}
