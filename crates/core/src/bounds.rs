//! Every bound of the system, in one place.
//!
//! An input past a bound is refused by name; nothing is cut short silently. The reference page
//! `docs/reference/limits.md` is printed from [`ALL`].

use crate::time::Millis;

/// Longest namespace, lane, kind, worker, tag key or failure category, in bytes.
pub const NAME_BYTES: usize = 64;
/// Longest idempotency key, in bytes.
pub const IDEMPOTENCY_KEY_BYTES: usize = 256;
/// Longest name of an element beside a record, in bytes.
pub const ELEMENT_NAME_BYTES: usize = 256;
/// Most bytes of the elements beside a record that one read answers (it answers at least one element).
pub const RANGE_BYTES: usize = 1 << 20;
/// Most entries in the journal of one execution, those hidden by a replay included.
pub const STEPS: u64 = 10_000;
/// How many acts of people an execution keeps, the newest ones.
pub const ACTS: usize = 16;
/// Most bytes of the results of all steps of one execution.
pub const JOURNAL_BYTES: u64 = 64 << 20;
/// Largest frame of a stream, in bytes.
pub const FRAME_BYTES: usize = 64 << 10;
/// Most frames in one call.
pub const FRAMES: usize = 1_000;
/// Most frames that a policy keeps of a stream.
pub const STREAM_FRAMES: u32 = 100_000;
/// Fewest bytes that a policy keeps of a stream: those of one frame.
pub const STREAM_BYTES_MIN: u32 = FRAME_BYTES as u32;
/// Most bytes that a policy keeps of a stream.
pub const STREAM_BYTES: u32 = 64 << 20;
/// Largest summary, or patch of one, in bytes.
pub const SUMMARY_BYTES: usize = 256 << 10;
/// Most arrays and objects within each other in a summary.
pub const SUMMARY_DEPTH: usize = 32;
/// Longest value of a setting of a store, in bytes.
pub const SETTING_BYTES: usize = 4_096;
/// Longest tag value, in bytes.
pub const TAG_VALUE_BYTES: usize = 256;
/// Most tags on one execution.
pub const TAGS: usize = 32;
/// Longest content type, in bytes.
pub const CONTENT_TYPE_BYTES: usize = 128;
/// Largest input or result, in bytes.
pub const PAYLOAD_BYTES: usize = 1 << 20;
/// Longest failure, progress or cancel message, in bytes.
pub const MESSAGE_BYTES: usize = 4_096;
/// Most capability tokens in one set.
pub const CAPABILITY_TOKENS: usize = 256;
/// Longest capability set, joined by commas, in bytes.
pub const CAPABILITY_BYTES: usize = 4_096;
/// Most distinct required sets queued in one lane at submit.
pub const CLASSES_PER_LANE: usize = 1_024;
/// Highest priority; the default is 0.
pub const PRIORITY: i16 = 9_000;
/// Lowest priority.
pub const PRIORITY_MIN: i16 = -PRIORITY;
/// Most attempts ended by failure in one run.
pub const ATTEMPTS: u32 = 1_000;
/// Most leases lost in one run.
pub const RECLAIMS: u32 = 1_000;
/// Most runs of one execution: the first and its replays.
pub const RUNS: u32 = 64;
/// Most failure categories in a retry policy.
pub const CATEGORIES: usize = 32;
/// Most commands in one batch.
pub const BATCH: usize = 1_000;
/// Most bytes of payload in one submitted batch or one claim (a claim takes at least one execution).
pub const BATCH_BYTES: usize = 1 << 20;
/// Most executions taken by one claim.
pub const CLAIM: usize = 256;
/// Most entries on one page of a listing.
pub const PAGE: usize = 1_000;
/// Most records examined for one page of a listing.
pub const PAGE_SCAN: usize = 10_000;
/// Most partitions: what the 12 bits of an id can name.
pub const PARTITIONS: u16 = 4_096;
/// Most waitpoints that one execution has open.
pub const WAITPOINTS: usize = 16;
/// Most levels of the condition of a suspension.
pub const CONDITION_DEPTH: usize = 4;
/// Most nodes of the condition of a suspension.
pub const CONDITION_NODES: usize = 32;
/// Most that all counts of a condition come to.
pub const CONDITION_COUNT: usize = 256;
/// Most signals that one waitpoint takes.
pub const SIGNALS_PER_WAITPOINT: u32 = 1_000;
/// Most signals that one execution takes.
pub const SIGNALS: u64 = 10_000;
/// Most signals of one execution that wait at pending waitpoints for a suspension.
pub const EARLY_SIGNALS: usize = 256;

