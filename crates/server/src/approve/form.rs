//! The decision that a browser posts: `application/x-www-form-urlencoded`, each field once.

use ff_core::bounds::MESSAGE_BYTES;

use crate::urlencoded::decoded;

/// Most bytes of the form: a comment of the longest length, every byte of it escaped.
pub(super) const FORM_BYTES: usize = 3 * MESSAGE_BYTES + 256;

/// What the form says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Whether the answer is yes.
    pub(super) approved: bool,
    /// What its author says to it.
    pub(super) comment: Option<String>,
}

/// Why a form is not understood.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is not one of ours.
    Malformed,
    /// The comment is too long.
    LongComment,
}

impl Form {
    /// The form in `body`.
    pub(super) fn parse(body: &[u8]) -> Result<Form, Wrong> {
        let (mut decision, mut comment) = (None, None);
        for pair in body.split(|byte| *byte == b'&') {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let (name, value) = (halves.next(), halves.next());
            let field = match name {
                Some(b"decision") => &mut decision,
                Some(b"comment") => &mut comment,
                _ => return Err(Wrong::Malformed),
            };
            let value = value.and_then(decoded).ok_or(Wrong::Malformed)?;
            if field.replace(value).is_some() {
                return Err(Wrong::Malformed);
            }
        }
        let approved = match decision.as_deref() {
            Some("approve") => true,
            Some("reject") => false,
            _ => return Err(Wrong::Malformed),
        };
        // A browser ends each line of a text area with both.
        let comment = comment.map(|text| text.replace("\r\n", "\n").trim().to_owned());
        let comment = comment.filter(|text| !text.is_empty());
        match comment.as_ref().is_some_and(|text| text.len() > MESSAGE_BYTES) {
            true => Err(Wrong::LongComment),
            false => Ok(Form { approved, comment }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(approved: bool, comment: Option<&str>) -> Result<Form, Wrong> {
        Ok(Form { approved, comment: comment.map(str::to_owned) })
    }

    #[test]
    fn a_decision_and_its_comment_are_read() {
        assert_eq!(Form::parse(b"decision=approve"), form(true, None));
        assert_eq!(Form::parse(b"decision=reject&comment="), form(false, None));
        let comment = b"comment=not+yet%0D%0A%3Cb%3E+%C3%BC+&decision=reject";
        assert_eq!(Form::parse(comment), form(false, Some("not yet\n<b> ü")));
    }

    #[test]
    fn anything_else_is_refused() {
        for body in [
            &b""[..],
            b"decision",
            b"decision=",
            b"decision=Approve",
            b"decision=approve&decision=reject",
            b"decision=approve&source=boss",
            b"decision=approve&comment=%",
            b"decision=approve&comment=%zz",
            b"decision=approve&comment=%ff",
            b"decision=approve&",
            b"{\"decision\":\"approve\"}",
            b"\xff\xfe",
        ] {
            assert_eq!(Form::parse(body), Err(Wrong::Malformed), "{body:?}");
        }
    }

    #[test]
    fn a_comment_has_a_bound() {
        let body = |length| format!("decision=approve&comment={}", "%41".repeat(length));
        assert!(Form::parse(body(MESSAGE_BYTES).as_bytes()).is_ok());
        assert!(body(MESSAGE_BYTES).len() <= FORM_BYTES);
        assert_eq!(Form::parse(body(MESSAGE_BYTES + 1).as_bytes()), Err(Wrong::LongComment));
    }
}
