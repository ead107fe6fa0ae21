//! How a backend sits the exam: one test for each fact of the [table](crate::every_fact).

use std::pin::Pin;
use std::time::Duration;

use ff_testkit::report;
use tokio::runtime::Builder;

use crate::facts;
use crate::fixture::Fixture;
use crate::subject::Making;

/// No fact takes longer, whatever goes wrong.
const LIMIT: Duration = Duration::from_secs(60);

/// Something that must hold.
struct Fact {
    name: &'static str,
    run: fn(Fixture) -> Pin<Box<dyn Future<Output = ()>>>,
}

macro_rules! registry {
    ([$name:ident] $($module:ident { $($fact:ident)+ })+) => {
        /// Facts. One that is written and not in a table is dead code, which is an error.
        const $name: &[Fact] = &[$($(
            Fact {
                name: concat!(stringify!($module), "::", stringify!($fact)),
                run: |fixture| Box::pin(facts::$module::$fact(fixture)),
            },
        )+)+];
    };
}

crate::every_fact!([registry] FACTS);
crate::own_clock_facts!([registry] OF_AN_OWN_CLOCK);

/// Makes a subject sit one fact, and audits what is left of it.
///
/// # Panics
/// When the fact does not hold.
pub fn sit(name: &str, make: fn() -> Making) {
    let fact = FACTS.iter().chain(OF_AN_OWN_CLOCK).find(|fact| fact.name == name);
    let fact = fact.unwrap_or_else(|| panic!("there is no fact {name}"));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let fixture = Fixture::on(make().await);
        let done = tokio::time::timeout(LIMIT, (fact.run)(fixture.clone())).await;
        assert!(done.is_ok(), "{name} did not come to an end within {LIMIT:?}");
        let report = fixture.audit().await;
        assert!(report.violations.is_empty(), "{name} left {:#?}", report.violations);
    });
    report::count("facts", 1);
}

/// The names of the facts of one part of the exam.
pub fn facts_of(module: &str) -> impl Iterator<Item = &'static str> {
    let prefix = format!("{module}::");
    FACTS.iter().map(|fact| fact.name).filter(move |name| name.starts_with(&prefix))
}

/// Makes a backend sit the exam: a module `$name` with one test for each fact.
///
/// `$factory` makes a fresh subject: an `async fn() -> Subject`.
#[macro_export]
macro_rules! exam {
    ($name:ident, $factory:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            fn subject() -> $crate::Making {
                Box::pin(($factory)())
            }

            $crate::every_fact!([$crate::tests]);
        }
    };
}

/// Makes a backend that has a clock of its own sit the facts about that: a module `$name` with one
/// test for each.
///
/// `$factory` makes a fresh subject: an `async fn() -> Subject`.
#[macro_export]
macro_rules! own_clock {
    ($name:ident, $factory:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            fn subject() -> $crate::Making {
                Box::pin(($factory)())
            }

            $crate::own_clock_facts!([$crate::tests]);
        }
    };
}

/// One test for each fact, in a module that has a `subject` to sit it.
#[doc(hidden)]
#[macro_export]
macro_rules! tests {
    ([] $($module:ident { $($fact:ident)+ })+) => {
        $(mod $module {
            $(#[test]
            fn $fact() {
                let name = concat!(stringify!($module), "::", stringify!($fact));
                $crate::sit(name, super::subject);
            })+
        })+
    };
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::FACTS;

    #[test]
    fn no_fact_is_listed_twice() {
        let names: BTreeSet<_> = FACTS.iter().map(|fact| fact.name).collect();
        assert_eq!(names.len(), FACTS.len());
    }
}
