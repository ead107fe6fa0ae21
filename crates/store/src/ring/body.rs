//! What a token says, as bytes: fixed fields, then texts with their lengths. One claim has one encoding.

use ff_core::{ExecutionId, Namespace, Subject, Time, WaitpointId};

use super::token::Claims;

/// The longest encoding of claims.
pub(super) const BODY_BYTES: usize =
    16 + 16 + 8 + 1 + ff_core::bounds::NAME_BYTES + 1 + ff_core::bounds::SUBJECT_BYTES;

/// The bytes of `claims`.
pub(super) fn encode(claims: &Claims) -> Vec<u8> {
    let mut body = Vec::with_capacity(BODY_BYTES);
    body.extend_from_slice(claims.execution.as_bytes());
    body.extend_from_slice(claims.waitpoint.as_bytes());
    body.extend_from_slice(&claims.expires.map_or(0, Time::as_ms).to_be_bytes());
    text(&mut body, claims.namespace.as_str());
    text(&mut body, claims.subject.as_ref().map_or("", Subject::as_str));
    body
}

/// Both texts are shorter than 256 bytes: their types see to that.
fn text(body: &mut Vec<u8>, text: &str) {
    body.push(text.len() as u8);
    body.extend_from_slice(text.as_bytes());
}

/// What `body` says; `None` if [`encode`] did not write it.
pub(super) fn decode(body: &[u8]) -> Option<Claims> {
    let (execution, rest) = body.split_first_chunk::<16>()?;
    let (waitpoint, rest) = rest.split_first_chunk::<16>()?;
    let (expires, rest) = rest.split_first_chunk::<8>()?;
    let (namespace, rest) = take_text(rest)?;
    let (subject, rest) = take_text(rest)?;
    let expires = match u64::from_be_bytes(*expires) {
        0 => None,
        ms => Some(Time::from_ms(ms)).filter(|at| at.as_ms() == ms).map(Some)?,
    };
    let subject = match subject {
        "" => None,
        text => Some(Subject::new(text).ok()?),
    };
    rest.is_empty().then_some(Claims {
        namespace: Namespace::new(namespace).ok()?,
        execution: ExecutionId::from_bytes(execution).ok()?,
        waitpoint: WaitpointId::new(u128::from_be_bytes(*waitpoint)),
        subject,
        expires,
    })
}

fn take_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(*length))?;
    Some((std::str::from_utf8(text).ok()?, rest))
}
