//! Addresses of stores and servers, which may hold a password, and are always printed without it.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// A URL as it was given, valid or not. Printed without its user and password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address(String);

impl Address {
    /// All of it, to be opened and never to be printed.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The parts before and after the user and password, if it has them. A password may hold any
    /// character that was not encoded, so the last at sign ends it.
    fn around_login(&self) -> Option<(&str, &str)> {
        let text = self.0.as_str();
        if text.starts_with("sqlite:") || text.starts_with("memory:") {
            return None;
        }
        let after = |sign: &str| text.find(sign).map(|at| at + sign.len());
        let start = after("://").or_else(|| after(":")).unwrap_or(0);
        let end = text.rfind('@').filter(|end| *end >= start)?;
        Some((&text[..start], &text[end..]))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.around_login() {
            Some((before, after)) => write!(f, "{before}***{after}"),
            None => f.write_str(&self.0),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl From<String> for Address {
    fn from(text: String) -> Address {
        Address(text)
    }
}

impl FromStr for Address {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Address, Infallible> {
        Ok(Address(text.to_owned()))
    }
}

/// `text` without the passwords of those `arguments` that are addresses, alone or after `--flag=`.
pub(crate) fn hidden(text: String, arguments: impl Iterator<Item = String>) -> String {
    let values = arguments.map(|argument| match argument.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => value.to_owned(),
        _ => argument,
    });
    let addresses = values.map(Address::from).filter(|address| address.around_login().is_some());
    addresses.fold(text, |text, address| text.replace(address.reveal(), &address.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        for (url, shown) in [
            ("valkey://ann:hunter2@h:1/2?prefix=x", "valkey://***@h:1/2?prefix=x"),
            ("valkey://:hunter2@h", "valkey://***@h"),
            ("valkey://u:hun/ter@2@h", "valkey://***@h"),
            ("valkey:u:hunter2@h", "valkey:***@h"),
            ("u:hunter2@h", "u:***@h"),
            ("hunter2@h", "***@h"),
            ("https://u:hunter2@h/p", "https://***@h/p"),
            ("sqlite:dir@home/work.ff", "sqlite:dir@home/work.ff"),
            ("http://127.0.0.1:7272", "http://127.0.0.1:7272"),
        ] {
            let address = Address::from(url.to_owned());
            assert_eq!(
                (address.to_string().as_str(), format!("{address:?}").as_str()),
                (shown, shown)
            );
            assert_eq!(address.reveal(), url);
        }
    }

    #[test]
    fn a_repeated_argument_has_no_password() {
        let arguments = ["ff", "valkey://u:a b@h", "--store=valkey://u:hunter2@h", "x@y"];
        let text = "unexpected 'valkey://u:a b@h', 'valkey://u:hunter2@h'".to_owned();
        let hidden = hidden(text, arguments.map(str::to_owned).into_iter());
        assert_eq!(hidden, "unexpected 'valkey://***@h', 'valkey://***@h'");
    }
}
