//! The bodies of calls that make tokens of waitpoints and send signals by them.

use std::fmt;

use ff_core::machine::Target;
use ff_core::{
    Category, IdempotencyKey, Millis, Refusal, SignalName, Subject, WaitpointKey, When, words,
};
use ff_store::ring::{Purpose, SignedToken};
use ff_store::roles::{MadeToken, NewToken, TokenSignal};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::content::{Content, PAYLOAD};
use super::{schema, strict};
use crate::timestamp::Timestamp;

words!(
    /// What a token is good for.
    TokenPurpose {
        /// Sends signals.
        Signal = "signal",
        /// Opens the page on which a person approves or rejects.
        ApprovalLink = "approval_link",
    }
);

impl From<Purpose> for TokenPurpose {
    fn from(purpose: Purpose) -> Self {
        match purpose {
            Purpose::Signal => TokenPurpose::Signal,
            Purpose::ApprovalLink => TokenPurpose::ApprovalLink,
        }
    }
}

impl From<TokenPurpose> for Purpose {
    fn from(purpose: TokenPurpose) -> Self {
        match purpose {
            TokenPurpose::Signal => Purpose::Signal,
            TokenPurpose::ApprovalLink => Purpose::ApprovalLink,
        }
    }
}

/// A token to make: at most one of `expires_ms` and `expires`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// What it is good for; `signal` when absent.
    #[serde(default = "signals")]
    #[schema(value_type = Option<schema::TokenPurpose>)]
    pub purpose: TokenPurpose,
    /// Whom it is made for: the source of the signals that it sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 128)]
    pub subject: Option<Subject>,
    /// Refuse it this long from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 315360000000u64)]
    pub expires_ms: Option<u64>,
    /// Refuse it from this moment on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

fn signals() -> TokenPurpose {
    TokenPurpose::Signal
}

impl TokenRequest {
    /// What is asked for, for the waitpoint of this key.
    pub fn new_token(self, target: Target, waitpoint: WaitpointKey) -> Result<NewToken, Refusal> {
        let expires = match (self.expires_ms, self.expires) {
            (Some(_), Some(_)) => {
                let why = "is given with expires_ms; give one of them";
                return Err(Refusal::invalid("expires", why));
            }
            (Some(ms), None) => Some(When::After(Millis::new(ms))),
            (None, at) => at.map(|at| When::At(at.0)),
        };
        let (purpose, subject) = (self.purpose.into(), self.subject);
        Ok(NewToken { target, waitpoint, purpose, subject, expires })
    }
}

impl From<&NewToken> for TokenRequest {
    fn from(new: &NewToken) -> Self {
        let (expires_ms, expires) = match new.expires {
            None => (None, None),
            Some(When::Now) => (Some(0), None),
            Some(When::After(span)) => (Some(span.get()), None),
            Some(When::At(at)) => (None, Some(at.into())),
        };
        let (purpose, subject) = (new.purpose.into(), new.subject.clone());
        TokenRequest { purpose, subject, expires_ms, expires }
    }
}

/// A token. It is shown to the one who asked for it, and kept nowhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    /// The token.
    pub token: String,
    /// The path of the page that it opens, on this server; null for one that sends signals.
    pub path: Option<String>,
    /// From when on it is refused, if it has a time of its own.
    pub expires: Option<Timestamp>,
}

impl TokenView {
    /// A token of this purpose.
    pub fn new(made: &MadeToken, purpose: Purpose) -> TokenView {
        let token = made.token.reveal().to_owned();
        let path = (purpose == Purpose::ApprovalLink).then(|| made.token.approval_path());
        TokenView { token, path, expires: made.expires.map(Timestamp) }
    }

    /// The token.
    pub fn made(self) -> MadeToken {
        MadeToken { token: SignedToken::received(self.token), expires: self.expires.map(|at| at.0) }
    }
}

impl fmt::Debug for TokenView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenView").field("expires", &self.expires).finish_non_exhaustive()
    }
}

/// A signal by token. Where it goes and who sends it is in the token.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenSignalRequest {
    /// The token, unless `Authorization: Bearer` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 512)]
    pub token: Option<String>,
    /// The sender's name for this signal: the same one again changes nothing. By default all that it
    /// carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Key>)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub name: Option<SignalName>,
    /// The kind of signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub category: Option<Category>,
    /// Any JSON value nested at most 128 deep, kept as the bytes it came in.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "strict::json")]
    #[schema(value_type = serde_json::Value)]
    pub payload: Option<Box<RawValue>>,
    /// Any bytes, in base64 with padding, instead of `payload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Base64>)]
    pub payload_base64: Option<String>,
    /// The media type of the payload; `application/json` when absent with `payload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::MediaType>)]
    pub content_type: Option<String>,
}

impl TokenSignalRequest {
    /// The body that sends `signal`, without its token.
    pub fn new(signal: &TokenSignal) -> TokenSignalRequest {
        let content = Content::from(&signal.payload);
        TokenSignalRequest {
            token: None,
            idempotency_key: signal.key.clone(),
            name: signal.name.clone(),
            category: signal.category.clone(),
            payload: content.json,
            payload_base64: content.base64,
            content_type: content.content_type,
        }
    }

    /// The signal.
    pub fn signal(self) -> Result<TokenSignal, Refusal> {
        let Self { payload: json, payload_base64: base64, content_type, .. } = self;
        Ok(TokenSignal {
            key: self.idempotency_key,
            name: self.name,
            category: self.category,
            payload: Content { json, base64, content_type }.payload(PAYLOAD)?,
        })
    }
}

impl fmt::Debug for TokenSignalRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSignalRequest").field("name", &self.name).finish_non_exhaustive()
    }
}
