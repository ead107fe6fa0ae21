//! Schedules: work that is submitted at moments that are known beforehand.

use ff_core::ResourceName;
use ff_core::machine::Submitted;
use ff_core::schedule::ScheduleSpec;
use ff_store::mint;
use ff_store::schedules::{BackfillRange, NamedSchedule};

use crate::client::Client;
use crate::error::SdkError;

impl Client {
    /// Creates a schedule, or changes what it does from now on.
    pub async fn set_schedule(
        &self,
        name: &str,
        spec: ScheduleSpec,
    ) -> Result<NamedSchedule, SdkError> {
        let name = ResourceName::new(name)?;
        Ok(self.backend().set_schedule(&self.namespace, &name, spec).await?)
    }

    /// A schedule, what became of its latest moments, and its next ten.
    pub async fn schedule(&self, name: &str) -> Result<NamedSchedule, SdkError> {
        let name = ResourceName::new(name)?;
        Ok(self.backend().schedule(&self.namespace, &name).await?)
    }

    /// Pauses a schedule: nothing of it runs until it is resumed, but what somebody asks for.
    pub async fn pause_schedule(
        &self,
        name: &str,
        reason: Option<&str>,
    ) -> Result<NamedSchedule, SdkError> {
        let (name, reason) = (ResourceName::new(name)?, reason.map(Into::into));
        Ok(self.backend().pause_schedule(&self.namespace, &name, true, reason).await?)
    }

    /// Lets a schedule continue with the moments from now on.
    pub async fn resume_schedule(&self, name: &str) -> Result<NamedSchedule, SdkError> {
        let name = ResourceName::new(name)?;
        Ok(self.backend().pause_schedule(&self.namespace, &name, false, None).await?)
    }

    /// Submits a run of a schedule now.
    pub async fn run_schedule(&self, name: &str) -> Result<Submitted, SdkError> {
        let (name, request) = (ResourceName::new(name)?, mint::request_id());
        Ok(self.backend().run_schedule(&self.namespace, &name, request).await?)
    }

    /// Runs the moments of a range of the past, one after the other.
    pub async fn backfill_schedule(
        &self,
        name: &str,
        range: BackfillRange,
    ) -> Result<NamedSchedule, SdkError> {
        let name = ResourceName::new(name)?;
        Ok(self.backend().backfill_schedule(&self.namespace, &name, range).await?)
    }

    /// Removes a schedule. Its runs stay.
    pub async fn delete_schedule(&self, name: &str) -> Result<(), SdkError> {
        let name = ResourceName::new(name)?;
        Ok(self.backend().delete_schedule(&self.namespace, &name).await?)
    }
}
