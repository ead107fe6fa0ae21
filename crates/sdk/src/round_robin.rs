//! Whose turn it is: lanes are served by weighted round-robin.

use ff_core::{Lane, Refusal};

use crate::error::SdkError;

/// The greatest weight of a lane.
const MOST: u16 = 100;

/// A lane that a worker serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedLane {
    /// The queue.
    pub lane: Lane,
    /// How often it has its turn, relative to the other lanes: 1 to 100.
    pub weight: u16,
}

impl From<Lane> for ServedLane {
    fn from(lane: Lane) -> ServedLane {
        ServedLane { lane, weight: 1 }
    }
}

impl std::str::FromStr for ServedLane {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<ServedLane, Refusal> {
        Lane::new(text).map(ServedLane::from)
    }
}

/// The order in which lanes have their turn, again and again. Every lane is in it as often as its
/// weight says, and turns of one lane are spread, so that none waits longer than a round.
#[derive(Debug)]
pub(crate) struct Turns(Vec<usize>);

impl Turns {
    /// The turns of `lanes`; at least one, each with a valid weight.
    pub(crate) fn new(lanes: &[ServedLane]) -> Result<Turns, SdkError> {
        if lanes.is_empty() {
            return Err(SdkError::config("lanes", "is empty; give it at least one lane"));
        }
        if let Some(bad) = lanes.iter().find(|served| !(1..=MOST).contains(&served.weight)) {
            let ServedLane { lane, weight } = bad;
            let why = format!("has lane {lane} with weight {weight}; give 1 to {MOST}");
            return Err(SdkError::config("lanes", why));
        }
        let round: i32 = lanes.iter().map(|served| i32::from(served.weight)).sum();
        let mut credit = vec![0; lanes.len()];
        let turns = (0..round).map(|_| {
            let earned = credit.iter_mut().zip(lanes);
            earned.for_each(|(credit, served)| *credit += i32::from(served.weight));
            let next = (0..lanes.len()).rev().max_by_key(|lane| credit[*lane]).unwrap_or(0);
            credit[next] -= round;
            next
        });
        Ok(Turns(turns.collect()))
    }

    /// Every lane once, beginning with the one whose turn `turn` is.
    pub(crate) fn from(&self, turn: usize) -> Vec<usize> {
        let mut order = Vec::new();
        for step in 0..self.0.len() {
            let lane = self.0[(turn + step) % self.0.len()];
            if !order.contains(&lane) {
                order.push(lane);
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(weights: &[u16]) -> Turns {
        let served = |weight: &u16| ServedLane { lane: Lane::default(), weight: *weight };
        Turns::new(&weights.iter().map(served).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn equal_lanes_take_turns() {
        assert_eq!(turns(&[1, 1, 1]).0, [0, 1, 2]);
        assert_eq!(turns(&[7]).0, [0; 7]);
    }

    #[test]
    fn a_lane_has_as_many_turns_as_its_weight_and_they_are_spread() {
        assert_eq!(turns(&[1, 3]).0, [1, 0, 1, 1]);
        assert_eq!(turns(&[5, 1, 1]).0, [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn every_lane_is_scanned_in_every_turn() {
        let turns = turns(&[100, 1, 2]);
        for turn in 0..206 {
            let mut order = turns.from(turn);
            assert_eq!(order[0], turns.0[turn % 103]);
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2]);
        }
    }

    #[test]
    fn a_lane_without_a_weight_is_refused() {
        for weight in [0, 101] {
            let lanes = [ServedLane { lane: Lane::default(), weight }];
            assert!(Turns::new(&lanes).is_err());
        }
        assert!(Turns::new(&[]).is_err());
    }
}
