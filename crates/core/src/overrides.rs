//! What a caller says of a policy, which may be a part of it.
//!
//! A submit asks, and so does the lane it goes to. What the submit says comes before what its lane
//! says, and that before what is built in: see [`PolicyOverrides::policy`].

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::digest::Fields;
use crate::name::Category;
use crate::patch::Patch;
use crate::policy::{Backoff, Growth, Policy, Retry};
use crate::refusal::Refusal;
use crate::stream::StreamPolicy;
use crate::time::Millis;

/// A policy of which any part may be unsaid. The default says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PolicyOverrides {
    /// How many attempts of a run may end by failure.
    pub max_attempts: Option<u32>,
    /// How long to wait before the next attempt.
    pub backoff: BackoffOverrides,
    /// Which categories are retried; cleared, all of them.
    pub categories: Patch<BTreeSet<Category>>,
    /// How long one hold of an attempt may run; cleared, any time.
    pub attempt_timeout: Patch<Millis>,
    /// How long a run may take; cleared, any time.
    pub deadline: Patch<Millis>,
    /// How long a lease lasts without a renewal.
    pub lease_ttl: Option<Millis>,
    /// How many leases a run may lose.
    pub max_reclaims: Option<u32>,
    /// How long the execution stays readable after its end.
    pub retention: Option<Millis>,
    /// How much is kept of what it streams.
    #[serde(default, skip_serializing_if = "StreamOverrides::is_empty")]
    pub stream: StreamOverrides,
}

/// A bound of a stream of which any part may be unsaid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StreamOverrides {
    /// How many frames are kept.
    pub frames: Option<u32>,
    /// How many bytes of them.
    pub bytes: Option<u32>,
}

impl StreamOverrides {
    fn is_empty(&self) -> bool {
        *self == StreamOverrides::default()
    }

    /// This, where it is said, and `under` elsewhere.
    fn over(self, under: StreamPolicy) -> StreamPolicy {
        StreamPolicy {
            frames: self.frames.unwrap_or(under.frames),
            bytes: self.bytes.unwrap_or(under.bytes),
        }
    }
}

/// A backoff of which any part may be unsaid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BackoffOverrides {
    /// How the whole wait grows.
    pub growth: Option<Growth>,
    /// The wait after the first failure.
    pub base: Option<Millis>,
    /// The longest wait.
    pub cap: Option<Millis>,
    /// Which part of the wait is random, in percent.
    pub jitter_percent: Option<u8>,
}

impl PolicyOverrides {
    /// Whether it leaves everything open.
    pub fn is_empty(&self) -> bool {
        *self == PolicyOverrides::default()
    }

    /// The whole policy of a submit that asks this, in a lane that has these defaults.
    ///
    /// A lane's default never breaks a rule that the submit relies on: an execution with an idempotency
    /// key is kept for as long as the key, even if the lane's retention is shorter.
    ///
    /// ```
    /// use ff_core::{Millis, Patch, overrides::PolicyOverrides};
    /// let deadline = Patch::Set(Millis::new(900));
    /// let lane = PolicyOverrides { max_attempts: Some(5), deadline, ..PolicyOverrides::default() };
    /// let submit = PolicyOverrides { deadline: Patch::Clear, ..PolicyOverrides::default() };
    /// let policy = submit.policy(Some(&lane), false);
    /// assert_eq!((policy.retry.max_attempts, policy.deadline), (5, None));
    /// ```
    pub fn policy(&self, lane: Option<&PolicyOverrides>, has_key: bool) -> Policy {
        let silent = PolicyOverrides::default();
        let lane = lane.unwrap_or(&silent);
        let built_in = Policy::default();
        let categories = self.categories.as_ref().of(lane.categories.as_ref().of(None));
        let least = if has_key { bounds::DEDUP_WINDOW } else { Millis::ZERO };
        let of_lane = lane.retention.unwrap_or(built_in.retention).max(least);
        Policy {
            retry: Retry {
                max_attempts: self
                    .max_attempts
                    .or(lane.max_attempts)
                    .unwrap_or(built_in.retry.max_attempts),
                backoff: self.backoff.over(lane.backoff.over(built_in.retry.backoff)),
                categories: categories.cloned(),
            },
            attempt_timeout: self.attempt_timeout.of(lane.attempt_timeout.of(None)),
            deadline: self.deadline.of(lane.deadline.of(None)),
            lease_ttl: self.lease_ttl.or(lane.lease_ttl).unwrap_or(built_in.lease_ttl),
            max_reclaims: self.max_reclaims.or(lane.max_reclaims).unwrap_or(built_in.max_reclaims),
            retention: self.retention.unwrap_or(of_lane),
            stream: self.stream.over(lane.stream.over(built_in.stream)),
        }
    }

