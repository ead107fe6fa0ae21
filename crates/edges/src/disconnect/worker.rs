//! Clients that submit, take, keep and end work.

use std::time::Instant;

use serde_json::json;

use super::cutter::Cutter;
use super::{BUDGET, LANE, QUOTA, SPARE};
use crate::api::{self, Held, Limits};

/// Longer than a run takes: leases of disconnected clients do not expire within it.
const LEASE_MS: u64 = 120_000;
/// How long an unclaimed grant lasts.
const GRANT_MS: u64 = 400;

/// Works until `end`.
pub(super) async fn work(mut cutter: Cutter, end: Instant) {
    let mut submitted = 0;
    while Instant::now() < end {
        for _ in 0..cutter.rng.u8(1..3) {
            submit(&mut cutter, submitted).await;
            submitted += 1;
        }
        for held in take(&mut cutter).await {
            keep(&mut cutter, &held).await;
            leave(&mut cutter, &held).await;
        }
    }
}

async fn submit(cutter: &mut Cutter, number: u64) {
    let limits = Limits { budgets: &[BUDGET, SPARE], quotas: &[QUOTA], tokens: 10 };
    let policy = json!({
        "lease_ttl_ms": LEASE_MS, "max_attempts": 5, "backoff": {"base_ms": 1, "cap_ms": 1},
    });
    let key = format!("{}-{number}", cutter.name);
    let submitted = cutter.send_until_final(&api::submit(&key, LANE, "task", limits, policy)).await;
    assert!(submitted.is_ok(), "{submitted:?}");
    let id = submitted.body["id"].as_str().unwrap().to_owned();
    cutter.shared.executions.lock().unwrap().push(id);
}

/// Takes work, by a claim or by a grant; what was given to a cut connection and is never
/// requested again stays held.
async fn take(cutter: &mut Cutter) -> Vec<Held> {
    let worker = cutter.name.clone();
    if cutter.chance(80) {
        let (max, wait) = (cutter.rng.u16(1..3), cutter.rng.u64(0..2) * 30);
        let claim = api::claim(&mut cutter.rng, &worker, LANE, max, wait);
        let answer = cutter.attempt(&claim).await;
        return answer.map(|answer| api::assignments(&answer.body)).unwrap_or_default();
    }
    let grant = api::grant(&mut cutter.rng, &worker, LANE, GRANT_MS);
    let Some(granted) = cutter.attempt(&grant).await else { return Vec::new() };
    let offer = &granted.body["offer"];
    if offer.is_null() || cutter.chance(20) {
        return Vec::new();
    }
    let answer = cutter.attempt(&api::claim_granted(&worker, offer)).await;
    answer.map(|answer| api::assignments(&answer.body)).unwrap_or_default()
}

/// Renews, reports progress and usage.
async fn keep(cutter: &mut Cutter, held: &Held) {
    for number in 0..cutter.rng.u64(0..3) {
        let request = match cutter.rng.u8(0..4) {
            0 => api::heartbeat(&cutter.name, held),
            1 => api::progress(held, cutter.rng.u8(0..101)),
            _ => {
                let epoch = &held.fence["epoch"];
                api::usage(held, &format!("{epoch}-{number}"), cutter.rng.u64(1..5))
            }
        };
        cutter.attempt(&request).await;
    }
}

/// Ends the lease in one of the possible ways, or abandons it.
async fn leave(cutter: &mut Cutter, held: &Held) {
    let request = match cutter.rng.u8(0..20) {
        0..10 => api::complete(held),
        10..13 => api::fail(held, true),
        13 => api::fail(held, false),
        14 | 15 => api::delay(held, 5),
        16 | 17 => api::hand_back(&cutter.name, held),
        18 => api::cancel_held(held),
        _ => return,
    };
    cutter.attempt(&request).await;
}
