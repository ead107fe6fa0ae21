//! The benchmarks of the report, and their goals.

/// A benchmark on a store.
pub(crate) struct Case {
    /// Where.
    pub(crate) store: Store,
    /// The words after `ff bench`.
    pub(crate) words: &'static str,
    /// The same for a quick run.
    pub(crate) quick: &'static str,
    /// The figures on the page.
    pub(crate) figures: &'static [Figure],
}

/// A kind of store, fresh for every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    /// A file, synced at every commit.
    Sqlite,
    /// A server that writes no file.
    Valkey,
    /// A server whose append-only file is synced every second.
    ValkeyAof,
}

impl Store {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Store::Sqlite => "SQLite, synchronous FULL",
            Store::Valkey => "Valkey, AOF off",
            Store::ValkeyAof => "Valkey, AOF everysec",
        }
    }
}

/// A figure of a report.
#[derive(Clone, Copy)]
pub(crate) struct Figure {
    /// Its name in the JSON.
    pub(crate) key: &'static str,
    /// What it is.
    pub(crate) is: &'static str,
    /// What it should be.
    pub(crate) goal: Goal,
}

/// What a figure should be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    None,
    AtLeast(f64),
    AtMost(f64),
}

use Goal::{AtLeast, AtMost};
use Store::{Sqlite, Valkey, ValkeyAof};

const fn reported(key: &'static str, is: &'static str) -> Figure {
    Figure { key, is, goal: Goal::None }
}

const fn goal(key: &'static str, is: &'static str, goal: Goal) -> Figure {
    Figure { key, is, goal }
}

const fn speed(least: f64) -> Figure {
    goal("per_second", "executions/s", AtLeast(least))
}

const fn fraction(least: f64) -> Figure {
    goal("fraction_of_limit", "of the bare store", AtLeast(least))
}

const fn calls(most: f64) -> Figure {
    goal("store_calls_per_execution", "calls per execution", AtMost(most))
}

const fn cpu(most: f64) -> Figure {
    goal("store_cpu_us_per_execution", "us of store CPU per execution", AtMost(most))
}

const CPU_TO_LIMIT: Figure = goal("cpu_to_limit", "of the bare store's CPU", AtMost(1.3));
const LIST: Figure = reported("baseline_per_second", "executions/s of a plain list queue");
const CLAIM_P50: Figure = goal("claim_p50_ms", "ms claim under load, p50", AtMost(1.0));
const CLAIM_P99: Figure = goal("claim_p99_ms", "ms claim under load, p99", AtMost(3.0));
const REWRITES: Figure = reported("store_rewrites", "rewrites of the file during the run");

const LATENCY: &[Figure] = &[
    goal("p50_ms", "ms submit to waiting worker, p50", AtMost(2.0)),
    goal("p99_ms", "ms submit to waiting worker, p99", AtMost(10.0)),
];
const WAIT: &[Figure] = &[
    goal("p50_ms", "ms from the end of an execution to its waiter, p50", AtMost(2.0)),
    reported("p99_ms", "ms from the end of an execution to its waiter, p99"),
];
const WAIT_CALLS: &[Figure] =
    &[WAIT[0], WAIT[1], reported("store_calls_per_wait", "calls for one wait and its result")];
