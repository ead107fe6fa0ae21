//! Shortens a history that fails.

use super::op::Op;
use super::pair::Pair;
use super::tally::Tally;
use super::{Agreement, Failure};
use crate::subject::Making;

/// How many shorter histories are tried.
const TRIES: usize = 500;

/// Drops steps, then commands of batches, one by one, while the history still fails; describes what
/// is left.
pub(crate) async fn shrink(failure: Failure, make: fn() -> Making, agreement: Agreement) -> String {
    let mut kept = failure;
    let mut tries = 0;
    loop {
        let before = size(&kept.steps);
        let mut place = kept.steps.len();
        while place > 0 && tries < TRIES {
            place -= 1;
            for shorter in without(&kept.steps, place) {
                tries += 1;
                if let Some(why) = fails(&shorter, make, agreement).await {
                    kept = Failure { steps: shorter, why };
                    break;
                }
            }
            place = place.min(kept.steps.len());
        }
        if tries >= TRIES || size(&kept.steps) == before {
            break;
        }
    }
    let steps: Vec<_> = kept.steps.iter().map(|step| format!("- {step}")).collect();
    format!("{} steps are enough:\n{}\n{}", steps.len(), steps.join("\n"), kept.why)
}

fn size(steps: &[Op]) -> usize {
    steps.iter().map(|step| step.commands().len().max(1)).sum()
}

/// `steps` without the step at `place`, or without one of its commands.
fn without(steps: &[Op], place: usize) -> Vec<Vec<Op>> {
    let mut shorter = vec![[&steps[..place], &steps[place + 1..]].concat()];
    if let Op::Run(batch) = &steps[place]
        && batch.len() > 1
    {
        for dropped in 0..batch.len() {
            let mut fewer = batch.clone();
            fewer.remove(dropped);
            let mut all = steps.to_vec();
            all[place] = Op::Run(fewer);
            shorter.push(all);
        }
    }
    shorter
}

/// Why a history of these steps fails, if it does.
async fn fails(steps: &[Op], make: fn() -> Making, agreement: Agreement) -> Option<String> {
    let mut pair = Pair::new(make().await, agreement).await;
    let mut tally = Tally::default();
    for step in steps {
        if !pair.comparable(step) {
            return None;
        }
        if let Err(why) = pair.step(step, &mut tally).await {
            return Some(why);
        }
    }
    pair.audit().await.err()
}
