//! `ff token`: give others access to a server, and take it away.

use std::collections::BTreeSet;

use clap::{Args, Subcommand, ValueEnum};
use ff_api::{CreatedTokenView, NamedTokenPageView, NamedTokenView};
use ff_core::bounds::{PAGE, TOKEN_TRUST};
use ff_core::credential::{self, Scope};
use ff_core::{Actor, Millis, Namespace, TokenName};
use ff_store::roles::CreateToken;
use ff_store::{Clock, SystemClock};

use super::{Verdict, parse};
use crate::duration;
use crate::error::Error;
use crate::output::tokens;
use crate::session::Session;

/// `ff token`.
#[derive(Debug, Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    what: What,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
enum What {
    /// Create a token for the given namespaces, or another secret for it, and print it once.
    Create(Create),
    /// List tokens by name, without their secrets.
    Ls(Ls),
    /// Revoke a token, or one secret of it. It stops working within five seconds everywhere.
    Revoke(Revoke),
}

#[derive(Debug, Args)]
struct Create {
    /// Its name. Changes that it makes are recorded under it.
    name: TokenName,

    /// What it may do.
    #[arg(long, value_name = "ROLE")]
    role: Role,

    /// How long it works [default: until it is revoked].
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    expires: Option<Millis>,

    /// Every namespace, instead of those that --namespace names.
    #[arg(long)]
    every_namespace: bool,
}

/// What a token may do.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Role {
    /// Submit work, control it, and read.
    Producer,
    /// Claim work, end it, and read.
    Worker,
    /// Everything but tokens and signing keys.
    Operator,
    /// Answer what suspended work asks, and read.
    Approver,
    /// Read.
    Reader,
}

impl From<Role> for credential::Role {
    fn from(role: Role) -> credential::Role {
        match role {
            Role::Producer => credential::Role::Producer,
            Role::Worker => credential::Role::Worker,
            Role::Operator => credential::Role::Operator,
            Role::Approver => credential::Role::Approver,
            Role::Reader => credential::Role::Reader,
        }
    }
}

#[derive(Debug, Args)]
struct Ls {
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<usize>(1, PAGE as u64))]
    limit: usize,

    /// Continue after this token.
    #[arg(long, value_name = "NAME")]
    after: Option<TokenName>,
}

#[derive(Debug, Args)]
struct Revoke {
    /// The token.
    name: TokenName,

    /// Only this secret; `ff token ls` shows their numbers.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<u32>(1, u32::MAX as u64))]
    secret: Option<u32>,
}

impl Token {
    /// Whether it takes several namespaces.
    pub(crate) fn takes_namespaces(&self) -> bool {
        matches!(self.what, What::Create(_))
    }

    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        match self.what {
            What::Create(create) => create.run(session).await,
            What::Ls(list) => list.run(session).await,
            What::Revoke(revoke) => revoke.run(session).await,
        }
    }
}

impl Create {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let namespaces: BTreeSet<Namespace> = session.namespaces.iter().cloned().collect();
        let scope = match self.every_namespace {
            true => Scope::Every,
            false => Scope::Only(namespaces),
        };
        let (name, role, ttl) = (self.name, self.role.into(), self.expires);
        let create = CreateToken { name, role, scope, ttl, by: Actor::local() };
        let made = session.open().await?.create_token(create).await?;
        let secret = made.text.reveal().to_owned();
        let view = CreatedTokenView { secret, token: NamedTokenView::from(&made.token) };
        session.output.answer(&view, |view| format!("{}\n", view.secret))?;
        session.output.talk("it is shown only now; clients read it from FF_TOKEN");
        session.next("token ls");
        Ok(Verdict::Good)
    }
}

impl Ls {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let found = backend.tokens(self.after.as_ref(), self.limit).await?;
        let view = NamedTokenPageView::new(&found, self.limit);
        let style = session.output.style();
        session.output.answer(&view, |view| tokens::table(view, SystemClock.now(), style))?;
        match (&view.next, view.tokens.first()) {
            (Some(last), _) => {
                session.next(parse::continued("token ls", self.limit, last.as_str()))
            }
            (None, Some(first)) => session.next(format_args!("token revoke {}", first.name)),
            (None, None) => {
                session.output.talk("there is no token");
                session.next("token create ci --role producer");
            }
        }
        Ok(Verdict::Good)
    }
}

impl Revoke {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let revoked = backend.revoke_token(&self.name, self.secret, Actor::local()).await?;
        let view = NamedTokenView::from(&revoked);
        let style = session.output.style();
        let page = NamedTokenPageView { tokens: vec![view], next: None };
        let show = |page: &NamedTokenPageView| tokens::table(page, SystemClock.now(), style);
        session.output.answer(&page.tokens[0], |_| show(&page))?;
        session.output.talk(format_args!("every server refuses it within {TOKEN_TRUST}"));
        Ok(Verdict::Good)
    }
}
