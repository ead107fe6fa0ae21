//! Quotas: so many requests in any stretch of time, so many at once.
//!
//! The log of a quota has what was admitted and what is booked, by time. Times are rounded up to a
//! fraction of the window, so the log is short and what it admits is never too much.

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::name::ResourceName;
use crate::refusal::Refusal;
use crate::time::{Millis, Time};

/// A window is told apart in so many steps.
const STEPS: u64 = 256;

/// What a quota allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaLimits {
    /// How many may be admitted in any window; `None` is any number.
    pub max_requests: Option<u32>,
    /// How long a window is.
    pub window: Millis,
    /// How many may run at once; `None` is any number.
    pub max_active: Option<u32>,
    /// At most this much is added to the wait of who comes too early, at random.
    pub jitter: Millis,
}

impl QuotaLimits {
    /// Checks every bound; a refusal names the field.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.max_requests.is_none() && self.max_active.is_none() {
            let why = "is missing, and so is max_active; give one of them";
            return Err(Refusal::invalid("max_requests", why));
        }
        for (field, most) in [("max_requests", self.max_requests), ("max_active", self.max_active)]
        {
            if most.is_some_and(|most| most == 0 || most > limits::QUOTA) {
                let why = format!("is out of range; give 1 to {}", limits::QUOTA);
                return Err(Refusal::invalid(field, why));
            }
        }
        self.window.within("window", limits::WINDOW_MIN, limits::WINDOW_MAX)?;
        self.jitter.within("jitter", Millis::ZERO, limits::JITTER_MAX).map(drop)
    }

    fn step(&self) -> u64 {
        (self.window.get() / STEPS).max(1)
    }

    fn rounded(&self, at: Time) -> Time {
        Time::from_ms(at.as_ms().next_multiple_of(self.step()))
    }
}

/// A quota and what it has let through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// What it allows.
    pub limits: QuotaLimits,
    /// How many run: as many as there are tickets that name it and hold a place.
    pub active: u32,
    /// Some have waited for a place since it was made.
    pub waited: bool,
    /// What was admitted and what is booked: rounded times and how many each, earliest first.
    pub log: Vec<(Time, u32)>,
    /// When it was made: what was admitted before holds nothing of it, whatever its name.
    pub made: Time,
}

/// A quota as everybody may know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaView {
    /// Its name.
    pub name: ResourceName,
    /// What it allows.
    pub limits: QuotaLimits,
    /// How many run.
    pub active: u32,
    /// How many were let through in the window that ends now.
    pub admitted: u64,
    /// How many have a moment booked.
    pub booked: u64,
    /// When the window has room for one that comes now.
    pub next: Time,
}

impl Quota {
    /// What everybody may know of it at `now`.
    pub fn view(&self, name: &ResourceName, now: Time) -> QuotaView {
        let end = self.limits.rounded(now);
        let sum = |booked: bool| {
            let counted = self
                .log
                .iter()
                .filter(|(at, _)| *at + self.limits.window > now && (*at > end) == booked);
            counted.map(|(_, count)| u64::from(*count)).sum()
        };
        QuotaView {
            name: name.clone(),
            limits: self.limits.clone(),
            active: self.active,
            admitted: sum(false),
            booked: sum(true),
            next: self.next_free(now),
        }
    }

    /// A quota that has let nothing through.
    pub fn new(limits: QuotaLimits, made: Time) -> Quota {
        Quota { limits, active: 0, waited: false, log: Vec::new(), made }
    }

    /// What keeps the limit of a lane; `None` is no limit.
    pub(crate) fn of_lane(max_active: Option<u32>, made: Time) -> Quota {
        let (window, jitter) = (limits::WINDOW_MIN, Millis::ZERO);
        Quota::new(QuotaLimits { max_requests: None, window, max_active, jitter }, made)
    }

    /// Whether one more may run.
    pub fn has_place(&self) -> bool {
        self.limits.max_active.is_none_or(|most| self.active < most)
    }

    /// That no more may run, for people.
    pub fn crowd(&self) -> Option<String> {
        let most = self.limits.max_active.filter(|_| !self.has_place())?;
        Some(format!("{} of at most {most} run", self.active))
    }

    /// What a window lets through, for people.
    pub fn pace(&self) -> Option<String> {
        let most = self.limits.max_requests?;
        Some(format!("at most {most} start in any {}", self.limits.window))
    }

    /// How many more may run.
    pub fn places(&self) -> u32 {
        self.limits.max_active.map_or(u32::MAX, |most| most.saturating_sub(self.active))
    }

