//! The one state machine.
//!
//! A [`Command`] says what it [`reads`], then [`apply`] decides on what was [`Loaded`] and answers
//! with a [`Transition`] to write, a request for more reading, or a refusal. Both are pure: time
//! comes from the store with the load, randomness and ids come with the command. One file per
//! command.

mod admission;
mod cancel;
mod cascade;
mod claim;
mod claim_granted;
mod complete;
mod continue_;
mod credential;
mod delay;
mod delete;
mod ending;
mod facts;
mod fail;
mod feed;
mod flow_ends;
mod frames;
mod grant;
mod guard;
mod hand_back;
mod hold;
mod journal;
mod lane;
mod limit;
mod priority;
mod progress;
mod read_flow;
mod readwrite;
mod record_step;
mod renew;
mod replay;
mod replay_flow;
mod reply;
mod resume;
mod revoke;
mod schedule;
mod signal;
mod signing;
mod spread;
mod submit;
mod submit_flow;
mod summary;
mod suspend;
mod tags;
mod tick;
mod tick_resource;
#[cfg(feature = "toy")]
mod toy;
#[cfg(feature = "toy")]
mod toy_later;
#[cfg(feature = "toy")]
mod toy_steps;
#[cfg(feature = "toy")]
mod toy_submit;
mod usage;
mod waitpoint;
mod webhook;
mod worker;

pub use admission::{
    ADMISSION_TTL, AdmissionBatch, AdmissionRequest, Admissions, Admit, AdmitReply, Admitted,
    Block, Decision, Held, Home, NeedsAdmission, Phase, Recount, SetWaiters, Settlement,
    SettlementEffects, Shortfall, TICKET_TTL, Unblock,
};
pub use cancel::{Cancel, CancelFlow, CancelHeld};
pub use claim::{ADMISSION_LOOKAHEAD, Claim, ClaimRequest};
pub use claim_granted::ClaimGranted;
pub use complete::Complete;
pub use continue_::{Continue, Continued, Slice};
pub use credential::{IssueToken, NoteTokenUse, RevokeToken};
pub use delay::Delay;
pub use delete::Delete;
pub use facts::{Facts, Moves, Subject};
pub use fail::Fail;
pub use feed::{FeedChange, FeedEmptied, SetFeed};
pub use frames::AppendFrames;
pub use grant::GrantNext;
pub use hand_back::HandBack;
pub use lane::SetLane;
pub use limit::{Discard, PutBudget, PutQuota, ResetBudget};
pub use priority::SetPriority;
pub use progress::ReportProgress;
pub use read_flow::{FlowMember, FlowPage, ReadFlow, ReadUpstream};
pub use readwrite::{
    Change, Item, LaneClass, Loaded, MAX_ROUNDS, Nominate, ReadSet, ResourceChange, Step,
    Transition, WriteSet,
};
pub use record_step::RecordStep;
pub use renew::Renew;
pub use replay::Replay;
pub use replay_flow::{ReopenMembers, ReopenedMember, ReplayFlow};
pub use reply::{
    AppendedFrames, Assignment, Cancelled, Claimed, FlowSubmitted, GrantOffer, Granted,
    PatchedSummary, RecordedStep, Registered, Renewed, Reply, Signalled, Submitted, Suspended,
    Used, WaitpointOpened, Withheld,
};
pub use resume::Resume;
pub use revoke::Revoke;
pub use schedule::{
    BackfillSchedule, FireSchedule, Fired, PauseSchedule, RunSchedule, SetSchedule,
};
pub use signal::{Signal, WaitpointRef};
pub use signing::{RegisterKey, RetireKey, RotateKey};
pub use spread::{CopyResource, ResourceSpread};
pub use submit::Submit;
pub use submit_flow::{FlowNode, FlowSpec, SubmitFlow};
pub use summary::PatchSummary;
pub use suspend::Suspend;
pub use tags::SetTags;
pub use tick::{Tick, Ticked};
pub use tick_resource::{ResourceTicked, TickResource};
#[cfg(feature = "toy")]
pub use toy::{Follower, TOY_ATTENTION, Toy, ToyPart};
#[cfg(feature = "toy")]
pub use toy_later::ToyLater;
#[cfg(feature = "toy")]
pub use toy_steps::ToySteps;
#[cfg(feature = "toy")]
pub use toy_submit::ToySubmit;
pub use usage::ReportUsage;
pub use waitpoint::{CloseWaitpoint, NewWaitpoint, OpenWaitpoint};
pub use webhook::{ReportDelivery, SetWebhook};
pub use worker::{Disconnect, Heartbeat, Register};

use crate::id::{ExecutionId, Fence, LeaseId};
use crate::name::{Actor, Namespace};
use crate::refusal::Refusal;
use crate::time::Time;

