//! What a command works with: a store, a namespace, an output.

use std::sync::Arc;

use ff_core::machine::Target;
use ff_core::{ExecutionId, Namespace};
use ff_store::EngineBackend;

use crate::args::Global;
use crate::error::Error;
use crate::output::Output;

/// What a command works with.
pub(crate) struct Session<'a> {
    store: Option<String>,
    pub(crate) namespace: Namespace,
    pub(crate) output: &'a Output,
}

impl<'a> Session<'a> {
    pub(crate) fn new(global: Global, output: &'a Output) -> Session<'a> {
        let store = global.store.filter(|url| !url.is_empty());
        Session { store, namespace: global.namespace, output }
    }

    /// Opens the store.
    pub(crate) async fn open(&self) -> Result<Arc<dyn EngineBackend>, Error> {
        let Some(url) = &self.store else {
            let why = "no store is given; give --store sqlite:PATH, or set FF_STORE to it";
            return Err(Error::usage("--store", why));
        };
        Ok(ff_backends::open(url).await?)
    }

    /// The execution, as this namespace names it.
    pub(crate) fn target(&self, execution: ExecutionId) -> Target {
        Target { namespace: self.namespace.clone(), execution }
    }

    /// Says which command is useful next, ready to be copied.
    pub(crate) fn next(&self, command: impl std::fmt::Display) {
        let mut line = format!("next: ff {command}");
        // A store from the environment is there for the next command too.
        if let Some(url) = &self.store
            && std::env::var("FF_STORE").as_deref() != Ok(url)
        {
            line.push_str(&format!(" --store {}", quote(url)));
        }
        if self.namespace != Namespace::default() {
            line.push_str(&format!(" --namespace {}", self.namespace));
        }
        self.output.hint(line);
    }
}

/// `text` as one word of a shell command.
pub(crate) fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn a_word_that_a_shell_would_take_apart_is_quoted() {
        assert_eq!(quote("sqlite:dir/ff.db"), "sqlite:dir/ff.db");
        assert_eq!(quote("sqlite:my dir/x.db"), "'sqlite:my dir/x.db'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
    }
}
