//! Claims over several partitions: filled where there is work, and failed where one does not answer.

use std::collections::BTreeSet;

use ff_core::limits::ExecutionLimits;
use ff_core::machine::{ClaimRequest, Submit};
use ff_core::quota::QuotaLimits;
use ff_core::{Millis, Namespace, ResourceName};
use ff_store::{LimitsBackend, WorkerBackend};
use ff_testkit::valkey::Server;

use crate::fixture::{Home, claim, submit_many, try_submit, work};

/// The second claim of the library runs, and then its answer is lost.
const LOST: &str = "
    -- The global is looked up when it runs: the table seen while a library loads has no call.
    local server = {
      call = function(...) return redis.call(...) end,
      error_reply = function(text) return redis.error_reply(text) end,
    }
    local loading, claims = redis, 0
    local redis = {
      call = function(...) return server.call(...) end,
      error_reply = function(text) return server.error_reply(text) end,
      register_function = function(spec)
        local callback, name = spec.callback, spec.function_name
        spec.callback = function(keys, args)
          local answer = callback(keys, args)
          claims = claims + (string.find(name, '_claim$') and 1 or 0)
          if string.find(name, '_claim$') and claims == 2 then
            error('the answer is lost')
          end
          return answer
        end
        loading.register_function(spec)
      end,
    }
";

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_lost_an_answer_fails_and_its_repetition_finds_what_was_taken() {
    let home = Home::on(Server::shared(), 4).with_prelude(LOST);
    let process = home.open().await;
    let submitted: BTreeSet<_> = submit_many(&process, 4).await.into_iter().collect();
    let all = claim(4);
    let error = process.claim(all.clone(), Millis::ZERO).await.unwrap_err();
    assert!(!error.to_string().is_empty());
    let again = process.claim(ClaimRequest { retry: true, ..all }, Millis::ZERO).await.unwrap();
    let taken: BTreeSet<_> = again.assignments.iter().map(|one| one.execution).collect();
    assert_eq!(taken.len(), 2, "what the two partitions gave");
    assert!(taken.is_subset(&submitted));
    let rest = process.claim(claim(4), Millis::ZERO).await.unwrap().assignments;
    assert_eq!(rest.len(), 2, "and nothing else is held");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_of_limited_work_is_filled_from_all_partitions() {
    let home = Home::on(Server::shared(), 64);
    let process = home.open().await;
    let name = ResourceName::new("api").unwrap();
    let limits = QuotaLimits {
        max_requests: None,
        window: Millis::from_secs(60),
        max_active: Some(100),
        jitter: Millis::ZERO,
    };
    process.put_quota(&Namespace::default(), &name, limits).await.unwrap();
    for _ in 0..32 {
        let limits =
            ExecutionLimits { quotas: [name.clone()].into(), ..ExecutionLimits::default() };
        try_submit(&process, Submit { limits, ..work(&process) }).await.unwrap();
    }
    for _ in 0..4 {
        let taken = process.claim(claim(8), Millis::ZERO).await.unwrap().assignments;
        assert_eq!(taken.len(), 8);
    }
}
