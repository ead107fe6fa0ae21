//! A client that changes limits, lanes and executions of others.

use std::time::Instant;

use serde_json::json;

use super::cutter::Cutter;
use super::{BUDGET, LANE, PLENTY, QUOTA, SPARE};
use crate::{api, view};

/// Operates until `end`, each kind of request in turn.
pub(super) async fn operate(mut cutter: Cutter, end: Instant) {
    let mut turn = 0;
    while Instant::now() < end {
        step(&mut cutter, turn).await;
        turn += 1;
    }
}

async fn step(cutter: &mut Cutter, turn: u64) {
    let request = match turn % 10 {
        0 => api::put_quota(QUOTA, None, Some(cutter.rng.u32(4..6))),
        1 => api::put_budget(BUDGET, PLENTY + cutter.rng.u64(0..10)),
        2 => api::put_budget(SPARE, PLENTY + cutter.rng.u64(0..10)),
        3 => api::reset_budget(SPARE),
        4 => return lane(cutter).await,
        other => {
            let Some(id) = cutter.known() else { return };
            match other {
                5 => api::cancel(&id),
                6 => return replay(cutter, &id).await,
                7 => return revoke(cutter).await,
                8 => api::priority(&id, cutter.rng.u16(0..10)),
                _ => api::tags(&id, "seen"),
            }
        }
    };
    cutter.cut(&request).await;
    cutter.attempt(&request).await;
}

/// Limits the lane, or pauses and resumes it.
async fn lane(cutter: &mut Cutter) {
    if cutter.chance(50) {
        let limit = json!({"max_active": cutter.rng.u32(3..8)});
        cutter.cut(&api::patch_lane(LANE, limit)).await;
        return;
    }
    cutter.cut(&api::patch_lane(LANE, json!({"paused": true}))).await;
    cutter.send_until_final(&api::patch_lane(LANE, json!({"paused": false}))).await;
}

/// Replays it if it has ended.
async fn replay(cutter: &mut Cutter, id: &str) {
    let view = view::execution(cutter.client, id).await;
    let run = view["run"].as_u64().unwrap();
    let request = api::replay(id, run);
    cutter.cut(&request).await;
    cutter.attempt(&request).await;
}

/// Revokes a lease.
async fn revoke(cutter: &mut Cutter) {
    let active = view::executions(cutter.client, Some("active")).await;
    let Some(first) = active.first() else { return };
    let id = first["id"].as_str().unwrap();
    let Some(lease) = first["lease"]["id"].as_str() else { return };
    let request = api::revoke(id, lease);
    cutter.cut(&request).await;
    cutter.attempt(&request).await;
}
