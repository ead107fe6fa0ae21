//! The summary of an execution: one JSON document that its holder changes by merge patches (RFC 7396).
//!
//! Only objects are taken apart. Every other value stays the text that it came as, so numbers keep all
//! their digits. The document is the one element of
//! [`Collection::Summary`](crate::collection::Collection), which is replaced as a whole.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::bounds::{SUMMARY_BYTES, SUMMARY_DEPTH};
use crate::collection::{Content, Element};
use crate::refusal::Refusal;

/// A summary, and how often it was patched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// How many patches have made it: the number of the next one.
    pub patches: u64,
    /// The document, as JSON text.
    pub document: Bytes,
}

/// The format that is written.
const FORMAT: u8 = 1;

/// How many bytes stand before the document: format, number of patches.
const HEAD: usize = 1 + 8;

impl Summary {
    /// The summary that is stored as `element`, if it can be read.
    pub fn of(element: &Element) -> Option<Summary> {
        let Content::Bytes(bytes) = &element.content else { return None };
        let head = bytes.get(..HEAD).filter(|head| head[0] == FORMAT)?;
        let patches = head[1..].iter().fold(0, |number, byte| (number << 8) | u64::from(*byte));
        Some(Summary { patches, document: bytes.slice(HEAD..) })
    }

    pub(crate) fn element(&self) -> Element {
        let mut bytes = Vec::with_capacity(HEAD + self.document.len());
        bytes.push(FORMAT);
        bytes.extend(self.patches.to_be_bytes());
        bytes.extend(&self.document[..]);
        Element { number: 0, name: None, content: Content::Bytes(bytes.into()) }
    }
}

/// Refuses a patch that is no JSON, too long or too deep.
pub(crate) fn check(patch: &[u8]) -> Result<(), Refusal> {
    Refusal::cap("patch", patch.len(), SUMMARY_BYTES, "bytes")?;
    let depth = depth(patch);
    Refusal::cap("patch", depth, SUMMARY_DEPTH, "levels")?;
    let why = |error| Refusal::invalid("patch", format!("is not JSON: {error}"));
    serde_json::from_slice::<&RawValue>(patch).map(drop).map_err(why)
}

/// `document` after `patch`, both JSON text; no document is no value. Refuses what is too long then.
pub(crate) fn merge(document: Option<&[u8]>, patch: &[u8]) -> Result<Bytes, Refusal> {
    let unreadable = |error| Refusal::invalid("patch", format!("is not JSON: {error}"));
    let patch: &RawValue = serde_json::from_slice(patch).map_err(unreadable)?;
    let document: Option<&RawValue> = match document {
        Some(document) => Some(serde_json::from_slice(document).map_err(unreadable)?),
        None => None,
    };
    let merged = merged(document, patch).map_err(unreadable)?.to_text().map_err(unreadable)?;
    Refusal::cap("summary", merged.len(), SUMMARY_BYTES, "bytes")?;
    Ok(merged.into())
}

/// A value of which only objects are taken apart.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Node<'a> {
    Object(BTreeMap<String, Node<'a>>),
    Text(&'a RawValue),
}

impl Node<'_> {
    fn to_text(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }
}

/// The members of an object; `None` if it is none. Of several with one name the last counts.
fn members(value: &RawValue) -> Result<Option<BTreeMap<String, &RawValue>>, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(transparent)]
    struct Members<'a>(#[serde(borrow)] BTreeMap<String, &'a RawValue>);
    match value.get().starts_with('{') {
        true => serde_json::from_str(value.get()).map(|Members(members)| Some(members)),
        false => Ok(None),
    }
}

/// `MergePatch` of RFC 7396, section 2. It goes as deep as the patch does.
fn merged<'a>(
    target: Option<&'a RawValue>,
    patch: &'a RawValue,
) -> Result<Node<'a>, serde_json::Error> {
    let Some(changes) = members(patch)? else { return Ok(Node::Text(patch)) };
    let mut targets = target.map(members).transpose()?.flatten().unwrap_or_default();
    let mut result = BTreeMap::new();
    for (name, change) in changes {
        let before = targets.remove(&name);
        if change.get() != "null" {
            result.insert(name, merged(before, change)?);
        }
    }
    result.extend(targets.into_iter().map(|(name, kept)| (name, Node::Text(kept))));
    Ok(Node::Object(result))
}

/// How many arrays and objects of JSON text lie within each other. Of other text, any number.
fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
