//! `ff flow`: submit graphs of executions, show, list, cancel and replay them.

use clap::{Args, Subcommand};
use ff_api::http::FlowRequest;
use ff_api::{FlowCancelledView, FlowSubmittedView, ListPageView, ReplayedView};
use ff_core::bounds::PAGE;
use ff_core::flow::HeldMembers;
use ff_core::machine::CancelFlow;
use ff_core::{ExecutionId, IdempotencyKey, Lane, Millis, TagKey, TagValue};
use ff_store::listing::{Cursor, Filter, ListPage, Listing, StateFilter};
use ff_store::{ClientAndWorker, Clock, StoreError, SystemClock};

mod show;

use super::{Verdict, parse, wait};
use crate::error::Error;
use crate::id::Id;
use crate::output::{flow, listing, terminal};
use crate::session::Session;
use crate::{duration, input};

/// `ff flow`.
#[derive(Debug, Args)]
pub(crate) struct Flow {
    #[command(subcommand)]
    what: What,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
enum What {
    /// Submit a graph and print its id.
    Submit(Submit),
    /// Show a flow with its graph; * marks the critical path.
    Show(show::Show),
    /// Cancel a flow. Once this returns, no worker gets a node of it.
    Cancel(Cancel),
    /// Run again what did not complete of a flow that has ended; the rest keeps its results.
    Replay(Replay),
    /// List flows, newest first.
    Ls(Ls),
}

const GRAPH: &str = "\
The graph is JSON, as POST /v1/flows takes it, or the same in YAML:

  {\"nodes\": [
    {\"name\": \"fetch\", \"kind\": \"http\", \"input\": {\"url\": \"https://example.org\"}},
    {\"name\": \"count\", \"after\": [\"fetch\"]}
  ]}

A node runs when all nodes of `after` have completed, or with `join: any` one of
them, or with `quorum: N` as many. When that cannot be any more it is skipped;
`on_failure: continue` lets it run, and `on_failure: fail_flow` fails the flow.";

#[derive(Debug, Args)]
#[command(after_help = GRAPH)]
struct Submit {
    /// The graph, in JSON or YAML: a file, or - for stdin.
    file: String,

    /// The flow's id (a UUIDv7), so that a repeated call creates nothing twice.
    #[arg(long, value_name = "ID")]
    id: Option<ExecutionId>,

    /// Your own key for this flow: the same key and body is the same flow.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<IdempotencyKey>,

    /// A label of the flow and its nodes; may be repeated.
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = parse::tag)]
    tags: Vec<(TagKey, TagValue)>,

    /// Wait until it ends; exit with 1 unless it completed.
    #[arg(long)]
    wait: bool,

    /// How long to wait at most; the flow keeps running.
    #[arg(long, value_name = "DURATION", requires = "wait", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    timeout: Option<Millis>,
}

#[derive(Debug, Args)]
struct Cancel {
    /// The flow: its id, or a unique prefix of it.
    id: Id,

    /// How long workers that run nodes of it may still finish; without it their leases end at once.
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true, conflicts_with = "finish")]
    grace: Option<Millis>,

    /// Let nodes that run finish; they are not tried again.
    #[arg(long)]
    finish: bool,

    /// The reason, shown to people.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

#[derive(Debug, Args)]
struct Replay {
    /// The flow: its id, or a unique prefix of it.
    id: Id,

    /// The run to follow, so that a repeated call does not begin two [default: the newest].
    #[arg(long, value_name = "N")]
    run: Option<u32>,

    /// Wait until it ends; exit with 1 unless it completed.
    #[arg(long)]
    wait: bool,
}

#[derive(Debug, Args)]
struct Ls {
    /// Only in these states, separated by commas: waiting_children (it runs), completed, failed,
    /// cancelled, expired.
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<StateFilter>,

    /// Only of this lane.
    #[arg(long, value_name = "NAME")]
    lane: Option<Lane>,

    /// Only with this tag; may be repeated.
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = parse::tag)]
    tags: Vec<(TagKey, TagValue)>,

    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = parse::number::<usize>(1, PAGE as u64))]
    limit: usize,

    /// Continue where an earlier page ended.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<Cursor>,
}

impl Flow {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        match self.what {
            What::Submit(submit) => submit.run(session).await,
            What::Show(show) => show.run(session).await,
            What::Cancel(cancel) => cancel.run(session).await,
            What::Replay(replay) => replay.run(session).await,
            What::Ls(list) => list.run(session).await,
        }
    }
}

