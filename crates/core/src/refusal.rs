//! What the machine says instead of yes.
//!
//! A refusal is a value: closed, coded and testable. It means the command was understood, decided
//! on and changed nothing. The code is stable; the message says what was attempted, why not, and
//! what to do.

use std::fmt;
use std::str::FromStr;

pub use crate::full::Full;
use crate::name::Kid;
use crate::time::Millis;
use crate::view::PublicState;

/// Why a command was refused. A refused command has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An argument is not acceptable.
    #[error("{field} {why}")]
    Invalid {
        /// The argument at fault.
        field: &'static str,
        /// What is wrong with it and what would be right.
        why: String,
    },
    /// An argument is larger than its bound.
    #[error("{field} has {got} {unit}; at most {most} are taken")]
    TooLarge {
        /// The argument at fault.
        field: &'static str,
        /// Its size.
        got: usize,
        /// The bound.
        most: usize,
        /// What the numbers count.
        unit: &'static str,
    },
    /// No such execution in the caller's namespace.
    #[error("no such execution in this namespace; check the id and the namespace")]
    NotFound,
    /// The id names an execution submitted with another body.
    #[error("this id names an execution with another body; make a new id for new work")]
    IdConflict,
    /// The idempotency key names an execution submitted with another body.
    #[error("this idempotency key was used with another body; use a new key for new work")]
    IdempotencyConflict,
    /// The caller does not hold the execution: its lease has ended, or was never this one.
    #[error("the lease has ended: {why}; stop working on it and drop what was not reported")]
    StaleLease {
        /// How it ended, as far as the record shows.
        why: Stale,
    },
    /// The execution was cancelled under this lease.
    #[error("the execution was cancelled; stop working on it")]
    Cancelled,
    /// This lease already ended the execution's hold in another way.
    #[error("this lease has already ended with another outcome; the first one stands")]
    ExitConflict,
    /// The grant has expired, was used, or was never this one.
    #[error("the grant is gone; ask for another")]
    StaleGrant,
    /// The grant is there, and was made for another worker.
    #[error(
        "the grant was made for another worker; claim with the worker and instance it was made \
         for, or ask for a grant of your own"
    )]
    WrongWorker,
    /// The execution is in a state in which the command has no meaning.
    #[error("the execution is {state}; {command} needs it to be {needs}")]
    WrongState {
        /// What was attempted.
        command: &'static str,
        /// The state it is in.
        state: PublicState,
        /// The states in which the command is taken.
        needs: &'static str,
    },
    /// Replay named a run that is not the current one.
    #[error("the execution is at run {current}; read it again and replay that run")]
    RunMismatch {
        /// The current run.
        current: u32,
    },
    /// Another live process has registered under this worker instance id.
    #[error(
        "another process has registered as this worker instance and is alive; give each \
         process its own instance id, or stop the other one: it counts as gone in {left}"
    )]
    WorkerAlive {
        /// How long until the other one counts as gone.
        left: Millis,
    },
    /// The worker has not registered, or counts as gone since.
    #[error("this worker is not registered; register it, then repeat the call")]
    NotRegistered,
    /// An operator has paused the lane.
    #[error("the lane is paused; ask again when it is resumed")]
    LanePaused,
    /// An operator has said that the lane takes no new work.
    #[error("the lane is draining and takes no new work; use another lane, or resume this one")]
    LaneDraining,
    /// The journal has another result, a sleep or a wait under this name.
    #[error(
        "the journal has an entry with another content under this name, and the first one stands; \
         give each step, sleep and wait of an execution a name of its own"
    )]
    StepConflict,
    /// The journal shows no entry of this name.
    #[error("the journal shows no entry of this name; read it, and name one that is kept")]
    NoSuchStep,
    /// The frames, or the patch, do not follow what is there.
    #[error("the next number is {next}; send what is missing first, or continue from there")]
    FrameGap {
        /// The number that comes next.
        next: u64,
    },
    /// There is no such budget, quota or lane in the caller's namespace.
    #[error("no such {what} in this namespace; check its name and the namespace")]
    NoSuch {
        /// What was named.
        what: &'static str,
    },
    /// A signed token is malformed, forged, expired or of a key that no longer verifies: one answer to
    /// all of them.
    #[error("the token is not valid; ask for a new one")]
    InvalidToken,
    /// This process has no key to sign a token with.
    #[error(
        "there is no signing key here, so no token can be made; start the server with --signing-keys \
         FILE"
    )]
    NoSigningKey,
    /// A signing key cannot become current, or be retired.
    #[error("signing key {kid} {why}")]
    KeyConflict {
        /// Which.
        kid: Kid,
        /// Why not, and what to do.
        why: &'static str,
    },
    /// The waitpoint is closed: by its time, by its holder, or because what waited for it has ended.
    #[error("the waitpoint is closed; nothing waits for this signal any more")]
    WaitpointClosed,
    /// The log no longer has all events after a cursor.
    #[error(
        "the log no longer has every event after this cursor; read the present state, then begin \
         without a cursor"
    )]
    CursorExpired,
    /// A webhook may not send to its target.
    #[error("the target {why}; give an https:// URL of a host on the public internet")]
    TargetRefused {
        /// Why not.
        why: &'static str,
    },
    /// A bounded collection is full.
    #[error("{what}")]
    LimitReached {
        /// Which, and of how much.
        what: Full,
    },
}