    /// Checks every bound of what is said; a refusal names the field.
    pub fn check(&self, has_key: bool) -> Result<(), Refusal> {
        let up_to = |field, said: Option<u32>, least: u32, most: u32| match said {
            Some(said) if !(least..=most).contains(&said) => {
                Err(Refusal::invalid(field, format!("is {said}; give {least} to {most}")))
            }
            _ => Ok(()),
        };
        let within = |field, said: Option<Millis>, least, most| {
            said.map_or(Ok(()), |said: Millis| said.within(field, least, most).map(drop))
        };
        up_to("max_attempts", self.max_attempts, 1, bounds::ATTEMPTS)?;
        within("backoff.base", self.backoff.base, Millis::ZERO, bounds::DELAY)?;
        within("backoff.cap", self.backoff.cap, Millis::ZERO, bounds::DELAY)?;
        if self.backoff.jitter_percent.is_some_and(|percent| percent > 100) {
            return Err(Refusal::invalid("backoff.jitter_percent", "is over 100; give 0 to 100"));
        }
        if let Patch::Set(categories) = &self.categories {
            Refusal::cap("retry.categories", categories.len(), bounds::CATEGORIES, "categories")?;
        }
        let span = |field, said: Patch<Millis>| {
            within(field, said.of(None), bounds::SPAN_MIN, bounds::DELAY)
        };
        span("attempt_timeout", self.attempt_timeout)?;
        span("deadline", self.deadline)?;
        within("lease_ttl", self.lease_ttl, bounds::LEASE_TTL_MIN, bounds::LEASE_TTL_MAX)?;
        up_to("max_reclaims", self.max_reclaims, 0, bounds::RECLAIMS)?;
        let least = if has_key { bounds::DEDUP_WINDOW } else { bounds::RETENTION_MIN };
        within("retention", self.retention, least, bounds::RETENTION_MAX)?;
        self.stream.frames.map_or(Ok(()), StreamPolicy::check_frames)?;
        self.stream.bytes.map_or(Ok(()), StreamPolicy::check_bytes)
    }

    pub(crate) fn fingerprint(&self, fields: &mut Fields) {
        let BackoffOverrides { growth, base, cap, jitter_percent } = self.backoff;
        fields.maybe(self.max_attempts.map(u64::from));
        fields.maybe(growth.map(|growth| growth as u64));
        fields.maybe(base.map(Millis::get));
        fields.maybe(cap.map(Millis::get));
        fields.maybe(jitter_percent.map(u64::from));
        patched(fields, self.categories.as_ref().map(|set| set.len() as u64));
        for category in self.categories.as_ref().of(None).into_iter().flatten() {
            fields.text(category.as_str());
        }
        patched(fields, self.attempt_timeout.map(Millis::get));
        patched(fields, self.deadline.map(Millis::get));
        fields.maybe(self.lease_ttl.map(Millis::get));
        fields.maybe(self.max_reclaims.map(u64::from));
        fields.maybe(self.retention.map(Millis::get));
        // A submit that says nothing of these has the fingerprint it had before they were known.
        if !self.stream.is_empty() {
            fields.maybe(self.stream.frames.map(u64::from));
            fields.maybe(self.stream.bytes.map(u64::from));
        }
    }
}

impl BackoffOverrides {
    /// This, where it is said, and `under` elsewhere. A wait that is asked for is not cut short by a cap
    /// that was not asked for with it.
    fn over(self, under: Backoff) -> Backoff {
        Backoff {
            growth: self.growth.unwrap_or(under.growth),
            base: self.base.unwrap_or(under.base),
            cap: self.cap.unwrap_or(under.cap.max(self.base.unwrap_or(Millis::ZERO))),
            jitter_percent: self.jitter_percent.unwrap_or(under.jitter_percent),
        }
    }
}

fn patched(fields: &mut Fields, said: Patch<u64>) {
    fields.number(u64::from(!said.is_unset()));
    fields.maybe(said.of(None));
}

/// All of it is said.
impl From<Policy> for PolicyOverrides {
    fn from(policy: Policy) -> PolicyOverrides {
        PolicyOverrides {
            max_attempts: Some(policy.retry.max_attempts),
            backoff: policy.retry.backoff.into(),
            categories: policy.retry.categories.into(),
            attempt_timeout: policy.attempt_timeout.into(),
            deadline: policy.deadline.into(),
            lease_ttl: Some(policy.lease_ttl),
            max_reclaims: Some(policy.max_reclaims),
            retention: Some(policy.retention),
            stream: policy.stream.into(),
        }
    }
}

