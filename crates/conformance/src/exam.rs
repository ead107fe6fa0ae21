//! How a backend sits the exam: one test for each fact.

use std::pin::Pin;
use std::time::Duration;

use ff_testkit::report;
use tokio::runtime::Builder;

use crate::facts;
use crate::fixture::Fixture;
use crate::subject::Making;

/// No fact takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// A fact: what must hold.
struct Fact {
    name: &'static str,
    run: fn(Fixture) -> Pin<Box<dyn Future<Output = ()>>>,
}

// The list of facts, which the build script makes from their files, and the macro of their tests.
include!(concat!(env!("OUT_DIR"), "/facts.rs"));

/// Runs one fact on a subject, and audits its store afterwards.
///
/// # Panics
/// When the fact does not hold.
pub fn sit(name: &str, make: fn() -> Making) {
    let fact = FACTS.iter().find(|fact| fact.name == name);
    let fact = fact.unwrap_or_else(|| panic!("there is no fact {name}"));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let fixture = Fixture::on(make().await);
        let done = tokio::time::timeout(LIMIT, (fact.run)(fixture.clone())).await;
        assert!(done.is_ok(), "{name} did not end within {LIMIT:?}");
        let report = fixture.audit().await;
        assert!(report.violations.is_empty(), "{name} left {:#?}", report.violations);
    });
    report::count("facts", 1);
}

/// Makes a backend sit the exam: a module `$name` with one test for each fact.
///
/// `$factory` makes a fresh subject: an `async fn() -> Subject`. Parts of the exam, which are the files
/// of facts, may be named after it: then only these are sat. The part `own_clock` is for stores that
/// have their own clock, and is sat only when it is named.
#[macro_export]
macro_rules! exam {
    ($name:ident, $factory:expr) => {
        $crate::exam!($name, $factory, of_every_store);
    };
    ($name:ident, $factory:expr, $($part:ident),+) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            fn subject() -> $crate::Making {
                Box::pin(($factory)())
            }

            $($crate::tests_of!($part);)+
        }
    };
}
