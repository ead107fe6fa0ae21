//! The loop of a worker: claim for the free slots, start jobs, count how they end.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ff_api::WorkerReportView;
use ff_core::machine::Assignment;
use tokio::task::JoinSet;

use super::job::Ending;
use super::{Context, Stop, claims, job};

/// A claim that is given up at the end may just have taken something, which its store then hands
/// back: it gets this much time.
const FAREWELL: Duration = Duration::from_millis(100);

type Claiming = Pin<Box<dyn Future<Output = Vec<Assignment>> + Send>>;

/// Works until it is told to stop, or has nothing left to do; then waits for what runs.
pub(super) async fn run(context: &Arc<Context>) -> WorkerReportView {
    let mut dispatch = Dispatch::new(context);
    while !dispatch.is_done() {
        dispatch.step().await;
    }
    if dispatch.claiming.take().is_some() {
        tokio::time::sleep(FAREWELL).await;
    }
    while let Some(ended) = dispatch.jobs.join_next().await {
        dispatch.count(ended.unwrap_or(Ending::Lost));
    }
    dispatch.report
}

struct Dispatch<'a> {
    context: &'a Arc<Context>,
    jobs: JoinSet<Ending>,
    /// The one claim in flight.
    claiming: Option<Claiming>,
    /// Nothing ran when the claim in flight was made.
    was_idle: bool,
    /// A claim found nothing while nothing ran.
    idle: bool,
    report: WorkerReportView,
}

impl<'a> Dispatch<'a> {
    fn new(context: &'a Arc<Context>) -> Dispatch<'a> {
        Dispatch {
            context,
            jobs: JoinSet::new(),
            claiming: None,
            was_idle: false,
            idle: false,
            report: WorkerReportView::default(),
        }
    }

    fn is_done(&self) -> bool {
        self.context.shutdown.drain.is_cancelled()
            || match self.context.options.stop {
                Stop::OnSignal => false,
                Stop::AfterOne => self.report.claimed > 0,
                Stop::WhenIdle => self.idle,
            }
    }

    async fn step(&mut self) {
        let free = self.context.options.concurrency.saturating_sub(self.jobs.len());
        if self.claiming.is_none() && free > 0 {
            let max = if self.context.options.stop == Stop::AfterOne { 1 } else { free };
            self.was_idle = self.jobs.is_empty();
            self.claiming = Some(Box::pin(claims::next(self.context.clone(), max)));
        }
        tokio::select! {
            assignments = finished(&mut self.claiming) => {
                self.claiming = None;
                self.idle = assignments.is_empty() && self.was_idle;
                self.start(assignments);
            }
            Some(ended) = self.jobs.join_next() => self.count(ended.unwrap_or(Ending::Lost)),
            () = self.context.shutdown.drain.cancelled() => {}
        }
    }

    fn start(&mut self, assignments: Vec<Assignment>) {
        for assignment in assignments {
            self.report.claimed += 1;
            self.context.log.claimed(&assignment);
            self.jobs.spawn(job::run(self.context.clone(), assignment));
        }
    }

    fn count(&mut self, ending: Ending) {
        let report = &mut self.report;
        *match ending {
            Ending::Completed => &mut report.completed,
            Ending::Retrying => &mut report.retrying,
            Ending::Failed => &mut report.failed,
            Ending::Cancelled => &mut report.cancelled,
            Ending::Lost => &mut report.lost,
            Ending::HandedBack => &mut report.handed_back,
        } += 1;
    }
}

/// What the claim in flight took; never, when there is none.
async fn finished(claiming: &mut Option<Claiming>) -> Vec<Assignment> {
    match claiming {
        Some(claiming) => claiming.await,
        None => std::future::pending().await,
    }
}