/// Longest cron expression, in bytes.
pub const CRON_BYTES: usize = 256;
/// Shortest interval of a schedule.
pub const SCHEDULE_EVERY_MIN: Millis = Millis::from_secs(1);
/// Longest interval of a schedule.
pub const SCHEDULE_EVERY_MAX: Millis = Millis::from_days(3_650);
/// Longest jitter of a schedule.
pub const SCHEDULE_JITTER_MAX: Millis = Millis::from_hours(24);
/// Largest input of the runs of a schedule, in bytes.
pub const SCHEDULE_INPUT_BYTES: usize = 64 << 10;
/// Most missed moments of a schedule that are made up for.
pub const SCHEDULE_CATCH_UP: u32 = 1_000;
/// How late the run of a moment may be before the moment counts as missed.
pub const SCHEDULE_MISSED: Millis = Millis::from_secs(30);
/// Most moments of a schedule whose runs wait for an earlier one.
pub const SCHEDULE_WAITING: usize = 100;
/// How often it is checked whether the run has ended that others wait for.
pub const SCHEDULE_CHECK: Millis = Millis::from_secs(1);
/// How many of the latest moments of a schedule are shown, and of the next ones.
pub const SCHEDULE_RUNS: usize = 10;
/// Most moments of a schedule that one command decides.
pub const SCHEDULE_SLICE: usize = 16;
/// Shortest time from one run of a backfill to the next.
pub const SCHEDULE_BACKFILL_PACE_MIN: Millis = Millis::new(10);
/// Longest time from one run of a backfill to the next.
pub const SCHEDULE_BACKFILL_PACE_MAX: Millis = Millis::from_hours(24);

/// Most nodes of one flow.
pub const FLOW_NODES: usize = 10_000;
/// Most edges of one flow.
pub const FLOW_EDGES: usize = 100_000;
/// Most members of a flow that one command creates, changes or removes.
pub const FLOW_SLICE: usize = 100;
/// Most dependants of a member that its completion releases itself.
pub const FLOW_INLINE: usize = 16;
/// How long a flow may be unsealed.
pub const FLOW_OPEN: Millis = Millis::from_hours(1);