const HTTP: &[Figure] = &[
    reported("per_second", "executions/s"),
    goal("fraction_of_baseline", "of the same in process", AtLeast(0.4)),
];
const BACKLOG: &[Figure] = &[
    reported("p50_ms", "ms claim behind a long queue, p50"),
    goal("p50_ratio", "times the p50 behind 1,000 others", AtMost(1.5)),
    goal("p99_ratio", "times the p99 behind 1,000 others", AtMost(1.5)),
];
const MANY: &[Figure] = &[
    goal("longest_call_ms", "ms of the longest call, many lanes and budgets", AtMost(5.0)),
    goal("submit_p99_ratio", "times the p99 of a submit with one lane", AtMost(1.5)),
    goal("p99_ratio", "times the p99 of a claim with one lane", AtMost(1.5)),
];
const CLASSES: &[Figure] = &[
    reported("per_second", "executions/s of 10 classes, 100 workers"),
    goal("fraction_of_baseline", "of the same without classes", AtLeast(0.7)),
];
const SCARCE: &[Figure] = &[
    reported("p99_ms", "ms of common work while rare work waits, p99"),
    goal("p99_ratio", "times the same without it", AtMost(1.5)),
];
const ADMISSION: &[Figure] = &[
    reported("per_second", "executions/s with a budget and a quota"),
    goal("fraction_of_baseline", "of the same without", AtLeast(0.4)),
];
const RAISE: &[Figure] = &[goal(
    "span_ms",
    "ms until all that wait for a raised budget can be claimed",
    AtMost(2_000.0),
)];
const OVERLOAD: &[Figure] = &[goal(
    "goodput_fraction",
    "of a rate quota used, under three times as much work with deadlines",
    AtLeast(0.8),
)];
const URGENT: &[Figure] =
    &[goal("claims_until_urgent", "claims until the urgent one, at worst", AtMost(2.0))];

const CHAIN: &[Figure] = &[
    goal("per_second", "flows/s of ten nodes each", AtLeast(400.0)),
    goal("p99_ms", "ms from the end of a node to the start of the next, p99", AtMost(10.0)),
    reported("p50_ms", "ms from the end of a node to the start of the next, p50"),
    reported("fraction_of_baseline", "of the same work without flows"),
];
const CHAIN_CALLS: &[Figure] = &[
    CHAIN[0],
    CHAIN[1],
    CHAIN[2],
    CHAIN[3],
    goal("store_calls_per_flow", "calls per flow", AtMost(30.0)),
];
const FANOUT: &[Figure] = &[
    reported("span_ms", "ms of a flow of 1, then 1,000, then 1"),
    reported("per_second", "nodes/s"),
    reported("joined_ms", "ms from the last of 1,000 to the one after them"),
];

const fn idle(most: f64) -> Figure {
    goal("store_commands_per_second", "calls per second while idle", AtMost(most))
}

const fn case(
    store: Store,
    words: &'static str,
    quick: &'static str,
    figures: &'static [Figure],
) -> Case {
    Case { store, words, quick, figures }
}

