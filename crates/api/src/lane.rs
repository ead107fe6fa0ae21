//! Lanes and their settings.

use std::collections::BTreeMap;

use ff_core::resource::LaneState;
use ff_core::{Actor, Lane, Namespace};
use ff_store::backlog::Backlog;
use ff_store::roles;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::PolicyRequest;
use crate::timestamp::Timestamp;

/// A lane and its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LaneView {
    /// The lane.
    #[schema(value_type = String)]
    pub lane: Lane,
    /// None of it is claimed.
    pub paused: bool,
    /// New submits are refused.
    pub draining: bool,
    /// How many of it may run at once; null is any number.
    pub max_active: Option<u32>,
    /// Policy defaults of its submits: those that were set, and no others;
    /// null when nothing was.
    pub policy: Option<PolicyRequest>,
    /// The reason, if given.
    pub reason: Option<String>,
    /// When the settings were last changed; null if they never were.
    pub since: Option<Timestamp>,
    /// Who changed them then: the name of a token, `root` or `local`; null if that is not known.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
    /// How often the settings were changed.
    pub generation: u64,
    /// What waits and runs in it; only counted in a list of lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<LaneWorkView>,
}

/// What waits and what runs in a lane. Executions that are delayed are not counted by lane.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LaneWorkView {
    /// How many are in its queue, ready to be claimed.
    pub waiting: u64,
    /// How many are held by workers.
    #[serde(default)]
    pub active: u64,
    /// How many waiting ones require capabilities that no live worker offers.
    pub unroutable: u64,
    /// How many are blocked on a budget, a quota or the limit of the lane.
    pub blocked: u64,
    /// Since when the longest waiting execution at the head of the queue has waited; null when none
    /// is in the queue.
    pub oldest: Option<Timestamp>,
}

impl LaneView {
    /// The settings of `lane`.
    pub fn new(lane: Lane, state: &LaneState) -> Self {
        LaneView {
            lane,
            paused: state.paused,
            draining: state.draining,
            max_active: state.max_active,
            policy: state.defaults.as_deref().map(Into::into),
            reason: state.reason.as_deref().map(str::to_owned),
            since: (state.generation > 0).then(|| state.since.into()),
            by: state.by.clone(),
            generation: state.generation,
            work: None,
        }
    }

    /// The state.
    pub fn state(&self) -> LaneState {
        LaneState {
            paused: self.paused,
            draining: self.draining,
            max_active: self.max_active,
            defaults: self.policy.clone().map(|policy| Box::new(policy.ask())),
            reason: self.reason.as_deref().map(Into::into),
            since: self.since.map(|at| at.0).unwrap_or_default(),
            generation: self.generation,
            spread_by: None,
            by: self.by.clone(),
        }
    }
}

/// One page of lanes, in the order of their names: those that have settings, and those in which
/// something waits or runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LanePageView {
    /// The lanes.
    pub lanes: Vec<LaneView>,
    /// The cursor to continue with; null when there is nothing more.
    pub next: Option<String>,
}

impl LanePageView {
    /// The page requested with `limit`.
    pub fn new(found: &[roles::LaneView], limit: usize) -> Self {
        let full = found.last().filter(|_| found.len() >= limit);
        let lanes = found.iter().map(|found| LaneView::new(found.lane.clone(), &found.state));
        LanePageView { lanes: lanes.collect(), next: full.map(|last| last.lane.to_string()) }
    }

