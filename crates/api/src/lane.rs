//! Lanes and what was said of them.

use ff_core::resource::LaneState;
use ff_core::{Lane, Refusal};
use ff_store::roles;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::PolicyRequest;
use crate::timestamp::Timestamp;

/// A lane and what was said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LaneView {
    /// The lane.
    #[schema(value_type = String)]
    pub lane: Lane,
    /// Nothing of it is claimed.
    pub paused: bool,
    /// Nothing new is submitted to it.
    pub draining: bool,
    /// How many of it may run at once; null is any number.
    pub max_active: Option<u32>,
    /// What its submits ask of the engine where they say nothing: what was said of that, and no more;
    /// null when nothing was.
    pub policy: Option<PolicyRequest>,
    /// Why, if that was said.
    pub reason: Option<String>,
    /// When this was said; null when nothing ever was.
    pub since: Option<Timestamp>,
    /// How often something was said.
    pub generation: u64,
}

impl LaneView {
    /// What was said of `lane`.
    pub fn new(lane: Lane, state: &LaneState) -> Self {
        LaneView {
            lane,
            paused: state.paused,
            draining: state.draining,
            max_active: state.max_active,
            policy: state.defaults.as_deref().map(Into::into),
            reason: state.reason.as_deref().map(str::to_owned),
            since: (state.generation > 0).then(|| state.since.into()),
            generation: state.generation,
        }
    }

    /// The state meant.
    pub fn state(&self) -> Result<LaneState, Refusal> {
        let defaults = self.policy.clone().map(PolicyRequest::ask).transpose()?;
        Ok(LaneState {
            paused: self.paused,
            draining: self.draining,
            max_active: self.max_active,
            defaults: defaults.map(Box::new),
            reason: self.reason.as_deref().map(Into::into),
            since: self.since.map(|at| at.0).unwrap_or_default(),
            generation: self.generation,
            spread_by: None,
        })
    }
}

/// One page of lanes, in the order of their names. Only those of which something was said are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LanePageView {
    /// The lanes.
    pub lanes: Vec<LaneView>,
    /// What to give as `after` to go on; null when there is nothing more.
    pub next: Option<String>,
}

impl LanePageView {
    /// The page that was asked for with `limit`.
    pub fn new(found: &[roles::LaneView], limit: usize) -> Self {
        let full = found.last().filter(|_| found.len() >= limit);
        let lanes = found.iter().map(|found| LaneView::new(found.lane.clone(), &found.state));
        LanePageView { lanes: lanes.collect(), next: full.map(|last| last.lane.to_string()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use ff_core::{Amend, Ask};

    #[test]
    fn a_lane_reads_back_as_it_was_written() {
        let paused = LaneState {
            paused: true,
            max_active: Some(4),
            defaults: Some(Box::new(Ask { deadline: Amend::Clear, ..Ask::default() })),
            reason: Some("maintenance".into()),
            since: sample::NOW,
            generation: 3,
            ..LaneState::default()
        };
        for state in [paused, LaneState::default()] {
            let text = serde_json::to_string(&LaneView::new(Lane::default(), &state)).unwrap();
            assert_eq!(serde_json::from_str::<LaneView>(&text).unwrap().state(), Ok(state));
        }
    }

    #[test]
    fn a_lane_of_which_nothing_was_said_is_open_since_ever() {
        let view = LaneView::new(Lane::default(), &LaneState::default());
        assert_eq!(
            serde_json::to_value(view).unwrap(),
            serde_json::json!({
                "lane": "default", "paused": false, "draining": false, "max_active": null,
                "policy": null, "reason": null, "since": null, "generation": 0,
            })
        );
    }

    #[test]
    fn a_full_page_says_where_to_go_on() {
        let found = [roles::LaneView { lane: "a".parse().unwrap(), state: LaneState::default() }];
        assert_eq!(LanePageView::new(&found, 1).next.as_deref(), Some("a"));
        assert_eq!(LanePageView::new(&found, 2).next, None);
    }
}
