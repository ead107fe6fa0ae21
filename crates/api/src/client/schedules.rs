//! Schedules, over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use ff_core::machine::Submitted;
use ff_core::schedule::ScheduleSpec;
use ff_core::{Namespace, RequestId, ResourceName};
use ff_store::schedules::{BackfillRange, NamedSchedule};
use ff_store::{SchedulesBackend, StoreError};

use super::answers::understood;
use super::paths::page_path;
use super::transport::{HttpClient, broken};
use crate::http::{
    BackfillRequest, PauseScheduleRequest, ResumeScheduleRequest, RunScheduleRequest,
    ScheduleRequest,
};
use crate::submitted::WarningView;
use crate::{SchedulePageView, ScheduleView, SubmittedView};

#[async_trait]
impl SchedulesBackend for HttpClient {
    async fn set_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        spec: ScheduleSpec,
    ) -> Result<NamedSchedule, StoreError> {
        let path = path(namespace, name, "");
        let view: ScheduleView = self.put(&path, &ScheduleRequest::from(&spec)).await?;
        understood(NamedSchedule::try_from(view))
    }

    async fn schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<NamedSchedule, StoreError> {
        let view: ScheduleView = self.get(&path(namespace, name, "")).await?;
        understood(NamedSchedule::try_from(view))
    }

    async fn schedules(
        &self,
        namespace: &Namespace,
        after: Option<&ResourceName>,
        limit: usize,
    ) -> Result<Vec<NamedSchedule>, StoreError> {
        let path = page_path("schedules", namespace, after.map(ResourceName::as_str), limit);
        let page: SchedulePageView = self.get(&path).await?;
        page.schedules.into_iter().map(|view| understood(NamedSchedule::try_from(view))).collect()
    }

    async fn pause_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        paused: bool,
        reason: Option<Box<str>>,
    ) -> Result<NamedSchedule, StoreError> {
        let view: Option<ScheduleView> = match paused {
            true => {
                let request = PauseScheduleRequest { reason: reason.map(Into::into) };
                self.post(&path(namespace, name, "/pause"), &request, Duration::ZERO).await?
            }
            false => {
                let request = ResumeScheduleRequest {};
                self.post(&path(namespace, name, "/resume"), &request, Duration::ZERO).await?
            }
        };
        understood(NamedSchedule::try_from(view.ok_or_else(|| broken("no content"))?))
    }

    async fn run_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        request: RequestId,
    ) -> Result<Submitted, StoreError> {
        let request = RunScheduleRequest { request: Some(request) };
        let path = path(namespace, name, "/run");
        let view: Option<SubmittedView> = self.post(&path, &request, Duration::ZERO).await?;
        submitted(view.ok_or_else(|| broken("no content"))?)
    }

    async fn backfill_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
        range: BackfillRange,
    ) -> Result<NamedSchedule, StoreError> {
        let path = path(namespace, name, "/backfill");
        let request = BackfillRequest::from(&range);
        let view: Option<ScheduleView> = self.post(&path, &request, Duration::ZERO).await?;
        understood(NamedSchedule::try_from(view.ok_or_else(|| broken("no content"))?))
    }

    async fn delete_schedule(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError> {
        self.delete(&path(namespace, name, "")).await
    }
}

fn submitted(view: SubmittedView) -> Result<Submitted, StoreError> {
    Ok(Submitted {
        execution: view.id,
        created: view.new,
        state: view.state,
        warnings: understood(view.warnings.iter().map(WarningView::warning).collect())?,
    })
}

fn path(namespace: &Namespace, name: &ResourceName, what: &str) -> String {
    format!("/v1/schedules/{name}{what}?namespace={namespace}")
}
