//! The page of budgets and quotas.

use ff_core::Millis;
use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::machine::Submit;
use ff_store::{ClientBackend, LimitsBackend, WorkerBackend};

use super::dashboard::page;
use crate::fixture::{Fixture, claim};

#[tokio::test]
async fn limits_are_paged_and_say_what_waits_for_them() {
    let server = Fixture::start().await;
    let tokens = DimensionLimits { hard: Some(10), soft: None };
    for number in 0..120 {
        let limits = BudgetLimits {
            dimensions: [("tokens".parse().unwrap(), tokens)].into(),
            period: None,
            on_breach: OnBreach::Block,
        };
        let name = format!("team-{number:03}").parse().unwrap();
        server.store.put_budget(&Default::default(), &name, limits).await.unwrap();
    }
    let mut waiting = Submit::new(server.store.new_id(&Default::default(), None));
    waiting.kind = "greedy".parse().unwrap();
    waiting.limits.budgets = ["team-070".parse().unwrap()].into();
    waiting.limits.estimate = [("tokens".parse().unwrap(), 11)].into();
    server.store.submit(vec![waiting]).await.unwrap().remove(0).unwrap();
    assert!(server.store.claim(claim(), Millis::ZERO).await.unwrap().assignments.is_empty());
    let (mut path, mut names, mut named) = ("/limits".to_owned(), Vec::new(), 0);
    loop {
        let shown = page(&server, &path).await;
        assert_eq!(shown.status, 200, "{}", shown.text());
        let found = shown.text().split("<h3>team-").skip(1).map(|rest| rest[..3].to_owned());
        names.extend(found);
        named += shown.text().matches("<b>greedy</b>").count();
        let next = shown.text().split_once("rel=\"next\" href=\"");
        let Some((_, rest)) = next else { break };
        path = rest.split('"').next().unwrap().replace("&amp;", "&");
    }
    let all: Vec<_> = (0..120).map(|number| format!("{number:03}")).collect();
    assert_eq!((names, named), (all, 1));
    assert_eq!(page(&server, "/limits?budgets=%00").await.status, 400);
}
