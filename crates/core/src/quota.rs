//! Quotas: how many executions may start in any window of time, and how many may run at once.
//!
//! A quota counts starts by the latest moment at which each can happen, rounded up to a fraction of
//! the window. So the list of starts is short, and no window ever has too many.

use serde::{Deserialize, Serialize};

use crate::act::Changed;
use crate::bounds;
use crate::name::ResourceName;
use crate::refusal::Refusal;
use crate::time::{Millis, Time};

/// A window is divided into this many steps.
const STEPS: u64 = 256;

/// Executions that wait for a rate are released at moments at least this far apart.
const RELEASE_INTERVAL: Millis = Millis::new(10);

/// What a quota allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaLimits {
    /// How many may start in any window; `None` is any number.
    pub max_requests: Option<u32>,
    /// How long a window is.
    pub window: Millis,
    /// How many may run at once; `None` is any number.
    pub max_active: Option<u32>,
    /// At most this much is added at random to the moment at which waiting work is released.
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
            if most.is_some_and(|most| most == 0 || most > bounds::QUOTA) {
                let why = format!("is out of range; give 1 to {}", bounds::QUOTA);
                return Err(Refusal::invalid(field, why));
            }
        }
        self.window.within("window", bounds::WINDOW_MIN, bounds::WINDOW_MAX)?;
        self.jitter.within("jitter", Millis::ZERO, bounds::JITTER_MAX).map(drop)
    }

    fn step(&self) -> u64 {
        (self.window.get() / STEPS).max(1)
    }

    fn rounded(&self, at: Time) -> Time {
        Time::from_ms(at.as_ms().next_multiple_of(self.step()))
    }
}

/// A quota and what it has admitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// What it allows.
    pub limits: QuotaLimits,
    /// How many run: as many as there are tickets that name it and hold a slot.
    pub active: u32,
    /// Executions may be blocked on it.
    pub has_waiters: bool,
    /// The starts of the last window and those still to happen: rounded times and how many each,
    /// earliest first.
    pub starts: Vec<(Time, u32)>,
    /// When executions that wait for its rate are released next.
    pub release_at: Option<Time>,
    /// When it was created: what was admitted before holds nothing of it, whatever its name.
    pub created_at: Time,
    /// Who changed last what it allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Changed>,
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
    /// How many starts the window that ends now counts.
    pub admitted: u64,
    /// When the window has room for one more start.
    pub next: Time,
    /// Who changed last what it allows.
    pub changed: Option<Changed>,
}

impl Quota {
    /// What everybody may know of it at `now`.
    pub fn view(&self, name: &ResourceName, now: Time) -> QuotaView {
        QuotaView {
            name: name.clone(),
            limits: self.limits.clone(),
            active: self.active,
            admitted: self.counted(now),
            next: self.next_start(now),
            changed: self.changed.clone(),
        }
    }

    /// A quota that has admitted nothing.
    pub fn new(limits: QuotaLimits, created_at: Time) -> Quota {
        let (starts, release_at) = (Vec::new(), None);
        let changed = None;
        Quota { limits, active: 0, has_waiters: false, starts, release_at, created_at, changed }
    }

    /// What keeps the limit of a lane; `None` is no limit.
    pub(crate) fn of_lane(max_active: Option<u32>, created_at: Time) -> Quota {
        let (window, jitter) = (bounds::WINDOW_MIN, Millis::ZERO);
        Quota::new(QuotaLimits { max_requests: None, window, max_active, jitter }, created_at)
    }

    /// That no more may run, for people.
    pub fn crowd(&self) -> Option<String> {
        let most = self.limits.max_active.filter(|most| self.active >= *most)?;
        Some(format!("{} of at most {most} run", self.active))
    }

    /// What a window lets through, for people.
    pub fn pace(&self) -> Option<String> {
        let most = self.limits.max_requests?;
        Some(format!("at most {most} start in any {}", self.limits.window))
    }

    /// Whether it limits starts.
    pub fn limits_starts(&self) -> bool {
        self.limits.max_requests.is_some()
    }

    /// How many more may be admitted at `now`.
    pub fn room(&self, now: Time) -> u64 {
        let slots =
            self.limits.max_active.map_or(u32::MAX, |most| most.saturating_sub(self.active));
        let starts = self
            .limits
            .max_requests
            .map_or(u64::MAX, |most| u64::from(most).saturating_sub(self.counted(now)));
        starts.min(slots.into())
    }

    /// When one more may start as far as the rate is concerned: `now`, or when enough starts have
    /// left the window.
    pub fn next_start(&self, now: Time) -> Time {
        let Some(most) = self.limits.max_requests else { return now };
        let mut counted = self.counted(now);
        for (at, count) in &self.starts {
            if counted < u64::from(most) {
                break;
            }
            let leaves = *at + self.limits.window;
            if leaves > now {
                counted -= u64::from(*count);
                if counted < u64::from(most) {
                    return leaves;
                }
            }
        }
        now
    }

    /// Counts a start that happens at `by` at the latest.
    pub fn count_start(&mut self, by: Time, now: Time) {
        if !self.limits_starts() {
            return;
        }
        let window = self.limits.window;
        self.starts.retain(|(at, _)| *at + window > now);
        let at = self.limits.rounded(by);
        match self.starts.binary_search_by_key(&at, |(time, _)| *time) {
            Ok(place) => self.starts[place].1 += 1,
            Err(place) => self.starts.insert(place, (at, 1)),
        }
    }

