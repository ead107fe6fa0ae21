//! Random histories: the same commands on the model and on a subject, compared at every step.
//!
//! A seed makes a history. After every step the answers and everything both stores hold must be
//! equal. `FF_SEED=7` runs that history alone and prints each step, `FF_HISTORIES=100000` runs that
//! many. A history that fails is shortened by dropping steps before it is printed.

mod clock;
mod compare;
mod generate;
mod make;
mod op;
mod pair;
mod pick;
mod read;
mod shrink;
mod spread;
mod tally;
mod themes;

use std::env;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use tokio::runtime::{Builder, Runtime};

pub use clock::clock_histories;

use crate::subject::Making;
use generate::Generator;
use op::Op;
use pair::Pair;
use tally::{Tallies, Tally};
use themes::Theme;

/// The options of a run of histories.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How many histories, if not as many as all themes have.
    pub count: Option<u64>,
    /// How many commands each has, at least.
    pub commands: usize,
    /// What must be equal.
    pub agreement: Agreement,
    /// Whether the clock is set forward and back, which only a store with its own clock
    /// supports.
    pub clock_is_set: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { count: None, commands: 60, agreement: Agreement::Exact, clock_is_set: false }
    }
}

/// What must be equal after each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Everything.
    Exact,
    /// Everything but the numbers of leases within their claim and the order of a claim's answer,
    /// which a conflict changes. For stores in which conflicts happen.
    UpToLeaseNumbers,
}

/// Runs histories on fresh subjects, and checks that they were not vacuous.
///
/// # Panics
/// When a subject and the model differ, or when too little happened to conclude anything.
pub fn histories(name: &str, make: fn() -> Making, options: Options) {
    if let Some(seed) = number("FF_SEED") {
        return print(name, seed, make, options);
    }
    let count = number("FF_HISTORIES").or(options.count).unwrap_or_else(Theme::full_run);
    let mut tallies = run(name, 0..count, make, options);
    // Conflicts come by chance, so a move that is rare may be made less often than it must: more
    // histories decide whether that was bad luck.
    let is_full = count >= Theme::full_run();
    let most = count.saturating_add(Theme::full_run());
    let mut done = count;
    while is_full && done < most && tallies.is_vacuous() {
        let upto = most.min(done + Theme::full_run().div_ceil(4));
        tallies.join(&run(name, done..upto, make, options));
        done = upto;
    }
    tallies.report(name);
    if is_full {
        tallies.assert_not_vacuous(name);
    }
}

/// Runs the histories of some seeds.
fn run(name: &str, seeds: Range<u64>, make: fn() -> Making, options: Options) -> Tallies {
    let (next, stop) = (AtomicU64::new(seeds.start), Mutex::new(None));
    let total = Mutex::new(Tallies::default());
    let worker = || {
        let runtime = runtime();
        let mut tallies = Tallies::default();
        while stop.lock().unwrap().is_none() {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            if seed >= seeds.end {
                break;
            }
            match runtime.block_on(history(seed, make, options, false)) {
                Ok(counted) => tallies.add(Theme::of_seed(seed).name, &counted),
                Err(failure) => drop(stop.lock().unwrap().get_or_insert((seed, failure))),
            }
        }
        total.lock().unwrap().join(&tallies);
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(worker);
        }
    });
    if let Some((seed, failure)) = stop.into_inner().unwrap() {
        let shrunk = runtime().block_on(shrink::shrink(failure, make, options.agreement));
        panic!("{name}: run it alone with FF_SEED={seed}\n{shrunk}");
    }
    total.into_inner().unwrap()
}

/// A history that came out differently.
pub(crate) struct Failure {
    /// Its steps, up to the one that failed.
    pub(crate) steps: Vec<Op>,
    /// What differed.
    pub(crate) why: String,
}

/// Makes and runs one history.
async fn history(
    seed: u64,
    make: fn() -> Making,
    options: Options,
    verbose: bool,
) -> Result<Tally, Failure> {
    let mut pair = Pair::new(make().await, options.agreement).await;
    let mut generator = Generator::new(seed, pair.partitions(), options);
    let mut tally = Tally::of_a_history();
    let mut steps = Vec::new();
    while tally.commands() < options.commands as u64 {
        let op = generator.next(pair.view());
        steps.push(op.clone());
        if verbose {
            eprintln!("{op}");
        }
        match pair.step(&op, &mut tally).await {
            Ok(answers) => {
                for (command, answer) in op.commands().iter().zip(&answers) {
                    generator.learn(command, answer);
                    if verbose {
                        eprintln!("    {answer:?}");
                    }
                }
            }
            Err(why) => return Err(Failure { steps, why }),
        }
    }
    match pair.audit().await {
        Ok(()) => Ok(tally),
        Err(why) => Err(Failure { steps, why }),
    }
}

/// Runs one history and prints every step.
fn print(name: &str, seed: u64, make: fn() -> Making, options: Options) {
    eprintln!("{name}: history {seed}, about {}", Theme::of_seed(seed).name);
    if let Err(failure) = runtime().block_on(history(seed, make, options, true)) {
        panic!("{name}: FF_SEED={seed}: {}", failure.why);
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is {text}; give a number")))
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Makes a backend run random histories: a module `$name` with the test that does.
///
/// `$factory` makes a fresh subject: an `async fn() -> Subject`.
#[macro_export]
macro_rules! histories {
    ($name:ident, $factory:expr) => {
        $crate::histories!($name, $factory, $crate::Options::default());
    };
    ($name:ident, $factory:expr, $options:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            #[test]
            fn random_histories_agree_with_the_model() {
                fn subject() -> $crate::Making {
                    Box::pin(($factory)())
                }
                $crate::histories(stringify!($name), subject, $options);
            }
        }
    };
}