/// How a lease ended, seen from its former holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stale {
    /// Its time, or the attempt's or execution's time, has passed.
    Expired,
    /// Another lease, or none, holds the execution now.
    Replaced,
    /// The execution is finished.
    Finished,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stale::Expired => "its time has passed",
            Stale::Replaced => "it no longer holds the execution",
            Stale::Finished => "the execution is finished",
        })
    }
}

/// The stable code of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// See [`Refusal::Invalid`].
    InvalidArgument,
    /// See [`Refusal::TooLarge`].
    TooLarge,
    /// See [`Refusal::NotFound`].
    NotFound,
    /// See [`Refusal::IdConflict`].
    IdConflict,
    /// See [`Refusal::IdempotencyConflict`].
    IdempotencyConflict,
    /// See [`Refusal::StaleLease`].
    StaleLease,
    /// See [`Refusal::Cancelled`].
    Cancelled,
    /// See [`Refusal::ExitConflict`].
    ExitConflict,
    /// See [`Refusal::StaleGrant`].
    StaleGrant,
    /// See [`Refusal::WrongWorker`].
    WrongWorker,
    /// See [`Refusal::WrongState`].
    WrongState,
    /// See [`Refusal::RunMismatch`].
    RunMismatch,
    /// See [`Refusal::WorkerAlive`].
    WorkerAlive,
    /// See [`Refusal::NotRegistered`].
    NotRegistered,
    /// See [`Refusal::LanePaused`].
    LanePaused,
    /// See [`Refusal::LaneDraining`].
    LaneDraining,
    /// See [`Refusal::WaitpointClosed`].
    WaitpointClosed,
    /// See [`Refusal::LimitReached`].
    LimitReached,
    /// See [`Refusal::StepConflict`].
    StepConflict,
    /// See [`Refusal::FrameGap`].
    FrameGap,
    /// See [`Refusal::InvalidToken`].
    InvalidToken,
    /// See [`Refusal::NoSigningKey`].
    NoSigningKey,
    /// See [`Refusal::KeyConflict`].
    KeyConflict,
    /// See [`Refusal::CursorExpired`].
    CursorExpired,
    /// See [`Refusal::TargetRefused`].
    TargetRefused,
}

impl Code {
    /// Every code, in the order of the reference page.
    pub const ALL: [Code; 25] = [
        Code::InvalidArgument,
        Code::TooLarge,
        Code::NotFound,
        Code::IdConflict,
        Code::IdempotencyConflict,
        Code::StaleLease,
        Code::Cancelled,
        Code::ExitConflict,
        Code::StaleGrant,
        Code::WrongWorker,
        Code::WrongState,
        Code::RunMismatch,
        Code::WorkerAlive,
        Code::NotRegistered,
        Code::LanePaused,
        Code::LaneDraining,
        Code::WaitpointClosed,
        Code::LimitReached,
        Code::StepConflict,
        Code::FrameGap,
        Code::InvalidToken,
        Code::NoSigningKey,
        Code::KeyConflict,
        Code::CursorExpired,
        Code::TargetRefused,
    ];