/// Longest delay, backoff or absolute distance of a timer.
pub const DELAY: Millis = Millis::from_days(3_650);
/// Shortest lease.
pub const LEASE_TTL_MIN: Millis = Millis::new(100);
/// Longest lease.
pub const LEASE_TTL_MAX: Millis = Millis::from_hours(24);
/// Shortest attempt timeout, deadline, grant or cancel grace.
pub const SPAN_MIN: Millis = Millis::new(1);
/// Longest grant.
pub const GRANT_TTL_MAX: Millis = Millis::from_secs(300);
/// Longest cancel grace.
pub const GRACE_MAX: Millis = Millis::from_hours(24);
/// Shortest retention of a finished execution.
pub const RETENTION_MIN: Millis = Millis::new(1);
/// Longest retention of a finished execution.
pub const RETENTION_MAX: Millis = Millis::from_days(3_650);
/// How long at least an idempotency key outlives the end of its execution.
pub const DEDUP_WINDOW: Millis = Millis::from_hours(24);
/// Most budgets that one execution spends from.
pub const BUDGETS: usize = 8;
/// Most quotas that one execution counts against.
pub const QUOTAS: usize = 8;
/// Most dimensions of one budget or report.
pub const DIMENSIONS: usize = 16;
/// Largest amount of one dimension.
pub const AMOUNT: u64 = 1 << 53;
/// Most requests in a window, and most executions at once, of one quota.
pub const QUOTA: u32 = 1_000_000;
/// Most dimensions of all that one execution has used: as many as all its budgets can count.
pub const USED_DIMENSIONS: usize = BUDGETS * DIMENSIONS;
/// Usage reports of one execution whose keys are remembered.
pub const USAGE_REPORTS: usize = 32;
/// Shortest window of a quota.
pub const WINDOW_MIN: Millis = Millis::new(1);
/// Shortest period of a budget: each end of one is a write, whether the budget is used or not.
pub const PERIOD_MIN: Millis = Millis::from_secs(1);
/// Longest window of a quota or period of a budget.
pub const WINDOW_MAX: Millis = Millis::from_days(3_650);
/// Longest jitter of a quota.
pub const JITTER_MAX: Millis = Millis::from_secs(60);
/// Most secrets of one token that are kept, those that are not accepted any more included.
pub const TOKEN_SECRETS: usize = 4;
/// Most namespaces of one token, unless it reaches every one.
pub const TOKEN_NAMESPACES: usize = 64;
/// Shortest time after which a token expires.
pub const TOKEN_TTL_MIN: Millis = Millis::from_secs(1);
/// Longest time after which a token expires.
pub const TOKEN_TTL_MAX: Millis = Millis::from_days(3_650);
/// How far apart the uses of a token are that are recorded.
pub const TOKEN_USE_STEP: Millis = Millis::from_secs(60);
/// How long a server accepts a token by what it read of it: after so long a revocation holds everywhere.
pub const TOKEN_TRUST: Millis = Millis::from_secs(5);
/// Most lanes that one worker serves.
pub const WORKER_LANES: usize = 64;
/// Shortest time after which a silent worker counts as gone.
pub const WORKER_TTL_MIN: Millis = Millis::from_secs(1);
/// Longest time after which a silent worker counts as gone.
pub const WORKER_TTL_MAX: Millis = Millis::from_hours(24);
/// Longest wait of a waiting claim.
pub const CLAIM_WAIT_MAX: Millis = Millis::from_secs(60);
/// Longest wait for the end of an execution in one call: shorter than proxies allow a request to take.
pub const END_WAIT_MAX: Millis = Millis::from_secs(30);

/// How long an event is kept by default.
pub const EVENT_RETENTION: Millis = Millis::from_hours(24);
/// Shortest time for which an event is kept.
pub const EVENT_RETENTION_MIN: Millis = Millis::from_secs(1);
/// Longest time for which an event is kept.
pub const EVENT_RETENTION_MAX: Millis = Millis::from_days(90);
/// How many events of a namespace are kept by default, at most.
pub const EVENTS_KEPT: u64 = 1_000_000;
/// Most events of a namespace that are kept, whatever an operator sets.
pub const EVENTS_KEPT_MAX: u64 = 100_000_000;
/// Most partitions of a store that has feeds: a cursor names a place in each.
pub const FEED_PARTITIONS: u16 = 512;
/// How far apart the reads of a feed are that a store is told of, at most.
pub const FEED_READ_STEP: Millis = Millis::from_secs(60);
/// How far apart the moments are at which old events are removed, at most.
pub const FEED_TRIM_STEP: Millis = Millis::from_secs(10);
/// Most events that one call answers.
pub const EVENTS_PAGE: usize = 1_000;
/// Longest cursor of events, in bytes of text.
pub const EVENT_CURSOR_BYTES: usize = 8_192;
/// Longest wait for events in one call.
pub const EVENTS_WAIT_MAX: Millis = Millis::from_secs(30);