impl Submit {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let mut request: FlowRequest = input::graph(&self.file)?;
        request.id = self.id.or(request.id);
        request.idempotency_key = self.idempotency_key.or(request.idempotency_key);
        request.tags.extend(parse::distinct(self.tags, "--tag")?);
        let namespace = session.namespace.clone();
        let backend = session.place().await?.roles();
        let flow = request.into_flow(namespace.clone(), |key| backend.new_id(&namespace, key))?;
        let id = flow.id;
        let answer = backend.submit_flow(flow).await;
        if answer.as_ref().is_err_and(StoreError::is_retryable) {
            session.output.talk(format_args!("to repeat it safely, add --id {id}"));
        }
        let view = FlowSubmittedView::from(&answer?);
        if !view.new {
            session.output.talk("already submitted");
        }
        if self.wait {
            session.output.talk(format_args!("waiting for {}", view.id));
            let target = session.target(view.id);
            return wait::for_end(session, &*backend, &target, self.timeout).await;
        }
        session.output.answer(&view, |view| format!("{}\n", view.id))?;
        session.next(format_args!("flow show {}", view.id));
        Ok(Verdict::Good)
    }
}

impl Cancel {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find_flow(session, &*backend).await?;
        let held = match (self.grace, self.finish) {
            (Some(grace), _) => HeldMembers::Grace(grace),
            (None, true) => HeldMembers::Finish,
            (None, false) => HeldMembers::Cancel,
        };
        let reason = self.reason.map(String::into_boxed_str);
        let cancel = CancelFlow { target: session.target(id), held, reason };
        let view = FlowCancelledView::new(id, &backend.cancel_flow(cancel).await?);
        session.output.answer(&view, flow::cancelled)?;
        session.next(format_args!("flow show {id}"));
        Ok(Verdict::Good)
    }
}

impl Replay {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let id = self.id.find_flow(session, &*backend).await?;
        let target = session.target(id);
        let run = match self.run {
            Some(run) => run,
            None => backend.describe(&target).await?.run.number,
        };
        let view = ReplayedView { id, run: backend.replay_flow(&target, run).await? };
        if self.wait {
            session.output.talk(format_args!("run {} of {id}", view.run));
            return wait::for_end(session, &*backend, &target, None).await;
        }
        session.output.answer(&view, |view| format!("run {}\n", view.run))?;
        session.next(format_args!("flow show {id}"));
        Ok(Verdict::Good)
    }
}

impl Ls {
    async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let page = self.page(session, &*backend).await?;
        let view = ListPageView::from(&page);
        let (now, style) = (SystemClock.now(), session.output.style());
        let columns = terminal::of_stdout().map(|size| size.columns);
        session.output.answer(&view, |view| listing::flows(view, now, style, columns))?;
        for id in &view.unreadable {
            session.output.talk(format_args!("{id} cannot be read; run `ff check`"));
        }
        match (&view.next, view.executions.first()) {
            (Some(cursor), _) => session.next(format_args!("flow ls --cursor {cursor}")),
            (None, Some(newest)) => session.next(format_args!("flow show {}", newest.id)),
            (None, None) => {
                session.output.talk("nothing found");
                session.next("flow submit FILE");
            }
        }
        Ok(Verdict::Good)
    }

    /// A full page, or all that is left: the store examines a bounded number of records for each of its
    /// pages.
    async fn page(
        &self,
        session: &Session<'_>,
        backend: &dyn ClientAndWorker,
    ) -> Result<ListPage, Error> {
        let filter = Filter {
            flows: true,
            lane: self.lane.clone(),
            tags: self.tags.clone(),
            ..Filter::default()
        }
        .in_states(self.state.iter().copied());
        let mut page = ListPage { next: self.cursor, ..ListPage::default() };
        loop {
            let listing = Listing {
                namespace: session.namespace.clone(),
                filter: filter.clone(),
                after: page.next,
                limit: self.limit - page.executions.len() - page.unreadable.len(),
            };
            let more = backend.list(&listing).await?;
            page.executions.extend(more.executions);
            page.unreadable.extend(more.unreadable);
            page.next = more.next;
            if page.next.is_none() || page.executions.len() + page.unreadable.len() >= self.limit {
                return Ok(page);
            }
        }
    }
}