/// Every benchmark, in the order of the page.
pub(crate) const CASES: &[Case] = &[
    case(
        Sqlite,
        "cycle --workers 64",
        "cycle --workers 64 --executions 2000",
        &[
            speed(10_000.0),
            fraction(0.4),
            reported("syncs_per_execution", "syncs per execution"),
            reported("claim_p50_ms", "ms claim under load, p50"),
            reported("claim_p99_ms", "ms claim under load, p99"),
        ],
    ),
    case(
        Sqlite,
        "cycle --workers 64 --payload 4096",
        "cycle --workers 64 --payload 4096 --executions 2000",
        &[speed(5_000.0), fraction(0.4)],
    ),
    case(
        Sqlite,
        "cycle --workers 64 --batch 16",
        "cycle --workers 64 --batch 16 --executions 2000",
        &[reported("per_second", "executions/s"), fraction(0.4)],
    ),
    case(Sqlite, "latency", "latency --executions 200", LATENCY),
    case(Sqlite, "wait", "wait --executions 128", WAIT),
    case(Sqlite, "http", "http --executions 2000", HTTP),
    case(Sqlite, "backlog", "backlog --queued 20000 --executions 200", BACKLOG),
    case(Sqlite, "urgent", "urgent --queued 1000", URGENT),
    case(Sqlite, "classes", "classes --executions 2000", CLASSES),
    case(Sqlite, "scarce", "scarce --executions 2000", SCARCE),
    case(Sqlite, "admission", "admission --executions 2000", ADMISSION),
    case(Sqlite, "raise --executions 50000", "raise --executions 5000", RAISE),
    case(Sqlite, "overload", "overload --span 5s", OVERLOAD),
    case(Sqlite, "chain", "chain --executions 200", CHAIN),
    case(Sqlite, "fanout", "fanout --executions 200", FANOUT),
    case(Valkey, "chain", "chain --executions 200", CHAIN_CALLS),
    case(Valkey, "fanout", "fanout --executions 200", FANOUT),
    case(
        Valkey,
        "cycle --workers 16",
        "cycle --workers 16 --executions 2000",
        &[
            speed(10_000.0),
            fraction(0.5),
            cpu(60.0),
            CPU_TO_LIMIT,
            calls(3.1),
            CLAIM_P50,
            CLAIM_P99,
            LIST,
        ],
    ),
    case(
        Valkey,
        "cycle --workers 16 --batch 16",
        "cycle --workers 16 --batch 16 --executions 2000",
        &[speed(18_000.0), fraction(0.5), cpu(40.0), CPU_TO_LIMIT, calls(0.5), LIST],
    ),
    case(
        Valkey,
        "cycle --workers 16 --payload 4096",
        "cycle --workers 16 --payload 4096 --executions 2000",
        &[speed(8_000.0), fraction(0.5), cpu(85.0), CPU_TO_LIMIT, calls(3.1), LIST],
    ),
    case(
        Valkey,
        "cycle --workers 16 --payload 4096 --batch 16",
        "cycle --workers 16 --payload 4096 --batch 16 --executions 2000",
        &[speed(14_000.0), fraction(0.5), cpu(50.0), CPU_TO_LIMIT, calls(0.5), LIST],
    ),
    case(
        Valkey,
        "cycle --workers 16 --retention 1s",
        "cycle --workers 16 --retention 1s --executions 2000",
        &[
            reported("per_second", "executions/s"),
            cpu(60.0),
            CPU_TO_LIMIT,
            reported("store_calls_per_execution", "calls per execution, removal included"),
        ],
    ),
    case(
        Valkey,
        "cycle --workers 16 --batch 16 --retention 1s",
        "cycle --workers 16 --batch 16 --retention 1s --executions 2000",
        &[
            reported("per_second", "executions/s"),
            cpu(40.0),
            CPU_TO_LIMIT,
            reported("store_calls_per_execution", "calls per execution, removal included"),
        ],
    ),
    case(Valkey, "latency", "latency --executions 200", LATENCY),
    case(Valkey, "wait", "wait --executions 128", WAIT_CALLS),
    case(Valkey, "http", "http --executions 2000", HTTP),
    case(Valkey, "idle --workers 0", "idle --workers 0 --span 3s", &[idle(10.0)]),
    case(Valkey, "idle --workers 16", "idle --workers 16 --span 3s", &[idle(20.0)]),
    case(Valkey, "idle --processes 8", "idle --processes 8 --span 3s", &[idle(60.0)]),
    case(
        Valkey,
        "idle --workers 16 --namespaces 1000 --classes 10",
        "idle --workers 16 --namespaces 100 --classes 10 --span 3s",
        &[idle(20.0)],
    ),
    case(
        Valkey,
        "memory",
        "memory --executions 5000",
        &[
            goal("bytes_waiting", "bytes per waiting execution", AtMost(800.0)),
            goal("bytes_finished", "bytes per finished execution", AtMost(1_150.0)),
        ],
    ),
    case(Valkey, "backlog", "backlog --queued 20000 --executions 200", BACKLOG),
    case(Valkey, "many", "many --lanes 1000 --budgets 100 --queued 20000 --executions 200", MANY),
    case(Valkey, "classes", "classes --executions 2000", CLASSES),
    case(Valkey, "scarce", "scarce --executions 2000", SCARCE),
    case(Valkey, "admission", "admission --executions 2000", ADMISSION),
    case(Valkey, "raise --executions 50000", "raise --executions 5000", RAISE),
    case(Valkey, "overload", "overload --span 5s", OVERLOAD),
    case(Valkey, "urgent", "urgent --queued 1000", URGENT),
    case(
        ValkeyAof,
        "cycle --workers 16 --payload 4096",
        "cycle --workers 16 --payload 4096 --executions 2000",
        &[speed(5_500.0), fraction(0.5), REWRITES],
    ),
    case(
        ValkeyAof,
        "cycle --workers 16 --payload 4096 --batch 16",
        "cycle --workers 16 --payload 4096 --batch 16 --executions 2000",
        &[speed(10_000.0), fraction(0.5), REWRITES],
    ),
];
