//! Capability sets: what an execution requires and what a worker offers.
//!
//! A set is kept canonical (sorted, without repeats), so that equal sets are equal values, and its
//! comma-joined text is the identity of a queue class.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bounds::{CAPABILITY_BYTES, CAPABILITY_TOKENS};
use crate::refusal::Refusal;

/// A canonical set of capability tokens.
///
/// ```
/// use ff_core::Capabilities;
/// let worker = Capabilities::new(["gpu", "python", "gpu"]).unwrap();
/// let needs = Capabilities::new(["python"]).unwrap();
/// assert_eq!(worker.as_str(), "gpu,python");
/// assert!(worker.covers(&needs) && !needs.covers(&worker));
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Arc<str>", into = "Arc<str>")]
pub struct Capabilities(Option<Arc<str>>);

impl Capabilities {
    /// The empty set: required by work that any worker can run.
    pub const NONE: Capabilities = Capabilities(None);

    /// Checks every token and makes the canonical set.
    pub fn new<T: AsRef<str>>(tokens: impl IntoIterator<Item = T>) -> Result<Self, Refusal> {
        let mut sorted: Vec<T> = Vec::new();
        for (place, token) in tokens.into_iter().enumerate() {
            check(place, token.as_ref())?;
            // A token that comes again counts once.
            let known = sorted.binary_search_by(|known| known.as_ref().cmp(token.as_ref()));
            if let Err(place) = known {
                sorted.insert(place, token);
            }
            Refusal::cap("capabilities", sorted.len(), CAPABILITY_TOKENS, "different tokens")?;
        }
        let mut text = String::new();
        for token in &sorted {
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(token.as_ref());
        }
        Refusal::cap("capabilities", text.len(), CAPABILITY_BYTES, "bytes")?;
        Ok(Self((!text.is_empty()).then(|| text.into())))
    }

    /// The set written as its tokens joined by commas; the empty set is the empty text.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        if text.is_empty() {
            return Ok(Self::NONE);
        }
        Self::new(text.split(','))
    }

    /// The tokens joined by commas.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or("")
    }

    /// The tokens in order.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.as_str().split(',').filter(|t| !t.is_empty())
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether every token of `required` is in this set.
    pub fn covers(&self, required: &Capabilities) -> bool {
        let mut mine = self.tokens();
        required.tokens().all(|need| mine.by_ref().find(|have| *have >= need) == Some(need))
    }
}

impl Capabilities {
    /// The tokens of `required` that are not in this set.
    pub fn lacks(&self, required: &Capabilities) -> Capabilities {
        let have: Vec<&str> = self.tokens().collect();
        let lacking: Vec<&str> = required.tokens().filter(|need| !have.contains(need)).collect();
        // Tokens of a valid set, in its order.
        Capabilities((!lacking.is_empty()).then(|| lacking.join(",").into()))
    }
}

/// Most characters of a token that its refusal repeats.
const REPEATED: usize = 40;

fn check(place: usize, token: &str) -> Result<(), Refusal> {
    if token.is_empty() {
        let why = format!("has an empty token as number {}; remove it", place + 1);
        return Err(Refusal::invalid("capabilities", why));
    }
    if token.chars().any(|c| c == ',' || c.is_whitespace() || c.is_control()) {
        let short: String = token.chars().take(REPEATED).collect();
        let why = format!(
            "has the token {short:?} with a comma, a space or a control character; give it without"
        );
        return Err(Refusal::invalid("capabilities", why));
    }
    Ok(())
}

impl TryFrom<Arc<str>> for Capabilities {
    type Error = Refusal;

    fn try_from(text: Arc<str>) -> Result<Self, Refusal> {
        Self::parse(&text)
    }
}

impl From<Capabilities> for Arc<str> {
    fn from(set: Capabilities) -> Arc<str> {
        set.0.unwrap_or_default()
    }
}

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bad_tokens_are_refused_with_the_field_named() {
        for bad in ["", "a,b", "a b", "a\u{a0}b", "a\n", "\0"] {
            let refusal = Capabilities::new([bad]).unwrap_err();
            assert_eq!(refusal.field(), Some("capabilities"), "{bad:?}");
        }
        assert!(Capabilities::new(["größe", "{x}:y"]).is_ok());
    }

    #[test]
    fn a_refusal_names_the_token() {
        let told = |tokens: &[&str]| Capabilities::new(tokens).unwrap_err().to_string();
        assert!(told(&["gpu", "two words"]).contains("\"two words\""));
        assert!(told(&["gpu", "", "x"]).contains("number 2"));
        let long = format!("{} b", "Z".repeat(100));
        assert!(!told(&[&long]).contains(&"Z".repeat(REPEATED + 1)));
    }

    #[test]
    fn a_token_that_comes_again_counts_once() {
        let many: Vec<String> = (0..256).map(|i| format!("t{i}")).collect();
        let twice = Capabilities::new(many.iter().chain(&many)).unwrap();
        assert_eq!(twice, Capabilities::new(&many).unwrap());
        assert_eq!(Capabilities::new(vec!["gpu"; 300]).unwrap().as_str(), "gpu");
    }

    #[test]
    fn sets_past_their_bounds_are_refused() {
        let many: Vec<String> = (0..257).map(|i| format!("t{i}")).collect();
        assert!(Capabilities::new(&many[..256]).is_ok());
        assert!(Capabilities::new(&many).is_err());
        assert!(Capabilities::new(["x".repeat(4_096)]).is_ok());
        assert!(Capabilities::new(["x".repeat(4_097)]).is_err());
    }

    proptest! {
        #[test]
        fn covers_is_the_subset_relation(
            have in proptest::collection::btree_set("[a-e]{1,2}", 0..6),
            need in proptest::collection::btree_set("[a-e]{1,2}", 0..6),
        ) {
            let worker = Capabilities::new(&have).unwrap();
            let required = Capabilities::new(&need).unwrap();
            prop_assert_eq!(worker.covers(&required), need.is_subset(&have));
            prop_assert_eq!(Capabilities::parse(worker.as_str()).unwrap(), worker);
        }
    }
}
