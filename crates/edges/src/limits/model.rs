//! What a limit means, in terms of the times at which work started and stopped.

use super::history::Hold;

/// At most this many starts in any window.
pub(super) struct Rate {
    pub(super) starts: usize,
    pub(super) window_ms: u64,
}

/// At most this many at once.
pub(super) struct Cap {
    pub(super) most: usize,
}

/// The store's times are whole milliseconds, so two of them may be closer by this than the real
/// times.
const ROUNDING_MS: u64 = 1;

impl Rate {
    /// The windows in which too many started, in sentences; the worst comes first.
    pub(super) fn passed(&self, name: &str, holds: &[&Hold]) -> Option<String> {
        let mut starts: Vec<_> = holds.iter().map(|hold| hold.began).collect();
        starts.sort_unstable();
        let spans = starts.windows(self.starts + 1).map(|some| (some[self.starts] - some[0], some));
        let too_near = spans.filter(|(span, _)| span + ROUNDING_MS < self.window_ms);
        let too_near: Vec<_> = too_near.collect();
        let (span, some) = too_near.iter().min_by_key(|(span, _)| *span)?;
        Some(format!(
            "{name}: {} starts within {span} ms where {} in {} ms are allowed, {} times, such as \
             from {} on",
            self.starts + 1,
            self.starts,
            self.window_ms,
            too_near.len(),
            some[0],
        ))
    }
}

impl Cap {
    /// The time at which most were held, if they are too many.
    pub(super) fn passed(&self, name: &str, holds: &[&Hold]) -> Option<String> {
        // At equal times ends come before starts: a freed slot can be taken.
        let mut edges: Vec<_> = holds
            .iter()
            .filter(|hold| hold.began < hold.ended)
            .flat_map(|hold| [(hold.began, 1_i64, *hold), (hold.ended, -1, *hold)])
            .collect();
        edges.sort_by_key(|(at, change, _)| (*at, *change));
        let (mut held, mut most) = (0, (0, 0));
        for (at, change, _) in edges {
            held += change;
            most = most.max((held, at));
        }
        let (held, at) = most;
        let too_many = held > i64::try_from(self.most).unwrap();
        too_many.then(|| {
            let of_moment = holds.iter().filter(|hold| hold.began <= at && at < hold.ended);
            let of_moment: Vec<_> = of_moment.map(|hold| hold.summary()).collect();
            format!(
                "{name}: {held} held at {at} where {} are allowed:\n  {}",
                self.most,
                of_moment.join("\n  ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(began: u64, ended: u64) -> Hold {
        Hold { began, ended, ..Hold::default() }
    }

    fn starts(at: &[u64]) -> Vec<Hold> {
        at.iter().map(|at| hold(*at, at + 1)).collect()
    }

    #[test]
    fn a_window_with_one_start_too_many_is_found_wherever_it_begins() {
        let rate = Rate { starts: 2, window_ms: 100 };
        let judge = |at: &[u64]| rate.passed("q", &starts(at).iter().collect::<Vec<_>>());
        assert_eq!(judge(&[0, 50, 100, 150, 200]), None);
        assert!(judge(&[0, 50, 98]).is_some());
        assert!(judge(&[7, 500, 20, 480, 560]).is_some(), "the order of notes does not matter");
    }

    #[test]
    fn times_in_whole_milliseconds_may_be_one_nearer_than_the_moments() {
        let rate = Rate { starts: 1, window_ms: 100 };
        let judge = |at: &[u64]| rate.passed("q", &starts(at).iter().collect::<Vec<_>>());
        assert_eq!(judge(&[0, 99]), None);
        assert!(judge(&[0, 98]).is_some());
    }

    #[test]
    fn one_held_too_many_is_found() {
        let cap = Cap { most: 2 };
        let judge = |holds: &[Hold]| cap.passed("q", &holds.iter().collect::<Vec<_>>());
        assert_eq!(judge(&[hold(0, 10), hold(5, 15), hold(10, 20)]), None);
        assert!(judge(&[hold(0, 10), hold(5, 15), hold(9, 20)]).is_some());
    }
}
