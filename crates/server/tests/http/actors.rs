//! Who did what, as a server knows it: by the token that was shown, never by what a request says.

use ff_core::credential::Role;
use ff_core::machine::Submit;
use ff_store::ClientBackend;
use serde_json::{Value, json};

use crate::fixture::TOKEN;
use crate::fixture::raw::Answer;
use crate::tokens::guarded;

fn read(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

#[tokio::test]
async fn an_execution_shows_who_cancelled_and_replayed_it() {
    let server = guarded().await;
    let ann = server.issued("ann", Role::Operator, &["default"]).await;
    let id = server.store.new_id(&Default::default(), None);
    server.store.submit(vec![Submit::new(id)]).await.unwrap().remove(0).unwrap();
    let path = format!("/v1/executions/{id}");
    read(&server.send_as(&ann, "POST", &format!("{path}/cancel"), "{}").await);
    read(&server.send_as(TOKEN, "POST", &format!("{path}/replay"), r#"{"run":0}"#).await);
    let view = read(&server.call_as(&ann, "GET", &path).await);
    let acts = view["acts"].as_array().unwrap();
    let acts: Vec<_> = acts.iter().map(|act| (&act["what"], &act["by"])).collect();
    assert_eq!(acts, [(&json!("cancel"), &json!("ann")), (&json!("replay"), &json!("root"))]);
    let priority =
        server.send_as(&ann, "POST", &format!("{path}/priority"), r#"{"priority":3}"#).await;
    assert_eq!(priority.status, 204);
    let tags = server.send_as(&ann, "POST", &format!("{path}/tags"), r#"{"set":{"a":"b"}}"#).await;
    assert_eq!(tags.status, 204);
    let view = read(&server.call_as(&ann, "GET", &path).await);
    for (place, what) in [(2, "priority"), (3, "tag")] {
        assert_eq!(view["acts"][place]["what"], what);
        assert_eq!(view["acts"][place]["by"], "ann", "{what}");
    }
    let forged = server.send_as(&ann, "POST", &format!("{path}/cancel"), r#"{"by":"bob"}"#).await;
    forged.problem(400, "invalid_json");
}

#[tokio::test]
async fn lanes_budgets_and_quotas_show_who_changed_them() {
    let server = guarded().await;
    let ann = server.issued("ann", Role::Operator, &["default"]).await;
    let budget = r#"{"dimensions":{"tokens":{"hard":5}}}"#;
    for (method, path, body) in
        [("PUT", "/v1/budgets/team", budget), ("PUT", "/v1/quotas/api", r#"{"max_active":1}"#)]
    {
        read(&server.send_as(&ann, method, path, body).await);
        assert_eq!(read(&server.call_as(TOKEN, "GET", path).await)["changed"]["by"], "ann");
    }
    read(&server.send_as(TOKEN, "POST", "/v1/budgets/team/reset", "{}").await);
    let budget = read(&server.call_as(&ann, "GET", "/v1/budgets/team").await);
    assert_eq!(budget["changed"]["by"], "root");
    let lane = server.send_as(&ann, "PATCH", "/v1/lanes/letters", r#"{"paused":true}"#).await;
    assert_eq!(read(&lane)["by"], "ann");
    let page = read(&server.call_as(&ann, "GET", "/v1/lanes").await);
    assert_eq!(page["lanes"][0]["by"], "ann");
}

/// Of what is deleted nothing is left but its events.
#[tokio::test]
async fn the_event_of_a_removal_says_who_deleted_it() {
    let server = guarded().await;
    let ann = server.issued("ann", Role::Operator, &["default"]).await;
    let from = read(&server.call_as(&ann, "GET", "/v1/events").await);
    let id = server.store.new_id(&Default::default(), None);
    server.store.submit(vec![Submit::new(id)]).await.unwrap().remove(0).unwrap();
    read(&server.send_as(TOKEN, "POST", &format!("/v1/executions/{id}/cancel"), "{}").await);
    let gone = server.call_as(&ann, "DELETE", &format!("/v1/executions/{id}")).await;
    assert_eq!(gone.status, 204);
    let cursor = from["cursor"].as_str().unwrap();
    let page = read(&server.call_as(&ann, "GET", &format!("/v1/events?cursor={cursor}")).await);
    let events = page["events"].as_array().unwrap();
    let events: Vec<_> = events.iter().map(|event| (&event["event"], &event["by"])).collect();
    let expected = [
        (&json!("submitted"), &Value::Null),
        (&json!("cancelled"), &json!("root")),
        (&json!("retired"), &json!("ann")),
    ];
    assert_eq!(events, expected);
}