/// Most webhooks of a namespace.
pub const WEBHOOKS: usize = 32;
/// Longest URL of a webhook, in bytes.
pub const WEBHOOK_URL_BYTES: usize = 2_048;
/// Most names of events in the filter of a webhook.
pub const WEBHOOK_EVENTS: usize = 64;
/// Shortest secret of a webhook, in bytes.
pub const WEBHOOK_SECRET_BYTES_MIN: usize = 24;
/// Longest secret of a webhook, in bytes.
pub const WEBHOOK_SECRET_BYTES_MAX: usize = 64;
/// Most secrets of a webhook that sign at once.
pub const WEBHOOK_SECRETS: usize = 4;
/// How long a secret of a webhook that is replaced signs too by default.
pub const WEBHOOK_GRACE: Millis = Millis::from_hours(24);
/// Longest time for which a secret of a webhook that is replaced signs too.
pub const WEBHOOK_GRACE_MAX: Millis = Millis::from_days(7);
/// How long a process delivers for a webhook without a sign of life.
pub const WEBHOOK_TURN: Millis = Millis::from_secs(15);
/// Most events of a webhook that are under way before its cursor moves.
pub const WEBHOOK_PAGE: usize = 64;
/// How many events that were given up a webhook keeps.
pub const WEBHOOK_LETTERS: usize = 50;
/// Longest reason of a failed delivery that is kept, in bytes.
pub const LETTER_REASON_BYTES: usize = 256;

/// Longest name of a signing key, in bytes.
pub const KID_BYTES: usize = 16;
/// Longest subject that a token is made for, in bytes.
pub const SUBJECT_BYTES: usize = 128;
/// Most signing keys of a store that verify at once.
pub const VERIFYING_KEYS: usize = 16;
/// Most signing keys that a store remembers, and that a file of keys has.
pub const KEYS_KEPT: usize = 64;
/// Longest time for which a signing key that was replaced verifies.
pub const KEY_GRACE_MAX: Millis = Millis::from_days(3_650);

/// One documented bound.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// What is bounded.
    pub what: &'static str,
    /// The bound.
    pub most: u64,
    /// What the number counts.
    pub unit: &'static str,
}