    /// The code as it is written everywhere: snake case, never changed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Code::InvalidArgument => "invalid_argument",
            Code::TooLarge => "too_large",
            Code::NotFound => "not_found",
            Code::IdConflict => "id_conflict",
            Code::IdempotencyConflict => "idempotency_conflict",
            Code::StaleLease => "stale_lease",
            Code::Cancelled => "cancelled",
            Code::ExitConflict => "exit_conflict",
            Code::StaleGrant => "stale_grant",
            Code::WrongWorker => "wrong_worker",
            Code::WrongState => "wrong_state",
            Code::RunMismatch => "run_mismatch",
            Code::WorkerAlive => "worker_alive",
            Code::NotRegistered => "not_registered",
            Code::LanePaused => "lane_paused",
            Code::LaneDraining => "lane_draining",
            Code::WaitpointClosed => "waitpoint_closed",
            Code::LimitReached => "limit_reached",
            Code::StepConflict => "step_conflict",
            Code::FrameGap => "frame_gap",
            Code::InvalidToken => "invalid_token",
            Code::NoSigningKey => "no_signing_key",
            Code::KeyConflict => "key_conflict",
            Code::CursorExpired => "cursor_expired",
            Code::TargetRefused => "target_refused",
        }
    }

    /// What it means and what a caller does about it, for the reference page.
    pub const fn help(self) -> &'static str {
        match self {
            Code::InvalidArgument => {
                "An argument is malformed or out of range. The message names it and says what is \
                 accepted. Correct it; repeating the same call gives the same answer."
            }
            Code::TooLarge => {
                "An argument is over its bound (see the limits page). Send less, or keep large data \
                 elsewhere and submit a reference to it."
            }
            Code::NotFound => {
                "The namespace holds no such execution: it never did, or its retention has passed. \
                 An execution of another namespace gives the same answer."
            }
            Code::IdConflict => {
                "The caller-made id already names an execution that was submitted with another body. \
                 The same id with the same body answers with that execution."
            }
            Code::IdempotencyConflict => {
                "The idempotency key already names an execution that was submitted with another \
                 body. Use a new key for new work, or send the first body again."
            }
            Code::StaleLease => {
                "The caller no longer holds the execution: the lease ran out, was revoked, or the \
                 execution was given to another worker. Nothing was changed. Stop the work."
            }
            Code::Cancelled => {
                "The execution was cancelled while this lease held it. Nothing was changed. Stop \
                 the work."
            }
            Code::ExitConflict => {
                "The lease already ended (complete, fail, delay, cancel or hand back) with another \
                 outcome than this call asks for. The first outcome stands. The same outcome again \
                 gets the first answer again."
            }
            Code::StaleGrant => {
                "The claim grant has expired, was already used for another claim, or never existed. \
                 The execution is back in its place in the queue; ask for a new grant."
            }
            Code::WrongWorker => {
                "The claim grant is valid, but was made for another worker or another instance of \
                 it. Nothing was changed, and its worker can still use it. Claim as that worker, or \
                 ask for a grant of your own."
            }
            Code::WrongState => {
                "The command has no meaning in the execution's present state; the message names both. \
                 Read the execution, then decide."
            }
            Code::RunMismatch => {
                "Replay names the run it expects to follow, and the execution has moved on. Read the \
                 execution and replay its current run."
            }
            Code::WorkerAlive => {
                "Another live process is registered under the same worker instance id. Give each process its own; a dead process is replaced once its registration expires."
            }
            Code::NotRegistered => {
                "The worker is not registered in this namespace, was silent for too long, or another process took over its instance id. Register again, then continue."
            }
            Code::LanePaused => {
                "An operator has paused the lane, so a reservation in it cannot be claimed now. It \
                 returns to the queue when it expires."
            }
            Code::LaneDraining => {
                "An operator is draining the lane: existing executions still run, and new ones are refused. Submit to another lane, or resume this one."
            }
            Code::WaitpointClosed => {
                "The waitpoint takes no more signals: its time is over, its holder closed it, the suspension that waited for it has ended, or the execution has. A closed waitpoint is never opened again."
            }
            Code::LimitReached => {
                "A bounded collection is full (see the limits page): runs of one execution, its journal, open waitpoints or signals, distinct required capability sets queued in one lane, or secrets of one token."
            }
            Code::StepConflict => {
                "The execution's journal already has an entry of this name that says something else. \
                 The first one stands: the same result again gets the first answer again. Give each \
                 step, sleep and wait a name of its own."
            }
            Code::FrameGap => {
                "The number of the first frame, or of a patch of the summary, is past the next one: \
                 something before it is missing. Nothing was added. The message has the next number; \
                 a call without frames answers it too."
            }
            Code::InvalidToken => {
                "The signed token is malformed, was changed, has expired, or its key no longer \
                 verifies. All of these give this one answer, and nothing was read or changed. Ask \
                 for a new token."
            }
            Code::NoSigningKey => {
                "The process that was asked for a signed token has no signing key, or not the current \
                 one. An operator gives it the file of keys (see docs/keys.md)."
            }
            Code::KeyConflict => {
                "A signing key cannot become current because its name was used before, or cannot be \
                 retired because it is the current one. Make a key with a new name."
            }
            Code::CursorExpired => {
                "The log of events no longer has all that happened after this cursor: it was trimmed \
                 by time or count, the feed was off in between, or the store has lost writes. \
                 Nothing was skipped silently. Read the present state, then begin without a cursor."
            }
            Code::TargetRefused => {
                "A webhook may not send to this URL: it is not https, its host does not resolve, or it is \
                 on a private, local or reserved address. An operator of the server can allow private \
                 targets (see docs/webhooks.md)."
            }
        }
    }
}

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Code, UnknownCode> {
        Code::ALL.into_iter().find(|code| code.as_str() == text).ok_or(UnknownCode)
    }
}

