//! Children of a task: work that a handler spawns and waits for.

use ff_core::bounds::{FLOW_SLICE, WAITED_CHILDREN};
use ff_core::journal::{EntryKind, Recorded};
use ff_core::machine::{NewChild, Submit, WaitChildren};
use ff_core::state::Outcome;
use ff_core::{Kind, Lane, NodeName, Partition, Payload, Refusal, Time};
use ff_store::mint;

use crate::context::TaskContext;
use crate::error::SdkError;
use crate::journal::{Keeper, answered, permanent};
use crate::payload::{FromPayload, ToPayload};
use crate::task::Reporter;
use crate::task_error::TaskError;

/// Work that a task spawns.
///
/// ```
/// use ff_sdk::{Child, TaskContext, TaskError, TestTask};
///
/// async fn lead(task: TaskContext, topic: String) -> Result<u32, TaskError> {
///     task.spawn("search", Child::new("search", &topic)?).await?;
///     task.spawn("read", Child::new("read", &topic)?.lane("slow")?).await?;
///     Ok(task.all::<u32>(&["search", "read"]).await?.into_iter().sum())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let task = TestTask::new().child("search", &3).child("read", &4);
/// assert_eq!(task.run::<u32, _>(lead, "rust").await.unwrap(), 7);
/// assert_eq!(task.spawned(), ["search", "read"]);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Child {
    work: Submit,
}

impl Child {
    /// Work of this kind, in lane `default`.
    pub fn new(kind: &str, input: &(impl ToPayload + ?Sized)) -> Result<Child, SdkError> {
        // Its id follows from its parent and its name.
        let mut work = Submit::new(mint::execution_id(Partition::ONLY));
        (work.kind, work.input) = (Kind::new(kind)?, input.to_payload()?);
        Ok(Child { work })
    }

    /// The queue.
    pub fn lane(mut self, lane: &str) -> Result<Child, Refusal> {
        self.work.lane = Lane::new(lane)?;
        Ok(self)
    }

    /// Higher goes first.
    pub fn priority(mut self, priority: i16) -> Child {
        self.work.priority = priority;
        self
    }

    /// How many attempts may end by failure.
    pub fn max_attempts(mut self, attempts: u32) -> Child {
        self.work.policy.max_attempts = Some(attempts);
        self
    }
}

impl TaskContext {
    /// Spawns a child: work that runs beside this task, under a name of its own. The same name again, in a
    /// later attempt too, is the same child. Children that have not ended when the task ends are cancelled.
    pub async fn spawn(&self, name: &str, child: Child) -> Result<(), TaskError> {
        self.spawn_all([(name, child)]).await
    }

    /// Spawns several children, as many in one call as it takes.
    pub async fn spawn_all<'n>(
        &self,
        children: impl IntoIterator<Item = (&'n str, Child)>,
    ) -> Result<(), TaskError> {
        let new = |(name, child): (&str, Child)| {
            Ok(NewChild { name: NodeName::new(name)?, work: child.work })
        };
        let children: Result<Vec<_>, Refusal> = children.into_iter().map(new).collect();
        let children = children.map_err(permanent)?;
        match self.journal().keeper() {
            Keeper::Test(recorder) => recorder.spawn(children.iter().map(|it| it.name.as_str())),
            Keeper::Engine(reporter) => {
                for some in children.chunks(FLOW_SLICE) {
                    let call = || reporter.backend().spawn(reporter.hold(), some.to_vec());
                    answered(reporter.repeat(call).await.map_err(SdkError::from))?;
                }
            }
        }
        Ok(())
    }

    /// Waits until these children have ended, without holding the worker: see [`TaskContext::sleep`] for how
    /// a task leaves its worker and returns. Answers their results, in the order of their names; if one did
    /// not complete, the task fails for good, unless the handler makes up for it.
    pub async fn all<T: FromPayload>(&self, children: &[&str]) -> Result<Vec<T>, TaskError> {
        for some in children.chunks(WAITED_CHILDREN) {
            self.wait_children(some, None).await?;
        }
        let mut results = Vec::with_capacity(children.len());
        for name in children {
            results.push(self.child_result(name).await?);
        }
        Ok(results)
    }

    /// Waits until one of these children has completed, or none can any more. Answers the name and the result
    /// of the one that was first; which one that was is kept under `name`, so later attempts get the same.
    pub async fn race<T: FromPayload>(
        &self,
        name: &str,
        children: &[&str],
    ) -> Result<(String, T), TaskError> {
        let journal = self.journal();
        let using = journal.enter(name, EntryKind::Step).await?;
        if let Some(Recorded::Step(winner)) = &using.found {
            let decoded = String::from_payload(winner);
            let winner = answered(decoded.map_err(SdkError::from))?;
            let result = self.child_result(&winner).await?;
            return Ok((winner, result));
        }
        self.wait_children(children, Some(1)).await?;
        let first = match journal.keeper() {
            Keeper::Test(recorder) => {
                children.iter().find(|child| recorder.upstream(child).is_some()).copied()
            }
            Keeper::Engine(reporter) => answered(first(reporter, children).await)?,
        };
        let Some(first) = first else {
            return Err(TaskError::permanent("none of the children completed").category("child"));
        };
        let winner = first.to_owned();
        let kept = answered(winner.to_payload().map_err(SdkError::from))?;
        journal.keep(using, kept).await?;
        let result = self.child_result(first).await?;
        Ok((winner, result))
    }

    async fn wait_children(&self, names: &[&str], most: Option<u32>) -> Result<(), TaskError> {
        let names: Result<Vec<_>, _> = names.iter().map(|name| NodeName::new(*name)).collect();
        let children = names.map_err(permanent)?;
        if children.is_empty() {
            return Ok(());
        }
        self.journal()
            .park(|reporter| {
                let backend = reporter.backend().clone();
                let (hold, children) = (reporter.hold(), children.clone());
                let wait = WaitChildren { hold, children, completed: most };
                async move { backend.wait_children(wait).await }
            })
            .await
    }

    async fn child_result<T: FromPayload>(&self, name: &str) -> Result<T, TaskError> {
        let payload: Payload = match self.journal().keeper() {
            Keeper::Test(recorder) => recorder.upstream(name).ok_or_else(|| {
                TaskError::permanent(format!("child {name} did not complete")).category("child")
            })?,
            Keeper::Engine(reporter) => {
                let name = NodeName::new(name).map_err(permanent)?;
                match reporter.upstream(&name).await {
                    Err(error) if error.code() == "wrong_state" => {
                        let why = format!("child {name} did not complete: {error}");
                        return Err(TaskError::permanent(why).category("child"));
                    }
                    answer => answered(answer)?,
                }
            }
        };
        answered(T::from_payload(&payload).map_err(SdkError::from))
    }
}

/// The child that completed first, of those with these names.
async fn first<'n>(reporter: &Reporter, names: &[&'n str]) -> Result<Option<&'n str>, SdkError> {
    let (target, mut from) = (reporter.hold().target, Some(0));
    let mut first: Option<(Time, &str)> = None;
    while let Some(number) = from {
        let call = || reporter.backend().children(&target, number, FLOW_SLICE);
        let page = reporter.repeat(call).await?;
        for member in page.members {
            let named = names.iter().find(|name| **name == member.name.as_str()).copied();
            let ended = member.execution.as_ref().and_then(|execution| execution.outcome());
            if let (Some(name), Some((Outcome::Success { .. }, at))) = (named, ended)
                && first.is_none_or(|(earlier, _)| at < earlier)
            {
                first = Some((at, name));
            }
        }
        from = page.next;
    }
    Ok(first.map(|(_, name)| name))
}
