//! Bulk operations by hand, and the removal of one execution.

use ff_store::ClientBackend;
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::fixture::raw::{Answer, ask, post};

async fn bulk(server: &Fixture, body: Value) -> Answer {
    ask(server.address, post("/v1/executions/bulk", body.to_string())).await
}

fn read(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

async fn submit(server: &Fixture, count: usize) {
    for _ in 0..count {
        let id = server.store.new_id(&Default::default(), None);
        let submit = ff_core::machine::Submit::new(id);
        server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    }
}

#[tokio::test]
async fn slices_continue_where_the_last_one_ended() {
    let server = Fixture::start().await;
    submit(&server, 5).await;
    let mut body = json!({"action": "cancel", "filter": {"lane": "default"}, "limit": 2});
    let mut done = Vec::new();
    loop {
        let slice = read(&bulk(&server, body.clone()).await);
        assert_eq!((&slice["refused"], &slice["refusals"]), (&json!(0), &json!([])));
        done.push(slice["done"].as_u64().unwrap());
        if slice["next"].is_null() {
            break;
        }
        body["cursor"] = slice["next"].clone();
    }
    assert_eq!((done.iter().sum::<u64>(), done.iter().max()), (5, Some(&2)));
    let counted = json!({"action": "delete", "filter": {"lane": "default"}, "dry_run": true});
    let slice = read(&bulk(&server, counted).await);
    assert_eq!((&slice["matched"], &slice["done"]), (&json!(5), &json!(0)));
}

#[tokio::test]
async fn refusals_are_named_with_their_codes() {
    let server = Fixture::start().await;
    submit(&server, 1).await;
    let body = json!({"action": "replay", "filter": {"state": ["waiting"]}});
    let slice = read(&bulk(&server, body).await);
    assert_eq!((&slice["matched"], &slice["refused"]), (&json!(1), &json!(1)));
    assert_eq!(slice["refusals"][0]["error"]["code"], "wrong_state");
}

#[tokio::test]
async fn contradictory_requests_are_refused_by_name() {
    let server = Fixture::start().await;
    for (body, field) in [
        (json!({"action": "cancel", "filter": {}}), "filter"),
        (json!({"action": "forget", "filter": {"lane": "a"}}), "action"),
        (json!({"action": "cancel", "filter": {"lane": "a"}, "limit": 0}), "limit"),
        (json!({"action": "cancel", "filter": {"lane": "a"}, "limit": 1001}), "limit"),
        (json!({"action": "cancel", "filter": {"lane": "a"}, "cursor": "x"}), "cursor"),
        (json!({"action": "replay", "filter": {"lane": "a"}, "reason": "x"}), "reason"),
    ] {
        let problem = bulk(&server, body.clone()).await.problem(400, "invalid_argument");
        assert_eq!(problem.field.as_deref(), Some(field), "{body}");
    }
}

#[tokio::test]
async fn a_finished_execution_is_removed_by_delete() {
    let server = Fixture::start().await;
    let id = server.store.new_id(&Default::default(), None);
    let submit = ff_core::machine::Submit::new(id);
    server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    let delete = format!("DELETE /v1/executions/{id} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    ask(server.address, delete.clone()).await.problem(409, "wrong_state");
    let body = json!({"action": "cancel", "filter": {"lane": "default"}});
    assert_eq!(read(&bulk(&server, body).await)["done"], 1);
    assert_eq!(ask(server.address, delete.clone()).await.status, 204);
    ask(server.address, delete).await.problem(404, "not_found");
}
