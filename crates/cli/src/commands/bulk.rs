//! One action on many executions, chosen by a filter: the part that `ff cancel`, `ff replay`
//! and `ff delete` share.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;
use ff_api::BulkView;
use ff_core::bounds::PAGE;
use ff_core::{Kind, Lane, TagKey, TagValue, Time};
use ff_store::ClientAndWorker;
use ff_store::listing::{Filter, StateFilter};
use ff_store::roles::{Bulk, BulkAction, BulkSlice};

use super::{Verdict, parse};
use crate::error::Error;
use crate::id::Id;
use crate::output::{amount, terminal};
use crate::session::Session;

/// How many executions one call concerns, so that the progress line moves.
const SLICE: usize = 200;

/// Which executions, and how.
#[derive(Debug, Args)]
pub(crate) struct BulkFlags {
    /// All in this lane.
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    lane: Option<Lane>,

    /// All of this kind.
    #[arg(long, value_name = "NAME", conflicts_with = "id")]
    kind: Option<Kind>,

    /// All in these states, separated by commas [default: every state the command applies to].
    #[arg(long, value_name = "STATE", value_delimiter = ',', conflicts_with = "id")]
    state: Vec<StateFilter>,

    /// All with this tag; may be repeated.
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = parse::tag, conflicts_with = "id")]
    tags: Vec<(TagKey, TagValue)>,

    /// All created at this time or later (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = parse::moment, conflicts_with = "id")]
    from: Option<Time>,

    /// All created before this time (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = parse::moment, conflicts_with = "id")]
    to: Option<Time>,

    /// Only count them; change nothing.
    #[arg(long, conflicts_with = "id")]
    dry_run: bool,

    /// Do not ask for confirmation on a terminal.
    #[arg(long, short, conflicts_with = "id")]
    yes: bool,
}

impl BulkFlags {
    /// The one execution, or `None` when a filter is given. Neither is refused.
    pub(crate) fn one(&self, id: Option<Id>) -> Result<Option<Id>, Error> {
        if id.is_none() && self.filter() == Filter::default() {
            let why = "no execution is given; give an id, or --lane, --kind, --state, --tag, --from or \
                       --to for all that match";
            return Err(Error::usage("id", why));
        }
        Ok(id)
    }

    fn filter(&self) -> Filter {
        Filter {
            lane: self.lane.clone(),
            kind: self.kind.clone(),
            tags: self.tags.clone(),
            from: self.from,
            to: self.to,
            ..Filter::default()
        }
        .in_states(self.state.iter().copied())
    }

    /// Does `action` to all that match, slice by slice, and prints how many.
    pub(crate) async fn run(
        self,
        action: BulkAction,
        session: &Session<'_>,
    ) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let verb = action.verb();
        let bulk = |dry_run| Bulk {
            namespace: session.namespace.clone(),
            filter: self.filter(),
            action: action.clone(),
            dry_run,
            after: None,
            limit: if dry_run { PAGE } else { SLICE },
        };
        let asks = !self.yes && !self.dry_run && io::stdin().is_terminal();
        if asks {
            let counted = all(&*backend, bulk(true), session).await?;
            let question = format!("{verb} {} executions?", amount::grouped(counted.matched));
            if counted.matched > 1 && !agrees(&question).map_err(Error::Output)? {
                session.output.talk("nothing was changed");
                return Ok(Verdict::Bad);
            }
        }
        let total = all(&*backend, bulk(self.dry_run), session).await?;
        let view = BulkView::from(&total);
        session.output.answer(&view, |view| report(view, verb.as_str(), self.dry_run))?;
        if total.unreadable > 0 {
            let count = amount::grouped(total.unreadable);
            session.output.talk(format_args!("{count} cannot be read; run `ff check`"));
        }
        Ok(if total.refused == 0 { Verdict::Good } else { Verdict::Bad })
    }
}

/// Every slice, one after the other.
async fn all(
    backend: &dyn ClientAndWorker,
    mut bulk: Bulk,
    session: &Session<'_>,
) -> Result<BulkSlice, Error> {
    let mut total = BulkSlice::default();
    let shows = terminal::of_stderr().is_some() && !session.output.is_json();
    loop {
        total.join(backend.bulk(&bulk).await?);
        if shows {
            let (matched, done) = (amount::grouped(total.matched), amount::grouped(total.done));
            let _ = write!(io::stderr().lock(), "\r\x1b[K{matched} found, {done} done");
        }
        bulk.after = total.next;
        if bulk.after.is_none() {
            break;
        }
    }
    if shows {
        let _ = write!(io::stderr().lock(), "\r\x1b[K");
    }
    Ok(total)
}

fn agrees(question: &str) -> io::Result<bool> {
    write!(io::stderr().lock(), "{question} [y/N] ")?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

fn report(view: &BulkView, verb: &str, dry_run: bool) -> String {
    let matched = amount::grouped(view.matched);
    if dry_run {
        return format!("{matched} to {verb}\n");
    }
    let mut text = format!("{verb}: {} of {matched} done", amount::grouped(view.done));
    if view.refused > 0 {
        text.push_str(&format!(", {} refused", amount::grouped(view.refused)));
    }
    text.push('\n');
    for refusal in &view.refusals {
        let error = &refusal.error;
        text.push_str(&format!("{}: {} ({})\n", refusal.id, error.message, error.code));
    }
    text
}
