//! The flags of a policy.

use clap::Args;
use ff_core::limits::{ATTEMPTS, RECLAIMS};
use ff_core::policy::{Backoff, Growth, Policy};
use ff_core::{Category, Millis};

use super::parse;
use crate::duration;

/// What an execution asks of the engine.
#[derive(Debug, Args)]
#[command(next_help_heading = "Policy")]
pub(crate) struct PolicyFlags {
    /// How many attempts may fail before the execution fails [default: 3].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u32>(1, ATTEMPTS.into()))]
    max_attempts: Option<u32>,

    /// How long to wait after the first failure [default: 1s].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    backoff: Option<Millis>,

    /// Wait equally long every time, instead of twice as long as before.
    #[arg(long)]
    backoff_fixed: bool,

    /// The longest wait between attempts [default: 60s, or the backoff if that is longer].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    backoff_cap: Option<Millis>,

    /// Which part of the wait is random [default: 20].
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u8>(0, 100))]
    jitter: Option<u8>,

    /// Retry only failures of this category; may be repeated [default: all].
    #[arg(long, value_name = "CATEGORY")]
    retry_on: Vec<Category>,

    /// How long one attempt may run before it counts as failed.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    attempt_timeout: Option<Millis>,

    /// How long the execution may take in all; then it expires.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    deadline: Option<Millis>,

    /// How long a worker that went silent keeps the execution [default: 30s].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    lease_ttl: Option<Millis>,

    /// How many workers may go silent on it before it fails [default: 10].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u32>(0, RECLAIMS.into()))]
    max_reclaims: Option<u32>,

    /// How long it stays readable after its end [default: 7d].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    retention: Option<Millis>,
}

impl PolicyFlags {
    /// The defaults, with what was given in their place. Bounds are the machine's to check.
    pub(crate) fn policy(self) -> Policy {
        let mut policy = Policy::default();
        let retry = &mut policy.retry;
        retry.max_attempts = self.max_attempts.unwrap_or(retry.max_attempts);
        let default = Backoff::default();
        let base = self.backoff.unwrap_or(default.base);
        retry.backoff = Backoff {
            growth: if self.backoff_fixed { Growth::Fixed } else { default.growth },
            base,
            // A wait that was asked for is not cut short by a cap that was not.
            cap: self.backoff_cap.unwrap_or(default.cap.max(base)),
            jitter_percent: self.jitter.unwrap_or(default.jitter_percent),
        };
        if !self.retry_on.is_empty() {
            retry.categories = Some(self.retry_on.into_iter().collect());
        }
        policy.attempt_timeout = self.attempt_timeout;
        policy.deadline = self.deadline;
        policy.lease_ttl = self.lease_ttl.unwrap_or(policy.lease_ttl);
        policy.max_reclaims = self.max_reclaims.unwrap_or(policy.max_reclaims);
        policy.retention = self.retention.unwrap_or(policy.retention);
        policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: PolicyFlags,
    }

    fn policy(flags: &[&str]) -> Policy {
        let line = ["x"].iter().chain(flags);
        Line::try_parse_from(line).unwrap().flags.policy()
    }

    #[test]
    fn without_flags_the_policy_is_the_default() {
        assert_eq!(policy(&[]), Policy::default());
    }

    #[test]
    fn every_flag_reaches_its_field() {
        let policy = policy(&[
            "--max-attempts=5",
            "--backoff=2s",
            "--backoff-fixed",
            "--backoff-cap=9s",
            "--jitter=0",
            "--retry-on=b",
            "--retry-on=a",
            "--attempt-timeout=3s",
            "--deadline=1h",
            "--lease-ttl=300ms",
            "--max-reclaims=0",
            "--retention=2d",
        ]);
        let expected = Policy {
            retry: ff_core::policy::Retry {
                max_attempts: 5,
                backoff: Backoff {
                    growth: Growth::Fixed,
                    base: Millis::from_secs(2),
                    cap: Millis::from_secs(9),
                    jitter_percent: 0,
                },
                categories: Some(["a", "b"].map(|name| Category::new(name).unwrap()).into()),
            },
            attempt_timeout: Some(Millis::from_secs(3)),
            deadline: Some(Millis::from_hours(1)),
            lease_ttl: Millis::new(300),
            max_reclaims: 0,
            retention: Millis::from_days(2),
        };
        assert_eq!(policy, expected);
    }

    #[test]
    fn a_long_backoff_is_not_cut_by_the_default_cap() {
        assert_eq!(policy(&["--backoff=2m"]).retry.backoff.wait(1, 0), Millis::from_secs(120));
    }
}