    /// Counts a start no more that was to happen at `by` at the latest.
    pub fn uncount_start(&mut self, by: Time) {
        let at = self.limits.rounded(by);
        if let Ok(place) = self.starts.binary_search_by_key(&at, |(time, _)| *time) {
            self.starts[place].1 -= 1;
            if self.starts[place].1 == 0 {
                self.starts.remove(place);
            }
        }
    }

    /// An execution is blocked on it. What waits for the rate is released when the next one may
    /// start; `spread` delays that by a random part of the jitter, in 65,535ths.
    pub(crate) fn expect_waiters(&mut self, now: Time, spread: u16) {
        self.has_waiters = true;
        if !self.limits_starts() {
            return;
        }
        let jitter = self.limits.jitter.get() * u64::from(spread) / u64::from(u16::MAX);
        let at = self.next_start(now).max(now + RELEASE_INTERVAL) + Millis::new(jitter);
        let armed = self.release_at.filter(|armed| *armed > now);
        self.release_at = Some(armed.map_or(at, |armed| armed.min(at)));
    }

    /// A start was moved or taken back: if a release is armed, it may come earlier.
    pub(crate) fn rearm_release(&mut self, now: Time) {
        if self.release_at.is_some() {
            self.expect_waiters(now, 0);
        }
    }

    /// Waiting work is released now; while there may be more, the next release comes when another
    /// start leaves the window, or a window later if none is counted.
    pub(crate) fn release(&mut self, now: Time) {
        let window = self.limits.window;
        let leaving = self.starts.iter().map(|(at, _)| *at + window).find(|leaves| *leaves > now);
        let next = leaving.unwrap_or(now + window).max(now + RELEASE_INTERVAL);
        self.release_at = Some(next).filter(|_| self.has_waiters && self.limits_starts());
    }

    /// No execution is blocked on it.
    pub(crate) fn has_no_waiters(&mut self) {
        (self.has_waiters, self.release_at) = (false, None);
    }

    /// How many starts the window that ends at `now` counts, those to come included.
    fn counted(&self, now: Time) -> u64 {
        let window = self.limits.window;
        let inside = self.starts.iter().filter(|(at, _)| *at + window > now);
        inside.map(|(_, count)| u64::from(*count)).sum()
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

    /// Random arrivals are admitted while there is room. Each starts within a second, or never; some
    /// starts are reported, some are not. No window of the true starts has too many.
    #[test]
    fn no_window_has_too_many_starts() {
        for seed in 0..300 {
            let mut rng = Lcg(seed * 2 + 1);
            let (most, window) = (1 + rng.below(7) as u32, 1 + rng.below(3_000));
            let mut quota = quota(most, window);
            let mut now = Time::from_ms(1_700_000_000_000 + rng.below(1_000));
            let (mut pending, mut started): (Vec<(Time, Time)>, Vec<Time>) =
                (Vec::new(), Vec::new());
            for _ in 0..600 {
                now = now + Millis::new(rng.below(window / u64::from(most) + 2));
                pending.retain(|(at, by)| {
                    if *at > now {
                        return true;
                    }
                    started.push(*at);
                    if rng.below(2) == 0 {
                        quota.uncount_start(*by);
                        quota.count_start(*at, now);
                    }
                    false
                });
                if quota.room(now) > 0 {
                    let by = now + Millis::new(1_000);
                    quota.count_start(by, now);
                    match rng.below(5) {
                        0 => quota.uncount_start(by),
                        _ => pending.push((now + Millis::new(rng.below(1_001)), by)),
                    }
                } else {
                    assert!(quota.next_start(now) > now, "seed {seed}");
                }
            }
            started.sort_unstable();
            for (place, first) in started.iter().enumerate() {
                let end = *first + Millis::new(window);
                let inside = started[place..].iter().filter(|at| **at < end).count();
                assert!(inside <= most as usize, "seed {seed}: {inside} of {most} in a window");
            }
            assert!(started.len() > 20, "seed {seed}: {} started", started.len());
        }
    }

    #[test]
    fn the_list_of_starts_stays_short() {
        let mut quota = quota(100_000, 60_000);
        let mut now = Time::from_ms(1_700_000_000_000);
        for _ in 0..100_000 {
            now = now + Millis::new(7);
            quota.count_start(now, now);
        }
        assert!(quota.starts.len() as u64 <= 2 * STEPS, "{} entries", quota.starts.len());
    }

    #[test]
    fn waiting_work_is_released_when_the_oldest_start_leaves_the_window() {
        let mut quota = quota(2, 1_000);
        let now = Time::from_ms(1_700_000_000_000);
        quota.count_start(now, now);
        quota.count_start(now + Millis::new(400), now);
        quota.expect_waiters(now, 0);
        let first = quota.release_at.unwrap();
        assert!((1_000..1_010).contains(&first.since(now).get()), "{first:?}");
        quota.release(first);
        let second = quota.release_at.unwrap();
        assert!((1_400..1_410).contains(&second.since(now).get()), "{second:?}");
    }

    struct Lcg(u64);

    impl Lcg {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % bound.max(1)
        }
    }
}
