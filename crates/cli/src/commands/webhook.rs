//! `ff webhook`: send the events of a namespace to an address outside.

use clap::{Args, Subcommand};
use ff_api::{WebhookView, WebhooksView};
use ff_core::bounds::WEBHOOK_GRACE;
use ff_core::digest::Digest;
use ff_core::event::EventName;
use ff_core::webhook::WebhookTarget;
use ff_core::webhook_url::WebhookUrl;
use ff_core::{Code, Kind, Lane, Millis, ResourceName};
use ff_store::webhooks::{WebhookUpdate, mint_secret, secret_text};
use ff_store::{Clock, SystemClock};
use serde::Serialize;

use super::{Verdict, events};
use crate::duration;
use crate::error::Error;
use crate::output::webhooks;
use crate::session::Session;

const CONTRACT: &str = "Every event is sent at least once, signed, until the target takes it or it is given up. \
By default only https:// to public addresses is sent to.";

/// `ff webhook`.
#[derive(Debug, Args)]
#[command(after_help = CONTRACT)]
pub(crate) struct Webhook {
    #[command(subcommand)]
    what: What,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
enum What {
    /// Send events to a URL from now on, or change which; prints the secret of a new one, once.
    Set(Set),
    /// List webhooks and how their deliveries go.
    Ls,
    /// Show a webhook and the latest events that were given up.
    Show(Which),
    /// Sign with a new secret, and print it; the one before signs too for a while.
    Rotate(Rotate),
    /// Remove a webhook.
    Rm(Which),
}

#[derive(Debug, Args)]
struct Set {
    /// Where to send.
    // Every command has a flag `url`, which names the server.
    #[arg(id = "target", value_name = "URL")]
    url: WebhookUrl,

    /// Its name [default: one made from the URL].
    #[arg(long, value_name = "NAME")]
    name: Option<ResourceName>,

    /// Only these events, separated by commas, such as completed,failed [default: all].
    #[arg(long, value_name = "EVENT", value_delimiter = ',', value_parser = events::name)]
    on: Vec<EventName>,

    /// Only of executions in this lane.
    #[arg(long, value_name = "NAME")]
    lane: Option<Lane>,

    /// Only of executions of this kind.
    #[arg(long, value_name = "NAME")]
    kind: Option<Kind>,
}

#[derive(Debug, Args)]
struct Which {
    /// The webhook: its name, or the URL that it was made for.
    webhook: String,
}

#[derive(Debug, Args)]
struct Rotate {
    #[command(flatten)]
    which: Which,

    /// How long the secret before it signs too.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(default_value_t = WEBHOOK_GRACE, allow_hyphen_values = true)]
    grace: Millis,
}

/// A webhook, and its secret if that is new.
#[derive(Serialize)]
struct Made {
    #[serde(flatten)]
    view: WebhookView,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl Webhook {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let namespace = &session.namespace;
        match self.what {
            What::Set(set) => set.run(session).await,
            What::Rotate(rotate) => rotate.run(session).await,
            What::Ls => {
                let found = backend.webhooks(namespace).await?;
                let webhooks: Vec<_> = found.iter().map(WebhookView::from).collect();
                let view = WebhooksView { webhooks };
                let style = session.output.style();
                session
                    .output
                    .answer(&view, |view| webhooks::table(view, SystemClock.now(), style))?;
                match view.webhooks.first() {
                    Some(first) => session.next(format_args!("webhook show {}", first.webhook)),
                    None => {
                        session.output.talk("there is no webhook");
                        session.next("webhook set https://example.com/hook --on completed,failed");
                    }
                }
                Ok(Verdict::Good)
            }
            What::Show(which) => {
                let found = backend.webhook(namespace, &which.name()?).await?;
                let (view, style) = (WebhookView::from(&found), session.output.style());
                session
                    .output
                    .answer(&view, |view| webhooks::sheet(view, SystemClock.now(), style))?;
                Ok(Verdict::Good)
            }
            What::Rm(which) => {
                let name = which.name()?;
                backend.delete_webhook(namespace, &name).await?;
                session.output.talk(format_args!("webhook {name} is gone"));
                session.next("webhook ls");
                Ok(Verdict::Good)
            }
        }
    }
}

impl Which {
    fn name(&self) -> Result<ResourceName, Error> {
        match self.webhook.contains("://") {
            true => Ok(named(&self.webhook.parse()?)),
            false => Ok(ResourceName::new(self.webhook.as_str())?),
        }
    }
}

/// The name of the webhook to `url` unless it is given one: the same URL, the same webhook.
fn named(url: &WebhookUrl) -> ResourceName {
    let digest = Digest::of(|fields| fields.text(url.as_str())).get();
    // Letters and digits are a name.
    ResourceName::new(format!("hook-{digest:016x}")).unwrap_or_else(|_| unreachable!())
}

impl Set {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let name = self.name.unwrap_or_else(|| named(&self.url));
        let known = match backend.webhook(&session.namespace, &name).await {
            Ok(_) => true,
            Err(error) if error.refused() == Some(Code::NotFound) => false,
            Err(error) => return Err(error.into()),
        };
        let target = WebhookTarget {
            url: self.url,
            names: self.on.into_iter().collect(),
            lane: self.lane,
            kind: self.kind,
        };
        let secret = if known { None } else { Some(mint_secret()?) };
        set(session, name, target, secret, WEBHOOK_GRACE).await
    }
}

impl Rotate {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let name = self.which.name()?;
        let found = session.open().await?.webhook(&session.namespace, &name).await?;
        set(session, name, found.webhook.target, Some(mint_secret()?), self.grace).await
    }
}

async fn set(
    session: &Session<'_>,
    name: ResourceName,
    target: WebhookTarget,
    secret: Option<ff_core::webhook::SigningSecret>,
    grace: Millis,
) -> Result<Verdict, Error> {
    let text = secret.as_ref().map(secret_text);
    let namespace = session.namespace.clone();
    let update = WebhookUpdate { namespace, name, target, secret, grace };
    let set = session.open().await?.set_webhook(update).await?;
    let made = Made { view: WebhookView::from(&set), secret: text };
    session.output.answer(&made, |made| match &made.secret {
        Some(secret) => format!("{}  {secret}\n", made.view.webhook),
        None => format!("{}\n", made.view.webhook),
    })?;
    if made.secret.is_some() {
        session.output.talk("the secret is shown only now; the target verifies signatures with it");
    }
    session.next(format_args!("webhook show {}", made.view.webhook));
    Ok(Verdict::Good)
}
