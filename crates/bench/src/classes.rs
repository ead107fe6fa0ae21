//! The cycle with work of many classes, compared with work that every worker can run.

use std::sync::Arc;

use ff_store::EngineBackend;

use crate::crowd::measure;
use crate::cycle::fill;
use crate::samples::round;
use crate::{BenchError, Load, Progress, Report};

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let quiet: Progress = Arc::new(|_, _| ());
    let plain = Load { classes: 0, ..load };
    measure(backend.clone(), plain.warm_up(), quiet.clone()).await?;
    let baseline = measure(backend.clone(), plain, quiet.clone()).await?;
    measure(backend.clone(), load.warm_up(), quiet).await?;
    let mut measured = measure(backend, load, progress).await?;
    let mut report = Report { classes: Some(load.classes), ..Report::new("classes", url, load) };
    fill(&mut report, &mut measured);
    report.baseline_per_second = Some(round(baseline.per_second));
    report.fraction_of_baseline = Some(round(measured.per_second / baseline.per_second));
    Ok(report)
}