/// One command, with the randomness it may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Random bits: 32 salt the versions written, 16 jitter a backoff.
    pub entropy: u64,
    /// Who gives it, if that is to be kept.
    pub by: Option<Actor>,
    /// What is to be done.
    pub action: Action,
}

/// An execution, as its namespace names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// The caller's namespace; an execution of another one is not found.
    pub namespace: Namespace,
    /// The execution.
    pub execution: ExecutionId,
}

/// An execution, as its holder names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LeaseRef {
    /// The execution.
    pub target: Target,
    /// The lease the caller believes it has.
    pub fence: Fence,
}

macro_rules! actions {
    ($($(#[$when:meta])* $name:ident),+ $(,)?) => {
        /// What is to be done.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[expect(clippy::large_enum_variant, reason = "the largest is also the most frequent")]
        pub enum Action {
            $($(#[$when])* #[doc = concat!("See [`", stringify!($name), "`].")] $name($name)),+
        }

        $($(#[$when])* impl From<$name> for Action {
            fn from(action: $name) -> Action {
                Action::$name(action)
            }
        })+

        impl Action {
            /// What others must know of it.
            pub fn facts(&self) -> Facts<'_> {
                match self { $($(#[$when])* Action::$name(action) => action.facts()),+ }
            }

            /// The lease that it names, if it names one.
            pub fn lease_mut(&mut self) -> Option<&mut LeaseId> {
                match self { $($(#[$when])* Action::$name(action) => action.lease_mut()),+ }
            }
        }

        /// Refuses a command that no state could accept, before anything is read.
        pub fn check(command: &Command) -> Result<(), Refusal> {
            match &command.action { $($(#[$when])* Action::$name(action) => action.check()),+ }
        }

        /// What the command must see before it can decide.
        pub fn reads(command: &Command) -> ReadSet {
            match &command.action { $($(#[$when])* Action::$name(action) => action.reads()),+ }
        }

        /// Decides. A refusal changes nothing; [`Step::NeedMore`] asks to be called again with more
        /// loaded, at most [`MAX_ROUNDS`] times in all.
        pub fn apply(command: &Command, loaded: &Loaded) -> Result<Step, Refusal> {
            let context = Context {
                now: loaded.now,
                by: command.by.as_ref(),
                salt: command.entropy as u32,
                jitter: (command.entropy >> 32) as u16,
                loaded,
            };
            match &command.action { $($(#[$when])* Action::$name(action) => action.apply(&context)),+ }
        }
    };
}

actions!(
    Submit,
    GrantNext,
    Claim,
    ClaimGranted,
    Renew,
    ReportProgress,
    Complete,
    Fail,
    Delay,
    OpenWaitpoint,
    CloseWaitpoint,
    Suspend,
    Signal,
    Resume,
    CancelHeld,
    HandBack,
    Cancel,
    Revoke,
    SetPriority,
    SetTags,
    Replay,
    Delete,
    Tick,
    Register,
    Heartbeat,
    Disconnect,
    SetLane,
    CopyResource,
    ResourceSpread,
    SetFeed,
    FeedEmptied,
    SetWebhook,
    ReportDelivery,
    SetSchedule,
    PauseSchedule,
    RunSchedule,
    BackfillSchedule,
    FireSchedule,
    TickResource,
    PutBudget,
    ResetBudget,
    PutQuota,
    Discard,
    Admit,
    Block,
    Unblock,
    SetWaiters,
    Recount,
    ReportUsage,
    RecordStep,
    AppendFrames,
    PatchSummary,
    Continue,
    SubmitFlow,
    CancelFlow,
    ReplayFlow,
    ReopenMembers,
    ReadFlow,
    ReadUpstream,
    RegisterKey,
    RotateKey,
    RetireKey,
    IssueToken,
    RevokeToken,
    NoteTokenUse,
    #[cfg(feature = "toy")]
    Toy,
    #[cfg(feature = "toy")]
    ToyLater,
    #[cfg(feature = "toy")]
    ToySteps,
    #[cfg(feature = "toy")]
    ToySubmit,
);

/// What a command decides with.
struct Context<'a> {
    now: Time,
    by: Option<&'a Actor>,
    salt: u32,
    jitter: u16,
    loaded: &'a Loaded,
}

/// One command's part of the machine.
trait Decide {
    /// What others must know of it.
    fn facts(&self) -> Facts<'_>;
    /// The lease that it names, if it names one.
    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        None
    }
    /// Refuses what no state could accept.
    fn check(&self) -> Result<(), Refusal>;
    /// What must be seen first.
    fn reads(&self) -> ReadSet;
    /// Decides on what was loaded.
    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal>;
}