/// Every bound, for the reference page.
pub const ALL: &[Limit] = &[
    limit(
        "name (namespace, lane, kind, worker, tag key, failure category)",
        NAME_BYTES as u64,
        "bytes",
    ),
    limit("idempotency key", IDEMPOTENCY_KEY_BYTES as u64, "bytes"),
    limit("name of a step", ELEMENT_NAME_BYTES as u64, "bytes"),
    limit("entries in the journal of one execution", STEPS, "entries"),
    limit("acts that an execution remembers, the newest", ACTS as u64, "acts"),
    limit("results of all steps of one execution", JOURNAL_BYTES, "bytes"),
    limit("frame of a stream", FRAME_BYTES as u64, "bytes"),
    limit("frames in one call", FRAMES as u64, "frames"),
    limit("frames kept of a stream", STREAM_FRAMES as u64, "frames"),
    limit("bytes kept of a stream", STREAM_BYTES as u64, "bytes"),
    limit("bytes kept of a stream, fewest", STREAM_BYTES_MIN as u64, "bytes"),
    limit("summary of an execution, or patch of one", SUMMARY_BYTES as u64, "bytes"),
    limit("levels of a summary", SUMMARY_DEPTH as u64, "levels"),
    limit("tag value", TAG_VALUE_BYTES as u64, "bytes"),
    limit("tags on one execution", TAGS as u64, "tags"),
    limit("content type", CONTENT_TYPE_BYTES as u64, "bytes"),
    limit("input, or result of an execution or a step", PAYLOAD_BYTES as u64, "bytes"),
    limit("failure, progress or cancel message", MESSAGE_BYTES as u64, "bytes"),
    limit("capability set, tokens", CAPABILITY_TOKENS as u64, "tokens"),
    limit("capability set, joined by commas", CAPABILITY_BYTES as u64, "bytes"),
    limit("distinct required sets queued in one lane", CLASSES_PER_LANE as u64, "sets"),
    limit("priority, up and down from 0", PRIORITY as u64, ""),
    limit("attempts ended by failure in one run", ATTEMPTS as u64, "attempts"),
    limit("leases lost in one run", RECLAIMS as u64, "leases"),
    limit("runs of one execution", RUNS as u64, "runs"),
    limit("failure categories in a retry policy", CATEGORIES as u64, "categories"),
    limit("commands in one batch", BATCH as u64, "commands"),
    limit("payload of one submitted batch or one claim", BATCH_BYTES as u64, "bytes"),
    limit("executions taken by one claim", CLAIM as u64, "executions"),
    limit("entries on one page of a listing", PAGE as u64, "entries"),
    limit("records examined for one page of a listing", PAGE_SCAN as u64, "records"),
    limit("partitions", PARTITIONS as u64, "partitions"),
    limit("open waitpoints of one execution", WAITPOINTS as u64, "waitpoints"),
    limit("levels of a condition", CONDITION_DEPTH as u64, "levels"),
    limit("nodes of a condition", CONDITION_NODES as u64, "nodes"),
    limit("sum of the counts of a condition", CONDITION_COUNT as u64, ""),
    limit("signals to one waitpoint", SIGNALS_PER_WAITPOINT as u64, "signals"),
    limit("signals to one execution", SIGNALS, "signals"),
    limit("signals of one execution that came early", EARLY_SIGNALS as u64, "signals"),
    limit("nodes of one flow", FLOW_NODES as u64, "nodes"),
    limit("edges of one flow", FLOW_EDGES as u64, "edges"),
    limit("delay, backoff or timeout of a suspension", DELAY.get(), "ms"),
    limit("lease, shortest", LEASE_TTL_MIN.get(), "ms"),
    limit("lease, longest", LEASE_TTL_MAX.get(), "ms"),
    limit("grant", GRANT_TTL_MAX.get(), "ms"),
    limit("cancel grace", GRACE_MAX.get(), "ms"),
    limit("retention", RETENTION_MAX.get(), "ms"),
    limit("retention with an idempotency key, at least", DEDUP_WINDOW.get(), "ms"),
    limit("budgets that one execution spends from", BUDGETS as u64, "budgets"),
    limit("quotas that one execution counts against", QUOTAS as u64, "quotas"),
    limit("dimensions of one budget or usage report", DIMENSIONS as u64, "dimensions"),
    limit("dimensions that one execution has used", USED_DIMENSIONS as u64, "dimensions"),
    limit("amount of one dimension", AMOUNT, "units"),
    limit("requests in a window, or executions at once, of one quota", QUOTA as u64, ""),
    limit("usage reports of one execution that are known again", USAGE_REPORTS as u64, "reports"),
    limit("period of a budget, shortest", PERIOD_MIN.get(), "ms"),
    limit("window of a quota or period of a budget", WINDOW_MAX.get(), "ms"),
    limit("jitter of a quota", JITTER_MAX.get(), "ms"),
    limit("lanes that one worker serves", WORKER_LANES as u64, "lanes"),
    limit("silence of a registered worker, shortest", WORKER_TTL_MIN.get(), "ms"),
    limit("silence of a registered worker, longest", WORKER_TTL_MAX.get(), "ms"),
    limit("secrets of one token", TOKEN_SECRETS as u64, "secrets"),
    limit("namespaces of one token, unless every one", TOKEN_NAMESPACES as u64, "namespaces"),
    limit("time after which a token expires, shortest", TOKEN_TTL_MIN.get(), "ms"),
    limit("time after which a token expires, longest", TOKEN_TTL_MAX.get(), "ms"),
    limit("time until the revocation of a token holds", TOKEN_TRUST.get(), "ms"),
    limit("wait of a waiting claim", CLAIM_WAIT_MAX.get(), "ms"),
    limit("wait for the end of an execution in one call", END_WAIT_MAX.get(), "ms"),
    limit("time for which an event is kept, shortest", EVENT_RETENTION_MIN.get(), "ms"),
    limit("time for which an event is kept, longest", EVENT_RETENTION_MAX.get(), "ms"),
    limit("events of a namespace that are kept", EVENTS_KEPT_MAX, "events"),
    limit("partitions of a store that has feeds", FEED_PARTITIONS as u64, "partitions"),
    limit("events that one call answers", EVENTS_PAGE as u64, "events"),
    limit("cursor of events", EVENT_CURSOR_BYTES as u64, "bytes"),
    limit("wait for events in one call", EVENTS_WAIT_MAX.get(), "ms"),
    limit("webhooks of a namespace", WEBHOOKS as u64, "webhooks"),
    limit("URL of a webhook", WEBHOOK_URL_BYTES as u64, "bytes"),
    limit("names of events of a webhook", WEBHOOK_EVENTS as u64, "names"),
    limit("secret of a webhook, shortest", WEBHOOK_SECRET_BYTES_MIN as u64, "bytes"),
    limit("secret of a webhook, longest", WEBHOOK_SECRET_BYTES_MAX as u64, "bytes"),
    limit("secrets of a webhook that sign at once", WEBHOOK_SECRETS as u64, "secrets"),
    limit("time for which a replaced secret of a webhook signs", WEBHOOK_GRACE_MAX.get(), "ms"),
    limit("time in which a dead process still delivers for a webhook", WEBHOOK_TURN.get(), "ms"),
    limit("events of a webhook under way", WEBHOOK_PAGE as u64, "events"),
    limit("events that were given up, of a webhook", WEBHOOK_LETTERS as u64, "events"),
    limit("reason of a failed delivery", LETTER_REASON_BYTES as u64, "bytes"),
    limit("cron expression", CRON_BYTES as u64, "bytes"),
    limit("interval of a schedule, shortest", SCHEDULE_EVERY_MIN.get(), "ms"),
    limit("interval of a schedule, longest", SCHEDULE_EVERY_MAX.get(), "ms"),
    limit("jitter of a schedule", SCHEDULE_JITTER_MAX.get(), "ms"),
    limit("input of the runs of a schedule", SCHEDULE_INPUT_BYTES as u64, "bytes"),
    limit("missed moments of a schedule that are made up for", SCHEDULE_CATCH_UP as u64, "moments"),
    limit("lateness after which a moment counts as missed", SCHEDULE_MISSED.get(), "ms"),
    limit("runs of a schedule that wait for an earlier one", SCHEDULE_WAITING as u64, "runs"),
    limit("latest moments of a schedule that are kept", SCHEDULE_RUNS as u64, "moments"),
    limit("moments of a schedule that one command decides", SCHEDULE_SLICE as u64, "moments"),
    limit("time between two runs of a backfill, shortest", SCHEDULE_BACKFILL_PACE_MIN.get(), "ms"),
    limit("time between two runs of a backfill, longest", SCHEDULE_BACKFILL_PACE_MAX.get(), "ms"),
    limit("name of a signing key", KID_BYTES as u64, "bytes"),
    limit("subject that a token is made for", SUBJECT_BYTES as u64, "bytes"),
    limit("signing keys that verify at once", VERIFYING_KEYS as u64, "keys"),
    limit("signing keys that a store remembers", KEYS_KEPT as u64, "keys"),
    limit("grace of a signing key that was replaced", KEY_GRACE_MAX.get(), "ms"),
];

const fn limit(what: &'static str, most: u64, unit: &'static str) -> Limit {
    Limit { what, most, unit }
}
