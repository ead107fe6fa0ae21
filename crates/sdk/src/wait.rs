//! What a task waits for, described.
//!
//! A [`Wait`] keeps what it is given and is checked by the call that takes it: one error then names the
//! field at fault.

use std::time::Duration;

use ff_core::condition::{Condition, CountOf};
use ff_core::machine::{LeaseRef, NewWaitpoint, Suspend};
use ff_core::suspension::{OnTimeout, SuspendReason};
use ff_core::{Refusal, SignalName, StepName, WaitpointKey, When};
use ff_store::mint;

use crate::time::millis;

/// What a task waits for: signals at waitpoints, so many or of so many senders, all or any of several
/// such conditions, for as long as it takes or for a time.
///
/// ```
/// use std::time::Duration;
/// use ff_sdk::{OnTimeout, Wait};
///
/// // A signal of this name, or nothing after an hour.
/// let paid = Wait::at("payment").named("paid").within(Duration::from_secs(3_600));
///
/// // Two different people, and the lawyers or the chair; without them it fails in a week.
/// let lawyers = Wait::at("legal").named("approve");
/// let chair = Wait::at("chair").named("approve");
/// let signed = Wait::all([Wait::at("board").sources(2), Wait::any([lawyers, chair])])
///     .within(Duration::from_secs(7 * 86_400))
///     .on_timeout(OnTimeout::Fail);
///
/// // Three of these four have answered.
/// let quorum = Wait::at("a").and_at("b").and_at("c").and_at("d").waitpoints(3);
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing waits before a call takes it"]
pub struct Wait {
    /// What ends it, or the first error.
    what: Result<What, Refusal>,
    timeout: Option<Duration>,
    on_timeout: OnTimeout,
    reason: SuspendReason,
    message: Option<Box<str>>,
}

#[derive(Debug, Clone)]
enum What {
    Signals(Signals),
    All(Vec<What>),
    Any(Vec<What>),
}

#[derive(Debug, Clone)]
struct Signals {
    waitpoints: Vec<String>,
    name: Option<String>,
    n: u32,
    of: CountOf,
}

impl Wait {
    /// A signal at this waitpoint, which is opened unless it is.
    pub fn at(waitpoint: &str) -> Wait {
        let waitpoints = vec![waitpoint.to_owned()];
        let signals = Signals { waitpoints, name: None, n: 1, of: CountOf::Signals };
        Wait::new(Ok(What::Signals(signals)))
    }

    /// All of these.
    pub fn all(parts: impl IntoIterator<Item = Wait>) -> Wait {
        let parts: Result<_, _> = parts.into_iter().map(Wait::part).collect();
        Wait::new(parts.map(What::All))
    }

    /// One of these.
    pub fn any(parts: impl IntoIterator<Item = Wait>) -> Wait {
        let parts: Result<_, _> = parts.into_iter().map(Wait::part).collect();
        Wait::new(parts.map(What::Any))
    }

    fn new(what: Result<What, Refusal>) -> Wait {
        Wait {
            what,
            timeout: None,
            on_timeout: OnTimeout::Resume,
            reason: SuspendReason::Signal,
            message: None,
        }
    }

    /// Also at this waitpoint.
    pub fn and_at(self, waitpoint: &str) -> Wait {
        self.change(|signals| signals.waitpoints.push(waitpoint.to_owned()))
    }

    /// Only signals of this name.
    pub fn named(self, name: &str) -> Wait {
        self.change(|signals| signals.name = Some(name.to_owned()))
    }

    /// So many signals, at any of the waitpoints.
    pub fn signals(self, n: u32) -> Wait {
        self.change(|signals| (signals.n, signals.of) = (n, CountOf::Signals))
    }

    /// Signals of so many different senders, as the engine knows them.
    pub fn sources(self, n: u32) -> Wait {
        self.change(|signals| (signals.n, signals.of) = (n, CountOf::Sources))
    }

    /// Signals at so many of the waitpoints.
    pub fn waitpoints(self, n: u32) -> Wait {
        self.change(|signals| (signals.n, signals.of) = (n, CountOf::Waitpoints))
    }

    /// At most this long. At equal times the timeout wins.
    pub fn within(mut self, longest: Duration) -> Wait {
        self.timeout = Some(longest);
        self
    }

    /// What happens to the task when its time is over; by default it continues and learns of it.
    pub fn on_timeout(mut self, then: OnTimeout) -> Wait {
        self.on_timeout = then;
        self
    }

    /// The kind of answer it waits for, by which people list it; by default a signal.
    pub fn reason(mut self, reason: SuspendReason) -> Wait {
        self.reason = reason;
        self
    }

    /// The question, for people.
    pub fn message(mut self, message: &str) -> Wait {
        self.message = Some(message.into());
        self
    }

    fn change(mut self, change: impl FnOnce(&mut Signals)) -> Wait {
        if let Ok(What::Signals(signals)) = &mut self.what {
            change(signals);
        } else if self.what.is_ok() {
            let why = "is all or any of several; describe the signals of each part";
            self.what = Err(Refusal::invalid("wait", why));
        }
        self
    }

    /// A part of another wait, which alone has a timeout, a reason and a message.
    fn part(self) -> Result<What, Refusal> {
        let is_plain = self.timeout.is_none()
            && self.on_timeout == OnTimeout::Resume
            && self.reason == SuspendReason::Signal
            && self.message.is_none();
        match is_plain {
            true => self.what,
            false => {
                let why = "has a timeout, a reason or a message in one of its parts; give them to the \
                           whole";
                Err(Refusal::invalid("wait", why))
            }
        }
    }

    /// The command that waits, of the holder of `hold`.
    pub(crate) fn suspend(
        self,
        hold: LeaseRef,
        step: Option<StepName>,
        keep_if_satisfied: bool,
    ) -> Result<Suspend, Refusal> {
        let (what, mut keys) = (self.what?, Vec::new());
        let condition = what.condition(&mut keys)?;
        condition.check(&keys)?;
        let waitpoints = keys.into_iter().map(new_waitpoint).collect();
        Ok(Suspend {
            hold,
            waitpoints,
            condition,
            timeout: self.timeout.map(|longest| When::After(millis(longest))),
            on_timeout: self.on_timeout,
            reason: self.reason,
            message: self.message,
            step,
            keep_if_satisfied,
        })
    }
}

impl What {
    /// The condition; its waitpoints are added to `all`.
    fn condition(self, all: &mut Vec<WaitpointKey>) -> Result<Condition, Refusal> {
        let Signals { waitpoints, name, n, of } = match self {
            What::Signals(signals) => signals,
            What::All(parts) => return Ok(Condition::All(What::conditions(parts, all)?)),
            What::Any(parts) => return Ok(Condition::Any(What::conditions(parts, all)?)),
        };
        let mut keys = Vec::with_capacity(waitpoints.len());
        for waitpoint in waitpoints {
            let key = WaitpointKey::new(waitpoint)?;
            if !all.contains(&key) {
                all.push(key.clone());
            }
            keys.push(key);
        }
        let name = name.map(SignalName::new).transpose()?;
        Ok(Condition::Count { n, of, waitpoints: keys, name })
    }

    fn conditions(
        parts: Vec<What>,
        all: &mut Vec<WaitpointKey>,
    ) -> Result<Vec<Condition>, Refusal> {
        parts.into_iter().map(|part| part.condition(all)).collect()
    }
}

/// A waitpoint of this key that stays open.
pub(crate) fn new_waitpoint(key: WaitpointKey) -> NewWaitpoint {
    NewWaitpoint { id: mint::waitpoint_id(), key, until: None }
}