    /// When one more may be admitted: `now`, or the first free moment after all that is booked.
    pub fn next_free(&self, now: Time) -> Time {
        let Some(most) = self.limits.max_requests else { return now };
        let ahead = self.log.last().map_or(now, |(last, _)| (*last).max(now));
        let mut newer = 0u64;
        // Of as many as may be in a window, the oldest must leave it first.
        for (at, count) in self.log.iter().rev() {
            newer += u64::from(*count);
            if newer >= u64::from(most) {
                let free = *at + self.limits.window;
                return if free <= now { now } else { free.max(ahead) };
            }
        }
        now
    }

    /// Whether one whose booked time has come, and is taken back, may be admitted at `now`. What is
    /// booked for later has its own turn.
    pub fn fits(&self, now: Time) -> bool {
        let Some(most) = self.limits.max_requests else { return true };
        let end = self.limits.rounded(now);
        let inside = self.log.iter().filter(|(at, _)| *at <= end && *at + self.limits.window > now);
        inside.map(|(_, count)| u64::from(*count)).sum::<u64>() < u64::from(most)
    }

    /// Takes note of one that is admitted or booked at `at`.
    pub fn note(&mut self, at: Time, now: Time) {
        if self.limits.max_requests.is_none() {
            return;
        }
        self.forget(now);
        let at = self.limits.rounded(at);
        match self.log.binary_search_by_key(&at, |(time, _)| *time) {
            Ok(place) => self.log[place].1 += 1,
            Err(place) => self.log.insert(place, (at, 1)),
        }
    }

    /// Takes back what was noted at `at`.
    pub fn take_back(&mut self, at: Time) {
        let at = self.limits.rounded(at);
        if let Ok(place) = self.log.binary_search_by_key(&at, |(time, _)| *time) {
            self.log[place].1 -= 1;
            if self.log[place].1 == 0 {
                self.log.remove(place);
            }
        }
    }

    /// Forgets what no window reaches any more.
    fn forget(&mut self, now: Time) {
        let window = self.limits.window;
        self.log.retain(|(at, _)| *at + window > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(most: u32, window: u64) -> Quota {
        let limits = QuotaLimits {
            max_requests: Some(most),
            window: Millis::new(window),
            max_active: None,
            jitter: Millis::ZERO,
        };
        Quota::new(limits, Time::EPOCH)
    }

    /// Random arrivals, some of which wait as they are told, some give up: no window of the times at
    /// which they were let through has too many.
    #[test]
    fn no_window_lets_too_many_through() {
        for seed in 0..300 {
            let mut rng = Lcg(seed * 2 + 1);
            let (most, window) = (1 + rng.below(7) as u32, 1 + rng.below(3_000));
            let mut quota = quota(most, window);
            let mut now = Time::from_ms(1_700_000_000_000 + rng.below(1_000));
            let (mut booked, mut admitted): (Vec<Time>, Vec<Time>) = (Vec::new(), Vec::new());
            for _ in 0..300 {
                now = now + Millis::new(rng.below(window / u64::from(most) + 2));
                if let Some(place) = booked.iter().position(|at| *at <= now) {
                    let at = booked.remove(place);
                    quota.take_back(at);
                    if rng.below(5) == 0 {
                        continue;
                    }
                    if quota.fits(now) {
                        quota.note(now, now);
                        admitted.push(now);
                        continue;
                    }
                }
                let free = quota.next_free(now);
                quota.note(free, now);
                if free <= now { admitted.push(now) } else { booked.push(free) }
            }
            for (place, first) in admitted.iter().enumerate() {
                let end = *first + Millis::new(window);
                let inside = admitted[place..].iter().filter(|at| **at < end).count();
                assert!(inside <= most as usize, "seed {seed}: {inside} of {most} in a window");
            }
            assert!(admitted.len() > 20, "seed {seed}: {} were let through", admitted.len());
        }
    }

    #[test]
    fn the_log_stays_short() {
        let mut quota = quota(100_000, 60_000);
        let mut now = Time::from_ms(1_700_000_000_000);
        for _ in 0..100_000 {
            now = now + Millis::new(7);
            let free = quota.next_free(now);
            quota.note(free, now);
        }
        assert!(quota.log.len() as u64 <= 2 * STEPS, "{} entries", quota.log.len());
    }

    #[test]
    fn the_waiters_are_booked_one_after_the_other() {
        let mut quota = quota(2, 1_000);
        let now = Time::from_ms(1_700_000_000_000);
        let times: Vec<_> = (0..6)
            .map(|_| {
                let free = quota.next_free(now);
                quota.note(free, now);
                free.since(now).get()
            })
            .collect();
        assert_eq!(times[..2], [0, 0]);
        assert!(times.is_sorted(), "{times:?}");
        assert!(times[2] >= 1_000 && times[4] >= 2_000 && times[5] < 2_100, "{times:?}");
    }

    struct Lcg(u64);

    impl Lcg {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % bound.max(1)
        }
    }
}