    /// The page requested with `after` and `limit`: the lanes with settings, which are the
    /// first `limit` of them after `after`, and those of `namespace` in which something waits or runs.
    pub fn with_work(
        found: &[roles::LaneView],
        backlog: &Backlog,
        namespace: &Namespace,
        after: Option<&Lane>,
        limit: usize,
    ) -> Self {
        let mut work: BTreeMap<Lane, LaneWorkView> = BTreeMap::new();
        for ((_, lane), queued) in backlog.queues.iter().filter(|((of, _), _)| of == namespace) {
            let entry = work.entry(lane.clone()).or_default();
            (entry.waiting, entry.oldest) = (queued.count, Some(queued.oldest.into()));
        }
        for ((_, lane), count) in backlog.unroutable.iter().filter(|((of, _), _)| of == namespace) {
            work.entry(lane.clone()).or_default().unroutable = *count;
        }
        for ((_, lane), count) in backlog.active.iter().filter(|((of, _), _)| of == namespace) {
            work.entry(lane.clone()).or_default().active = *count;
        }
        let blocked = backlog.blocked_by_lane.iter().filter(|((of, _), _)| of == namespace);
        for ((_, lane), count) in blocked {
            work.entry(lane.clone()).or_default().blocked = *count;
        }
        let mut lanes: BTreeMap<Lane, LaneView> = BTreeMap::new();
        for found in found {
            lanes.insert(found.lane.clone(), LaneView::new(found.lane.clone(), &found.state));
        }
        let busy = work.iter().filter(|(lane, work)| {
            after.is_none_or(|after| *lane > after) && **work != LaneWorkView::default()
        });
        for (lane, _) in busy {
            let silent = || LaneView::new(lane.clone(), &LaneState::default());
            lanes.entry(lane.clone()).or_insert_with(silent);
        }
        let mut lanes: Vec<_> = lanes.into_values().take(limit).collect();
        for view in &mut lanes {
            view.work = Some(work.remove(&view.lane).unwrap_or_default());
        }
        let next = lanes.last().filter(|_| lanes.len() >= limit).map(|last| last.lane.to_string());
        LanePageView { lanes, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use ff_core::{Patch, PolicyOverrides};
    use ff_store::backlog::Queued;

    #[test]
    fn a_lane_reads_back_as_it_was_written() {
        let paused = LaneState {
            paused: true,
            max_active: Some(4),
            defaults: Some(Box::new(PolicyOverrides {
                deadline: Patch::Clear,
                ..PolicyOverrides::default()
            })),
            reason: Some("maintenance".into()),
            since: sample::NOW,
            generation: 3,
            by: Some(Actor::root()),
            ..LaneState::default()
        };
        for state in [paused, LaneState::default()] {
            let text = serde_json::to_string(&LaneView::new(Lane::default(), &state)).unwrap();
            assert_eq!(serde_json::from_str::<LaneView>(&text).unwrap().state(), state);
        }
    }

    #[test]
    fn a_lane_without_settings_has_always_been_open() {
        let view = LaneView::new(Lane::default(), &LaneState::default());
        assert_eq!(
            serde_json::to_value(view).unwrap(),
            serde_json::json!({
                "lane": "default", "paused": false, "draining": false, "max_active": null,
                "policy": null, "reason": null, "since": null, "by": null, "generation": 0,
            })
        );
    }

    #[test]
    fn lanes_with_work_are_listed_among_those_with_settings() {
        let lane = |name: &str| name.parse::<Lane>().unwrap();
        let (namespace, oldest) = (Namespace::default(), sample::NOW);
        let mut backlog = Backlog { now: sample::NOW, ..Backlog::default() };
        for (name, count) in [("a", 1), ("c", 2)] {
            let queue = (namespace.clone(), lane(name));
            backlog.queues.insert(queue, Queued { count, oldest });
        }
        let elsewhere = (Namespace::new("other").unwrap(), lane("z"));
        backlog.queues.insert(elsewhere, Queued { count: 9, oldest });
        for (name, count) in [("b", 3), ("d", 4)] {
            backlog.blocked_by_lane.insert((namespace.clone(), lane(name)), count);
        }
        let settings = LaneState { paused: true, generation: 1, ..LaneState::default() };
        let found = [roles::LaneView { lane: lane("b"), state: settings }];
        let page = |after: Option<&Lane>, limit| {
            let found =
                if after.is_none_or(|after| after.as_str() < "b") { &found[..] } else { &[] };
            let page = LanePageView::with_work(found, &backlog, &namespace, after, limit);
            let counts = page.lanes.iter().map(|view| {
                let work = view.work.clone().unwrap();
                (view.lane.to_string(), view.paused, work.waiting, work.blocked)
            });
            (counts.collect::<Vec<_>>(), page.next)
        };
        let row =
            |name: &str, paused, waiting, blocked| (name.to_owned(), paused, waiting, blocked);
        let (a, b) = (row("a", false, 1, 0), row("b", true, 0, 3));
        let (c, d) = (row("c", false, 2, 0), row("d", false, 0, 4));
        assert_eq!(page(None, 10), (vec![a.clone(), b.clone(), c.clone(), d.clone()], None));
        assert_eq!(page(None, 2), (vec![a, b], Some("b".to_owned())));
        assert_eq!(page(Some(&lane("b")), 3), (vec![c, d], None));
    }

    #[test]
    fn a_full_page_has_a_cursor() {
        let found = [roles::LaneView { lane: "a".parse().unwrap(), state: LaneState::default() }];
        assert_eq!(LanePageView::new(&found, 1).next.as_deref(), Some("a"));
        assert_eq!(LanePageView::new(&found, 2).next, None);
    }
}
