//! The flags of a policy.

use clap::Args;
use ff_core::bounds::{ATTEMPTS, RECLAIMS, STREAM_BYTES, STREAM_BYTES_MIN, STREAM_FRAMES};
use ff_core::overrides::{BackoffOverrides, PolicyOverrides, StreamOverrides};
use ff_core::policy::Growth;
use ff_core::{Category, Millis, Patch};

use super::parse;
use crate::duration;

/// The policy of an execution.
#[derive(Debug, Args)]
pub(crate) struct PolicyFlags {
    /// How many attempts may fail before the execution fails [default: 3].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u32>(1, ATTEMPTS.into()))]
    max_attempts: Option<u32>,

    /// How long to wait after the first failure [default: 1s].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    backoff: Option<Millis>,

    /// Wait the same time after every failure.
    #[arg(long)]
    backoff_fixed: bool,

    /// Double the wait after every failure [default].
    #[arg(long, conflicts_with = "backoff_fixed")]
    backoff_doubling: bool,

    /// The longest wait between attempts [default: 60s, or the backoff if that is longer].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    backoff_cap: Option<Millis>,

    /// How much of the wait is random [default: 20].
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u8>(0, 100))]
    jitter: Option<u8>,

    /// Retry only failures of this category; may be repeated.
    #[arg(long, value_name = "CATEGORY")]
    retry_on: Vec<Category>,

    /// Retry failures of every category [default].
    #[arg(long, conflicts_with = "retry_on")]
    retry_all: bool,

    /// How long one attempt may run before it counts as failed, or none [default: none].
    #[arg(long, value_name = "DURATION", value_parser = span_or_none)]
    #[arg(allow_hyphen_values = true)]
    attempt_timeout: Option<Patch<Millis>>,

    /// How long the execution may take in total before it expires, or none [default: none].
    #[arg(long, value_name = "DURATION", value_parser = span_or_none)]
    #[arg(allow_hyphen_values = true)]
    deadline: Option<Patch<Millis>>,

    /// How long a worker may be silent before it loses the execution [default: 30s].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    lease_ttl: Option<Millis>,

    /// How many times its lease may be lost before it fails [default: 10].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u32>(0, RECLAIMS.into()))]
    max_reclaims: Option<u32>,

    /// How long it is kept after its end [default: 7d].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    retention: Option<Millis>,

    /// How many frames of its stream are kept [default: 10000].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u32>(1, STREAM_FRAMES.into()))]
    stream_frames: Option<u32>,

    /// How many bytes of its stream are kept [default: 4194304].
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u32>(STREAM_BYTES_MIN.into(), STREAM_BYTES.into()))]
    stream_bytes: Option<u32>,
}

fn span_or_none(text: &str) -> Result<Patch<Millis>, String> {
    match text {
        "none" => Ok(Patch::Clear),
        _ => duration::parse(text).map(Patch::Set),
    }
}

impl PolicyFlags {
    /// The overrides that were given. The machine checks their bounds.
    pub(crate) fn ask(self) -> PolicyOverrides {
        let growth = match (self.backoff_fixed, self.backoff_doubling) {
            (true, _) => Some(Growth::Fixed),
            (_, true) => Some(Growth::Exponential),
            (false, false) => None,
        };
        let categories = match self.retry_all {
            true => Patch::Clear,
            false if self.retry_on.is_empty() => Patch::Unset,
            false => Patch::Set(self.retry_on.into_iter().collect()),
        };
        PolicyOverrides {
            max_attempts: self.max_attempts,
            backoff: BackoffOverrides {
                growth,
                base: self.backoff,
                cap: self.backoff_cap,
                jitter_percent: self.jitter,
            },
            categories,
            attempt_timeout: self.attempt_timeout.unwrap_or_default(),
            deadline: self.deadline.unwrap_or_default(),
            lease_ttl: self.lease_ttl,
            max_reclaims: self.max_reclaims,
            retention: self.retention,
            stream: StreamOverrides { frames: self.stream_frames, bytes: self.stream_bytes },
        }
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

    fn ask(flags: &[&str]) -> PolicyOverrides {
        let line = ["x"].iter().chain(flags);
        Line::try_parse_from(line).unwrap().flags.ask()
    }

    #[test]
    fn without_flags_nothing_is_overridden() {
        assert!(ask(&[]).is_empty());
    }

    #[test]
    fn every_flag_reaches_its_field() {
        let ask = ask(&[
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
            "--stream-frames=7",
            "--stream-bytes=70000",
        ]);
        let expected = PolicyOverrides {
            max_attempts: Some(5),
            backoff: BackoffOverrides {
                growth: Some(Growth::Fixed),
                base: Some(Millis::from_secs(2)),
                cap: Some(Millis::from_secs(9)),
                jitter_percent: Some(0),
            },
            categories: Patch::Set(["a", "b"].map(|name| Category::new(name).unwrap()).into()),
            attempt_timeout: Patch::Set(Millis::from_secs(3)),
            deadline: Patch::Set(Millis::from_hours(1)),
            lease_ttl: Some(Millis::new(300)),
            max_reclaims: Some(0),
            retention: Some(Millis::from_days(2)),
            stream: StreamOverrides { frames: Some(7), bytes: Some(70_000) },
        };
        assert_eq!(ask, expected);
    }

    #[test]
    fn a_default_of_a_lane_can_be_cleared() {
        let ask = ask(&[
            "--backoff-doubling",
            "--retry-all",
            "--attempt-timeout=none",
            "--deadline=none",
        ]);
        assert_eq!(ask.backoff.growth, Some(Growth::Exponential));
        assert_eq!(ask.categories, Patch::Clear);
        assert_eq!((ask.attempt_timeout, ask.deadline), (Patch::Clear, Patch::Clear));
        for both in [["--backoff-fixed", "--backoff-doubling"], ["--retry-on=a", "--retry-all"]] {
            assert!(Line::try_parse_from(["x"].iter().chain(&both)).is_err(), "{both:?}");
        }
    }
}
