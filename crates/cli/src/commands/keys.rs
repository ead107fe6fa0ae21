//! `ff keys`: the keys that sign tokens of waitpoints. Only names, fingerprints and states are printed.

use clap::{Args, Subcommand};
use ff_api::{SigningKeyView, SigningKeysView};
use ff_core::signing::SigningKeys;
use ff_core::{Kid, Millis, Refusal, Time};
use ff_store::EngineBackend;
use ff_store::ring::{Key, KeyFile};
use serde::Serialize;

use super::Verdict;
use crate::duration;
use crate::error::Error;
use crate::output::keys;
use crate::session::Session;

/// `ff keys`.
#[derive(Debug, Args)]
#[command(
    after_help = "These commands open the store itself: give --store. Secrets are in a file, never in \
                  the store: work.ff.keys for the store sqlite:work.ff, and the file that \
                  --signing-keys names for one that several servers share. docs/keys.md says how to \
                  rotate keys without refusing a token."
)]
pub(crate) struct Keys {
    #[command(subcommand)]
    what: What,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
enum What {
    /// List the keys that the store knows and those in the file.
    Ls,
    /// Add a new random key to the file. It signs nothing until it is made current.
    Add,
    /// Make a key of the file current. The one before it verifies for a grace period.
    Rotate(Rotate),
    /// Refuse all tokens that a replaced key has signed, before its grace period ends.
    Retire(Retire),
}

#[derive(Debug, Args)]
struct Rotate {
    /// The key [default: the newest key of the file that the store does not know; for a SQLite store, a
    /// new key if there is none].
    #[arg(long, value_name = "KEY")]
    to: Option<Kid>,

    /// How long tokens of the key before it are still accepted: 0s to 3650d.
    #[arg(long, value_name = "DURATION", default_value = "7d", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    grace: Millis,
}

#[derive(Debug, Args)]
struct Retire {
    /// The key.
    key: Kid,
}

/// A key that was added.
#[derive(Debug, Serialize)]
struct Added {
    key: Kid,
    file: String,
}

impl Keys {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        match self.what {
            What::Ls => {
                let backend = session.open_store().await?;
                let (known, now) = backend.signing_keys().await?;
                list(&known, now, session)
            }
            What::Add => add(session).await,
            What::Rotate(rotate) => rotate.run(session).await,
            What::Retire(Retire { key }) => {
                let backend = session.open_store().await?;
                let known = backend.retire_key(&key).await?;
                session.output.talk(format_args!("tokens of key {key} are refused from now on"));
                list(&known, backend.signing_keys().await?.1, session)
            }
        }
    }
}

/// Adds a random key to the file.
async fn add(session: &Session<'_>) -> Result<Verdict, Error> {
    let file = file(session)?;
    let key = added(&file)?;
    let added = Added { key: key.kid().clone(), file: file.path().display().to_string() };
    session.output.answer(&added, |added| format!("{}\n", added.key))?;
    let Added { key, file } = added;
    session.output.talk(format_args!("key {key} is in {file}; copy the file to every server"));
    session.next(format_args!("keys rotate --to {key}"));
    Ok(Verdict::Good)
}

impl Rotate {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open_store().await?;
        let key = self.chosen(&*backend, session).await?;
        let known = backend.rotate_key(key.kid(), key.fingerprint(), self.grace).await?;
        session.output.talk(format_args!("key {} signs from now on", key.kid()));
        list(&known, backend.signing_keys().await?.1, session)
    }

    /// The key that is to be current.
    async fn chosen(
        &self,
        backend: &dyn EngineBackend,
        session: &Session<'_>,
    ) -> Result<Key, Error> {
        let file = file(session)?;
        let keys = match session.signing_keys.is_none() && !file.exists()? {
            true => Default::default(),
            false => file.read()?,
        };
        if let Some(kid) = &self.to {
            let missing = || {
                let why = format!("{kid} is not in {}; see `ff keys add`", file.path().display());
                Error::usage("--to", why)
            };
            return keys.get(kid).cloned().ok_or_else(missing);
        }
        let (known, _) = backend.signing_keys().await?;
        let unknown = keys.iter().filter(|key| known.get(key.kid()).is_none()).last();
        match unknown {
            Some(key) => Ok(key.clone()),
            // No other machine has the file of a SQLite store.
            None if session.signing_keys.is_none() => Ok(added(&file)?),
            None => {
                let why = "the store knows every key of the file; add one with `ff keys add`, copy the \
                           file to every server, then rotate";
                Err(Error::usage("--signing-keys", why))
            }
        }
    }
}

/// A new random key, in the file.
fn added(file: &KeyFile) -> Result<Key, Error> {
    let key = Key::random().map_err(|why| Refusal::invalid("key", why.to_string()))?;
    file.add(&key)?;
    Ok(key)
}

/// The file of keys.
fn file(session: &Session<'_>) -> Result<KeyFile, Error> {
    ff_backends::key_file(session.existing_url()?, session.signing_keys.clone())?.ok_or_else(|| {
        let why = "no file of keys is given, and several servers may share this store; give \
                   --signing-keys FILE, or set FF_SIGNING_KEYS_FILE to it";
        Error::usage("--signing-keys", why)
    })
}

/// Prints the keys that the store knows, and those that are only in the file.
fn list(known: &SigningKeys, now: Time, session: &Session<'_>) -> Result<Verdict, Error> {
    let file = ff_backends::key_file(session.existing_url()?, session.signing_keys.clone())?;
    let held = match file {
        Some(file) if file.exists()? => file.read()?,
        _ => Default::default(),
    };
    let here = |kid: &Kid| held.get(kid).map(Key::fingerprint);
    let known_keys = known.all().iter().map(|key| SigningKeyView {
        key: key.kid.clone(),
        fingerprint: key.fingerprint.to_string(),
        state: key.state(now).as_str().to_owned(),
        since: Some(key.since.into()),
        until: key.until.map(Into::into),
        held: here(&key.kid) == Some(key.fingerprint),
    });
    let only_here = held.iter().filter(|key| known.get(key.kid()).is_none());
    let only_here = only_here.map(|key| SigningKeyView {
        key: key.kid().clone(),
        fingerprint: key.fingerprint().to_string(),
        state: "added".to_owned(),
        since: None,
        until: None,
        held: true,
    });
    let view = SigningKeysView { keys: known_keys.chain(only_here).collect() };
    let style = session.output.style();
    session.output.answer(&view, |view| keys::table(view, now, style))?;
    if view.keys.is_empty() {
        session
            .output
            .talk("the store has no signing key yet; the first start of a server adds one");
    }
    Ok(Verdict::Good)
}
