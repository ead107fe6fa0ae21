//! Tokens of waitpoints: made for whoever is to answer, and the signals that they send.

use async_trait::async_trait;
use ff_core::bounds::{DELAY, SPAN_MIN};
use ff_core::machine::{Signal, Signalled, Target, WaitpointRef};
use ff_core::suspension::Waitpoint;
use ff_core::{
    Category, ExecutionId, IdempotencyKey, Payload, Refusal, SignalName, Subject, Time,
    WaitpointKey, When,
};

use super::{Engine, KeysBackend, SignalBackend};
use crate::error::StoreError;
use crate::ring::{Claims, Purpose, SignedToken};
use crate::store::Store;

/// A token that is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// Which execution.
    pub target: Target,
    /// The key of the waitpoint, which must be open.
    pub waitpoint: WaitpointKey,
    /// What it is good for.
    pub purpose: Purpose,
    /// Whom it is made for: the source of the signals that it sends. Two who must both answer get two
    /// tokens.
    pub subject: Option<Subject>,
    /// From when on it is refused; it is good for nothing once its waitpoint is closed.
    pub expires: Option<When>,
}

/// A token, and from when on it is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeToken {
    /// The token.
    pub token: SignedToken,
    /// From when on it is refused, if it has a time of its own.
    pub expires: Option<Time>,
}

/// A signal that a token sends. Where it goes and who sends it is in the token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenSignal {
    /// The sender's name for this signal; by default all that it carries.
    pub key: Option<IdempotencyKey>,
    /// Its name.
    pub name: Option<SignalName>,
    /// The kind of signal, in its sender's words.
    pub category: Option<Category>,
    /// What it carries.
    pub payload: Payload,
}

/// Make tokens, and send signals by them.
#[async_trait]
pub trait TokenBackend: Send + Sync {
    /// A token for a waitpoint that is open. Nothing is stored: the same request gives the same token.
    async fn waitpoint_token(&self, new: NewToken) -> Result<MadeToken, StoreError>;

    /// Delivers a signal as the one whom the token was made for. A token that is not valid is refused
    /// before anything is looked up.
    async fn signal_by_token(
        &self,
        token: &SignedToken,
        signal: TokenSignal,
    ) -> Result<(ExecutionId, Signalled), StoreError>;
}

#[async_trait]
impl<S: Store + ?Sized> TokenBackend for Engine<S> {
    async fn waitpoint_token(&self, new: NewToken) -> Result<MadeToken, StoreError> {
        let open = self.waitpoints(&new.target).await?;
        let waitpoint = open.iter().find(|waitpoint| waitpoint.key == new.waitpoint);
        let waitpoint = waitpoint.ok_or(Refusal::WaitpointClosed)?;
        let expires = match new.expires {
            Some(when) => Some(moment(when, self.store().now().await?)?),
            None => None,
        };
        let claims = Claims { subject: new.subject, expires, ..Claims::of(&new.target, waitpoint) };
        Ok(MadeToken { token: self.sign(new.purpose, &claims)?, expires })
    }

    async fn signal_by_token(
        &self,
        token: &SignedToken,
        signal: TokenSignal,
    ) -> Result<(ExecutionId, Signalled), StoreError> {
        let claims = self.verify(Purpose::Signal, token).await?;
        let (target, execution) = (claims.target(), claims.execution);
        let TokenSignal { key, name, category, payload } = signal;
        let (waitpoint, source) = (WaitpointRef::ById(claims.waitpoint), claims.source()?);
        let signal = Signal { target, waitpoint, key, name, category, source, payload };
        Ok((execution, self.signal(signal).await?))
    }
}

/// The moment that a caller names, which must be to come.
fn moment(when: When, now: Time) -> Result<Time, Refusal> {
    let at = match when {
        When::Now => now,
        When::After(span) => now + span.within("expires", SPAN_MIN, DELAY)?,
        When::At(at) => at,
    };
    match at > now {
        true => Ok(at),
        false => Err(Refusal::invalid("expires", "is past; give a moment to come")),
    }
}

impl Claims {
    /// A token for this waitpoint, for nobody in particular and without a time of its own.
    pub fn of(target: &Target, waitpoint: &Waitpoint) -> Claims {
        Claims {
            namespace: target.namespace.clone(),
            execution: target.execution,
            waitpoint: waitpoint.id,
            subject: None,
            expires: None,
        }
    }
}