/// All of it is said.
impl From<StreamPolicy> for StreamOverrides {
    fn from(policy: StreamPolicy) -> StreamOverrides {
        StreamOverrides { frames: Some(policy.frames), bytes: Some(policy.bytes) }
    }
}

/// All of it is said.
impl From<Backoff> for BackoffOverrides {
    fn from(backoff: Backoff) -> BackoffOverrides {
        BackoffOverrides {
            growth: Some(backoff.growth),
            base: Some(backoff.base),
            cap: Some(backoff.cap),
            jitter_percent: Some(backoff.jitter_percent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(base: u64, cap: Option<u64>) -> PolicyOverrides {
        let (base, cap) = (Some(Millis::from_secs(base)), cap.map(Millis::from_secs));
        PolicyOverrides {
            backoff: BackoffOverrides { base, cap, ..BackoffOverrides::default() },
            ..PolicyOverrides::default()
        }
    }

    fn capped(cap: u64) -> PolicyOverrides {
        let cap = Some(Millis::from_secs(cap));
        PolicyOverrides {
            backoff: BackoffOverrides { cap, ..BackoffOverrides::default() },
            ..PolicyOverrides::default()
        }
    }

    #[test]
    fn nothing_said_is_what_is_built_in() {
        assert!(PolicyOverrides::default().is_empty());
        assert_eq!(PolicyOverrides::default().policy(None, false), Policy::default());
        assert_eq!(
            PolicyOverrides::default().policy(Some(&PolicyOverrides::default()), true),
            Policy::default()
        );
    }

    #[test]
    fn a_whole_policy_is_itself_in_any_lane() {
        let whole = Policy { deadline: None, ..Policy::default() };
        let lane = PolicyOverrides {
            max_attempts: Some(9),
            categories: Patch::Set([Category::timeout()].into()),
            deadline: Patch::Set(Millis::new(5)),
            ..waits(9, Some(9))
        };
        assert_eq!(PolicyOverrides::from(whole.clone()).policy(Some(&lane), false), whole);
    }

    #[test]
    fn a_wait_is_cut_short_only_by_a_cap_said_with_it_or_above() {
        let longest = |submit: &PolicyOverrides, lane: &PolicyOverrides| {
            submit.policy(Some(lane), false).retry.backoff.wait(99, 0).get() / 1_000
        };
        let silent = PolicyOverrides::default();
        for (submit, lane, most) in [
            (&waits(120, None), &silent, 120),
            (&waits(120, Some(5)), &silent, 5),
            (&silent, &waits(120, None), 120),
            (&silent, &waits(120, Some(5)), 5),
            (&waits(120, None), &capped(5), 120),
            (&waits(2, None), &capped(5), 5),
            (&capped(5), &waits(120, None), 5),
            (&silent, &capped(5), 5),
        ] {
            assert_eq!(longest(submit, lane), most, "{submit:?} in {lane:?}");
        }
    }

    #[test]
    fn a_key_is_kept_though_the_lane_says_less() {
        let lane =
            PolicyOverrides { retention: Some(Millis::new(5)), ..PolicyOverrides::default() };
        let kept =
            |submit: &PolicyOverrides, has_key| submit.policy(Some(&lane), has_key).retention;
        assert_eq!(kept(&PolicyOverrides::default(), false), Millis::new(5));
        assert_eq!(kept(&PolicyOverrides::default(), true), bounds::DEDUP_WINDOW);
        let said =
            PolicyOverrides { retention: Some(Millis::new(7)), ..PolicyOverrides::default() };
        assert_eq!(kept(&said, true), Millis::new(7), "what is said is checked, not changed");
        assert_eq!(said.check(true).unwrap_err().field(), Some("retention"));
        assert_eq!(said.check(false), Ok(()));
    }

    #[test]
    fn what_is_asked_for_is_told_apart() {
        let digest =
            |ask: &PolicyOverrides| crate::digest::Digest::of(|fields| ask.fingerprint(fields));
        let zero = Patch::Set(Millis::ZERO);
        let all = [
            PolicyOverrides::default(),
            Policy::default().into(),
            PolicyOverrides { deadline: Patch::Clear, ..PolicyOverrides::default() },
            PolicyOverrides { deadline: zero, ..PolicyOverrides::default() },
            PolicyOverrides { attempt_timeout: Patch::Clear, ..PolicyOverrides::default() },
            PolicyOverrides { categories: Patch::Clear, ..PolicyOverrides::default() },
            PolicyOverrides {
                categories: Patch::Set(BTreeSet::new()),
                ..PolicyOverrides::default()
            },
            PolicyOverrides { max_reclaims: Some(0), ..PolicyOverrides::default() },
        ];
        let digests: BTreeSet<_> = all.iter().map(|ask| digest(ask).get()).collect();
        assert_eq!(digests.len(), all.len());
    }
}
