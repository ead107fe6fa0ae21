//! Every key of the store and what is in it, for the reference page.
//!
//! A test compares the keys that a store has written with this list.

/// One family of keys.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// How its keys are named. A word in angle brackets is a placeholder.
    pub pattern: &'static str,
    /// The type of its value.
    pub kind: &'static str,
    /// What is in it.
    pub holds: &'static str,
    /// Whether it is written today; otherwise the name is reserved.
    pub written: bool,
}

/// Every family of keys, under the default prefix `ff`.
pub const LAYOUT: &[Family] = &[
    now(
        "ff:config:<name>",
        "string",
        "A setting of the store, fixed when it is first needed: how many `partitions` it has.",
    ),
    now("ff:engines", "sorted set", "Engine processes by the time of their last heartbeat."),
    now(
        "ff:exec:{p:<N>}:<id>",
        "string",
        "The record of an execution, with its input and its result while they are at most 256 bytes.",
    ),
    now("ff:exec:{p:<N>}:<id>:in", "string", "A longer input."),
    now("ff:exec:{p:<N>}:<id>:out:<run>", "string", "A longer result, or that of an earlier run."),
    now(
        "ff:exec:{p:<N>}:<id>:c<collection>",
        "hash",
        "Elements by number, such as attempts before the newest one (collection 0); the newest by name.",
    ),
    now("ff:exec:{p:<N>}:<id>:c6", "stream", "Frames, each as the entry after its number."),
    now("ff:exec:{p:<N>}:<id>:tally", "hash", "Counters that are not zero, by number."),
    now("ff:idx:{p:<N>}:namespaces", "set", "The namespaces that have executions here."),
    now(
        "ff:idx:{p:<N>}:list:<namespace>",
        "sorted set",
        "Executions by the time they were created.",
    ),
    now(
        "ff:idx:{p:<N>}:attention:<namespace>:<reason>",
        "sorted set",
        "Executions that need attention for one reason, such as `failed`, by the time they were created.",
    ),
    now("ff:idx:{p:<N>}:keys:<namespace>", "hash", "Executions by idempotency key."),
    now("ff:idx:{p:<N>}:timer", "sorted set", "Executions by their next timer."),
    now(
        "ff:idx:{p:<N>}:requests",
        "sorted set",
        "Request (16 bytes) and execution of every claim and grant that holds something.",
    ),
    now(
        "ff:idx:{p:<N>}:queues",
        "set",
        "Queues that hold something, as namespace:lane or namespace:lane:class.",
    ),
    now(
        "ff:idx:{p:<N>}:lane:<namespace>:<lane>:eligible",
        "sorted set",
        "Claimable executions without requirements by score: strict priority, then first come.",
    ),
    now(
        "ff:idx:{p:<N>}:lane:<namespace>:<lane>:eligible:<class>",
        "sorted set",
        "The same for one set of required capabilities.",
    ),
    now(
        "ff:idx:{p:<N>}:lane:<namespace>:<lane>:classes",
        "hash",
        "The required capabilities of each class that holds something.",
    ),
    now(
        "ff:idx:{p:<N>}:resources",
        "sorted set",
        "The workers and lanes whose state is here, as kind:namespace:name.",
    ),
    now(
        "ff:idx:{p:<N>}:resource_timers",
        "sorted set",
        "Those of them that have a timer, by time.",
    ),
    now(
        "ff:worker:{p:<N>}:<namespace>:<instance>",
        "string",
        "A registered worker, at its namespace's home.",
    ),
    now(
        "ff:lane:{p:<N>}:<namespace>:<lane>",
        "string",
        "The settings of a lane, in every partition.",
    ),
    now(
        "ff:idx:{p:<N>}:blockers",
        "sorted set",
        "Limits that executions are blocked on, as namespace:kind:name:class.",
    ),
    now(
        "ff:idx:{p:<N>}:blocked:<namespace>:<kind>:<name>:<class>",
        "sorted set",
        "Executions of one class blocked on a budget or quota, by score.",
    ),
    now(
        "ff:idx:{p:<N>}:continuations",
        "sorted set",
        "Follow-up work (33 bytes each), by when the engine runs it at the latest.",
    ),
    now(
        "ff:events:{p:<N>}:<namespace>",
        "stream",
        "What happened, for subscribers, while the feed of the namespace is on.",
    ),
    now(
        "ff:feed:{p:<N>}:<namespace>:events",
        "string",
        "Whether events of a namespace are logged, in every partition.",
    ),
    now("ff:budget:{p:<N>}:<namespace>:<budget>", "string", "A budget: limits and usage."),
    now("ff:quota:{p:<N>}:<namespace>:<quota>", "string", "A quota: limits and recorded starts."),
    now(
        "ff:credential:{p:<N>}:@system:<token>",
        "string",
        "A named token: role, namespaces, and its secrets as SHA-256.",
    ),
    now(
        "ff:ticket:{p:<N>}:<namespace>:<execution>",
        "string",
        "What an execution holds in quotas and budgets.",
    ),
];

const fn now(pattern: &'static str, kind: &'static str, holds: &'static str) -> Family {
    Family { pattern, kind, holds, written: true }
}