/// The text is no code of this release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a code of this release")]
pub struct UnknownCode;

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Refusal {
    /// An argument that is malformed or out of range.
    pub fn invalid(field: &'static str, why: impl Into<String>) -> Refusal {
        Refusal::Invalid { field, why: why.into() }
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Refusal::Invalid { .. } => Code::InvalidArgument,
            Refusal::TooLarge { .. } => Code::TooLarge,
            Refusal::NotFound | Refusal::NoSuch { .. } | Refusal::NoSuchStep => Code::NotFound,
            Refusal::IdConflict => Code::IdConflict,
            Refusal::IdempotencyConflict => Code::IdempotencyConflict,
            Refusal::StaleLease { .. } => Code::StaleLease,
            Refusal::Cancelled => Code::Cancelled,
            Refusal::ExitConflict => Code::ExitConflict,
            Refusal::StaleGrant => Code::StaleGrant,
            Refusal::WrongWorker => Code::WrongWorker,
            Refusal::WrongState { .. } => Code::WrongState,
            Refusal::RunMismatch { .. } => Code::RunMismatch,
            Refusal::WorkerAlive { .. } => Code::WorkerAlive,
            Refusal::NotRegistered => Code::NotRegistered,
            Refusal::LanePaused => Code::LanePaused,
            Refusal::LaneDraining => Code::LaneDraining,
            Refusal::WaitpointClosed => Code::WaitpointClosed,
            Refusal::LimitReached { .. } => Code::LimitReached,
            Refusal::StepConflict => Code::StepConflict,
            Refusal::FrameGap { .. } => Code::FrameGap,
            Refusal::InvalidToken => Code::InvalidToken,
            Refusal::NoSigningKey => Code::NoSigningKey,
            Refusal::KeyConflict { .. } => Code::KeyConflict,
            Refusal::CursorExpired => Code::CursorExpired,
            Refusal::TargetRefused { .. } => Code::TargetRefused,
        }
    }

    /// The argument at fault, when one is.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Refusal::Invalid { field, .. } | Refusal::TooLarge { field, .. } => Some(field),
            _ => None,
        }
    }

    /// Refuses `got` when it is past `most`.
    pub(crate) fn cap(
        field: &'static str,
        got: usize,
        most: usize,
        unit: &'static str,
    ) -> Result<(), Refusal> {
        if got > most {
            return Err(Refusal::TooLarge { field, got, most, unit });
        }
        Ok(())
    }
}
