// The calls of the API and what they take and answer, by `/openapi.json` of the server.
// Printed by `ff docs typescript`; refresh with `cargo xtask codegen`.

/** Something that somebody did to an execution. */
export interface ActView {
  /** When. */
  at: Timestamp;
  /** Who: the name of a token, `root`, `local` or `engine`. */
  by: string;
  /** What. */
  what: Deed;
}

/** An amount in whole units. */
export type Amount = number;

/** One claimed execution. */
export interface AssignmentView {
  /** The budgets that its usage is charged to. */
  budgets?: Name[];
  /** The store's time of the claim. */
  claimed: Timestamp;
  /** The media type of the input. */
  content_type: MediaType;
  /** When it was submitted. */
  created: Timestamp;
  /** The execution. */
  execution: Id;
  /** How many attempts of this run have ended by failure or timeout. */
  failures?: number;
  /** What the holder sends with every call. */
  fence: FenceBody;
  flow?: Id | null;
  /** How many replays have hidden entries of its journal. */
  generation?: number;
  /** What it was submitted with, when that is JSON: `input_base64` is null then. */
  input: unknown;
  input_base64?: Base64 | null;
  /** The kind of work. */
  kind: string;
  /** Its queue. */
  lane: string;
  /** Whether a failure of this attempt ends the run. */
  last_attempt?: boolean;
  /** How long each renewal lasts. */
  lease_ttl_ms: number;
  /** How many may; the last one ends the run. */
  max_attempts?: number;
  /** Its tenant. */
  namespace: string;
  /** Its name among the nodes of its flow. */
  node?: string | null;
  /** Higher goes first. */
  priority?: number;
  progress?: ProgressView | null;
  /** The run. */
  run: number;
  /** How many entries of its journal attempts find: with none there is nothing to read. */
  steps?: number;
  /** Its labels. */
  tags: Record<string, string>;
  timeout?: Timestamp | null;
  /** When the lease ends unless renewed. */
  until: Timestamp;
  /** What it has used over its whole life, by dimension. */
  used?: Record<string, number>;
}

/** The state of the newest attempt of an execution. */
export type AttemptState = "none" | "pending_first_attempt" | "running_attempt" | "attempt_interrupted" | "pending_retry_attempt" | "pending_replay_attempt" | "attempt_terminal";

/** `open` while an attempt runs or is paused, else how it ended. */
export type AttemptStatus = "open" | "completed" | "failed" | "timed_out" | "lease_lost" | "cancelled" | "expired";

/** One try. */
export interface AttemptView {
  /** 0 for the first; the count continues over runs. */
  attempt: number;
  ended?: Timestamp | null;
  failure?: FailureView | null;
  /** The newest lease that ran it. */
  lease: string;
  progress?: ProgressView | null;
  /** The run it belongs to. */
  run: number;
  /** When it was first claimed. */
  started: Timestamp;
  /** `open` while it runs or is paused, else how it ended. */
  status: AttemptStatus;
  /** The newest worker that ran it. */
  worker: string;
  /** The process of that worker. */
  worker_instance: string;
}

/** One page of the attempts of an execution, oldest first. */
export interface AttemptsView {
  /** The attempts. */
  attempts: AttemptView[];
  /** The cursor to continue with; null when there is nothing more. */
  next?: string | null;
}

/** How the wait between attempts grows. */
export interface BackoffRequest {
  /** The wait after the first failure. */
  base_ms?: number | null;
  /** The longest wait. */
  cap_ms?: number | null;
  growth?: Growth | null;
  /** Which part of the wait is random, in percent. */
  jitter_percent?: number | null;
}

/** How the wait grows from one failed attempt to the next. */
export interface BackoffView {
  /** The wait after the first failure. */
  base_ms: number;
  /** The longest wait. */
  cap_ms: number;
  /** How it grows. */
  growth: Growth;
  /** Which part of the wait is random. */
  jitter_percent: number;
}

/** Any bytes, in base64 with padding. */
export type Base64 = string;

/** The answers to a batch, in its order. */
export interface BatchAnswer {
  /** One answer per submit: `submitted`, or `error`. */
  answers: SubmitAnswer[];
}

/** Several results at once; each gets a separate answer. */
export interface BatchComplete {
  /** The results, each with its execution: 1 to 1000. */
  completions: CompleteRequest[];
}

/** What became of a lease. */
export type BeatStatus = "renewed" | "cancelling" | "cancelled" | "lost" | "unknown";

/** The answer to one lease of a heartbeat. */
export interface BeatView {
  cancel_by?: Timestamp | null;
  /** Why it was not renewed, as a code. */
  code?: string | null;
  /** The execution. */
  execution: Id;
  /**
   * What became of the lease: `renewed`; `cancelling`, so that the holder is to stop by
   * `cancel_by`; `cancelled` or `lost`, so that it is to stop; or `unknown`, so that it is to try
   * again.
   */
  status: BeatStatus;
  until?: Timestamp | null;
}

/** The answer to a heartbeat: of leases, or of a registration. */
export type BeatenView = HeartbeatView | RegisteredView;

/** What an execution is blocked on. */
export type BlockedOn = "budget" | "quota" | "lane";

/** The budget, quota or lane that has no room for an execution. */
export interface BlockedView {
  /** What it lacked when it was evaluated, for people. */
  detail: string;
  /** Which one. */
  name: string;
  /** The kind of limit. */
  on: BlockedOn;
}

/** What an execution waits for. */
export type BlockingReason = "none" | "waiting_for_worker" | "waiting_for_retry_backoff" | "waiting_for_resume_delay" | "waiting_for_delay" | "waiting_for_budget" | "waiting_for_quota" | "waiting_for_signal" | "waiting_for_approval" | "waiting_for_callback" | "waiting_for_tool_result" | "waiting_for_children" | "waiting_for_capable_worker" | "paused_by_operator";

/** One page of budgets, in the order of their names. */
export interface BudgetPageView {
  /** The budgets. */
  budgets: BudgetView[];
  /** The cursor to continue with; null when there is nothing more. */
  next?: string | null;
}

/** The limits of a budget. */
export interface BudgetRequest {
  /** The limits of each dimension: 1 to 16 of them. */
  dimensions: Record<string, DimensionRequest>;
  on_breach?: OnBreach | null;
  /** Usage is reset at this interval, a second or more; absent is never. */
  period_ms?: number | null;
}

/** A budget and what was used of it. */
export interface BudgetView {
  /** Its name. */
  budget: string;
  changed?: ChangedView | null;
  /** What it allows, and what was used, by dimension. */
  dimensions: Record<string, DimensionView>;
  /** What happens to running executions when a hard limit is reached. */
  on_breach: OnBreach;
  /** Usage is reset at this interval; null is never. */
  period_ms?: number | null;
  resets?: Timestamp | null;
  /** When the period began. */
  since: Timestamp;
}

/** Which executions; every part that is given must hold. */
export interface BulkFilter {
  from?: Timestamp | null;
  kind?: Name | null;
  lane?: Name | null;
  /**
   * In one of these states. When absent: for a cancel those that are not finished, for a replay
   * `failed`, `cancelled` and `expired`, for a delete those that are finished.
   */
  state?: StateFilter[];
  /** With all of these tags. */
  tags?: Record<string, TagText>;
  to?: Timestamp | null;
}

/** One execution that refused. */
export interface BulkRefusalView {
  /** Why. */
  error: ErrorView;
  /** The execution. */
  id: Id;
}

/** One slice of a bulk operation. */
export interface BulkRequest {
  /** `cancel`, `replay` or `delete`. */
  action: BulkVerb;
  /** Where an earlier slice ended. */
  cursor?: string | null;
  /** Only count them. */
  dry_run?: boolean;
  /** Which executions; it must name something. */
  filter: BulkFilter;
  /** How long a holder may still work, for a cancel; absent ends its lease at once. */
  grace_ms?: number | null;
  /** How many executions at most. */
  limit?: number;
  reason?: Message | null;
}

/** What is done to many executions. */
export type BulkVerb = "cancel" | "replay" | "delete";

/** What a bulk operation did, or one slice of it. */
export interface BulkView {
  /** How many it was applied to; 0 when they were only counted. */
  done: number;
  /** How many executions were found. */
  matched: number;
  /** The cursor to continue with; null when there is nothing more. */
  next?: string | null;
  /** The first ten refusals. */
  refusals: BulkRefusalView[];
  /** How many refused it. */
  refused: number;
  /**
   * How many cannot be read, whatever the filter; `ff check` says what is wrong
   * with them.
   */
  unreadable: number;
}

/** Any bytes. */
export type Bytes = string;

/** The id of one call: a random UUID. */
export type Call = string;

/** A cancel of a flow. */
export interface CancelFlowRequest {
  /** How long those may still work, with `grace`. */
  grace_ms?: number | null;
  held?: HeldMembers | null;
  reason?: Message | null;
}

/** A cancel by the holder. */
export interface CancelHeldRequest {
  /** The lease. */
  fence: FenceBody;
  reason?: Message | null;
}

/** A cancel from outside. */
export interface CancelRequest {
  /** How long a holder may still work; absent ends its lease at once. */
  grace_ms?: number | null;
  reason?: Message | null;
}

/** What a cancel did. */
export type CancelStatus = "cancelled" | "cancelling";

/** A cancel that leaves the holder time to stop by itself. */
export interface CancelView {
  /** When the hold ends, whatever the holder does. */
  by: Timestamp;
  /** The reason of the operator. */
  reason?: string | null;
}

/** The answer to a cancel. */
export interface CancelledView {
  by?: Timestamp | null;
  /** The execution. */
  id: Id;
  /** `cancelled`, or `cancelling` during the grace period of its holder. */
  status: CancelStatus;
}

/** A capability: a word without commas, spaces or control characters. */
export type Capability = string;

/** The last change of a budget or a quota. */
export interface ChangedView {
  /** When. */
  at: Timestamp;
  /** Who made it: the name of a token, `root` or `local`. */
  by: string;
}

/** A claim of a reservation. */
export interface ClaimGrantedRequest {
  /** The execution. */
  execution: Id;
  /** The process it was reserved for. */
  instance: Name;
  /** The request that reserved it. */
  request: Call;
}

/** A claim. */
export interface ClaimRequest {
  /** What the worker offers. */
  capabilities?: Capability[];
  /** The process that claims. */
  instance: Name;
  /** The queue; `default` when absent. */
  lane?: Name;
  /** How many at most; 1 when absent. */
  max?: number;
  /**
   * The id of this call: a random UUID. The same id is the same call: sent again, it answers
   * what it took and still holds.
   */
  request: Call;
  /** `false` says that this is the first send, which saves the store a lookup. */
  retry?: boolean;
  /** How long to wait for work, at most 60000; absent means not at all. */
  wait_ms?: number;
}

/** What a claim took. */
export interface ClaimedView {
  /** A second claim at once may take more. */
  again: boolean;
  /** The executions, best first. */
  assignments: AssignmentView[];
  withheld?: Withheld | null;
}

/** A waitpoint to close. */
export interface CloseWaitpointRequest {
  /** The lease. */
  fence: FenceBody;
}

/** The result of an execution. */
export interface CompleteRequest {
  content_type?: MediaType | null;
  execution?: Id | null;
  /** The lease on it. */
  fence: FenceBody;
  /** Any JSON value nested at most 128 deep, kept as the bytes it came in. */
  result?: unknown;
  result_base64?: Base64 | null;
}

/** What ends a suspension: one of these. */
export interface ConditionView {
  /** All of these. */
  all?: ConditionView[];
  /** One of these. */
  any?: ConditionView[];
  count?: CountConditionView;
  signal?: SignalConditionView;
}

/** So many of something. */
export interface CountConditionView {
  /** How many. */
  n: number;
  name?: Name | null;
  /** Of what; a second signal by the same source does not count among `sources`. */
  of: CountOf;
  /** At which waitpoints; at every one of the suspension when absent. */
  waitpoints?: Name[];
}

/** What a condition counts. */
export type CountOf = "signals" | "sources" | "waitpoints";

/** What a part of a condition has counted. */
export interface CountedView {
  /** The fingerprint of what was counted. */
  digest: string;
  /** Which part, in the order in which the condition is written, from 0. */
  node: number;
  /** The number of the signal by which it was counted. */
  signal: number;
}

/** A token that was made. */
export interface CreatedTokenView {
  /** The token itself, which is shown this once. */
  secret: string;
  /** What is kept of it; its new secret is the last. */
  token: NamedTokenView;
}

/** An event that was given up. */
export interface DeadLetterView {
  /** When. */
  at: Timestamp;
  /** What happened. */
  event: EventName;
  /** The id of the event. */
  id: EventId;
  /** Why the last try failed. */
  reason: string;
  /** How often it was tried. */
  tries: number;
}

/** What somebody did to an execution. */
export type Deed = "cancel" | "replay" | "resume" | "revoke" | "priority" | "tag";

/** A delay: exactly one of `delay_ms` and `until`, or neither for at once. */
export interface DelayRequest {
  /** Continue this long from now. */
  delay_ms?: number | null;
  /** The lease. */
  fence: FenceBody;
  step?: StepText | null;
  until?: Timestamp | null;
}

/** The limits of one dimension. A limit of 0 is none. */
export interface DimensionRequest {
  /** Nothing is admitted once it is reached. */
  hard?: number | null;
  /** Reaching it is logged and counted. */
  soft?: number | null;
}

/** The state of a dimension of a budget: it has room, it has room and its soft limit is reached, or nothing more is admitted. */
export type DimensionState = "open" | "warned" | "full";

/** One dimension of a budget; a limit of 0 is none. */
export interface DimensionView {
  /** Nothing is admitted once it is reached. */
  hard?: number | null;
  /** What running executions may still use. */
  reserved: number;
  /** Reaching it is logged and counted. */
  soft?: number | null;
  /** Whether it has room. */
  state: DimensionState;
  /** What was used in this period. */
  used: number;
}

/** What a timer does to an execution. */
export type DueAction = "deadline" | "cancel_grace" | "attempt_timeout" | "lease_expired" | "delay_over" | "suspension_over" | "grant_expired" | "retention";

/** Whether an execution could be claimed. */
export type EligibilityState = "eligible_now" | "not_eligible_until_time" | "blocked_by_dependencies" | "blocked_by_budget" | "blocked_by_quota" | "blocked_by_route" | "blocked_by_lane_state" | "not_applicable";

/** How a flow is being ended. */
export interface EndingView {
  /** Why it was cancelled, if given. */
  cancel_reason?: string | null;
  failure?: FailureView | null;
  /** How long those may still work, if they get a grace. */
  grace_ms?: number | null;
  /** What becomes of members that workers hold. */
  held: HeldMembers;
  /** What becomes of it. */
  outcome: FlowEnding;
}

/** What an entry of a journal is about. */
export type EntryKind = "step" | "sleep" | "wait";

/** An error. */
export interface ErrorView {
  /** The stable code; every code has its part of the reference page. */
  code: string;
  /** The argument at fault, if one is. */
  field?: string | null;
  /** What was attempted, why not, and what to do. */
  message: string;
  /** Whether the same call may succeed later. */
  retryable: boolean;
}

/** A place in the log of a namespace: 22 to 8,192 characters, as an earlier answer had them. */
export type EventCursor = string;

/** The id of an event: that of its execution, and the version that the execution got with it. */
export type EventId = string;

/** What happened to an execution. */
export type EventName = "submitted" | "woken" | "granted" | "grant_expired" | "claimed" | "completed" | "retrying" | "failed" | "delayed" | "suspended" | "signalled" | "resumed" | "cancelling" | "cancelled" | "handed_back" | "revoked" | "reclaimed" | "blocked" | "unblocked" | "expired" | "replayed" | "retired" | "awaiting" | "released" | "skipped";

/** Something that happened to an execution. */
export interface EventView {
  /** When, by the store's clock. */
  at: Timestamp;
  /** The newest attempt then; null if there was none. */
  attempt?: number | null;
  by?: StepText | null;
  /** What happened. */
  event: EventName;
  /** To which execution. */
  execution: Id;
  /** Its name, the same however often it is read: to recognise an event that came again. */
  id: EventId;
  /** The kind of its work. */
  kind: Name;
  /** The lane of the execution. */
  lane: Name;
  /** The tenant. */
  namespace: Name;
  not_before?: Timestamp | null;
  reason?: SuspendReason | null;
  /** Of `woken` and `unblocked`: whether it continues an attempt. */
  resumes?: boolean | null;
  /** The run it happened in. */
  run: number;
  /** Its tags then. */
  tags: Record<string, TagText>;
  /** Of `resumed`: whether its time was over. */
  timed_out?: boolean | null;
}

/** Where to begin to read events. */
export type EventsFrom = "now" | "oldest" | "latest";

/** Some events, in the order of each execution and about in that of time. */
export interface EventsView {
  /** Where to continue. */
  cursor: string;
  /** The events; there may be none. */
  events: EventView[];
  /** Whether there is more to read at once. */
  more: boolean;
}

/** One unit of work, with all that is known about it. */
export interface ExecutionView {
  /** What people did to it, oldest first; the newest 16. */
  acts?: ActView[];
  /** The newest attempt; null before the first. */
  attempt?: number | null;
  /** How many attempts there were, over all runs. */
  attempts: number;
  blocked?: BlockedView | null;
  cancel?: CancelView | null;
  /** Why it was cancelled, if given. */
  cancel_reason?: string | null;
  /** When it was accepted. */
  created: Timestamp;
  deadline?: Timestamp | null;
  delayed_until?: Timestamp | null;
  ended?: Timestamp | null;
  /** How many leases it has had. */
  epoch: number;
  expires?: Timestamp | null;
  failure?: FailureView | null;
  /** How many attempts of this run ended by failure or timeout. */
  failures: number;
  flow?: FlowStateView | null;
  grant?: ReservationView | null;
  /** Its id. */
  id: Id;
  /** The submitter's name for it. */
  idempotency_key?: string | null;
  /** What it was submitted with. */
  input: PayloadShapeView;
  intent?: Intent | null;
  /** The kind of work. */
  kind: string;
  /** The queue. */
  lane: string;
  lease?: LeaseView | null;
  /** Its budgets and quotas. */
  limits: LimitsView;
  member?: MemberView | null;
  /** The tenant. */
  namespace: string;
  newest_attempt?: AttemptView | null;
  next_timer?: TimerView | null;
  /** Runs that were replayed, oldest first. */
  past_runs: RunView[];
  /** Its policy. */
  policy: PolicyView;
  /** Higher goes first. */
  priority: number;
  progress?: ProgressView | null;
  /** Its place in the queue among equals. */
  queued_at: Timestamp;
  /** Why it ended as it did, or what it waits for, in a sentence; null when it completed. */
  reason?: string | null;
  /** How many leases of this run were lost. */
  reclaims: number;
  /** What a worker must offer. */
  requires: string[];
  result?: PayloadShapeView | null;
  /** The current run: 0 for the first, one more with each replay. */
  run: number;
  /** When the current run started. */
  run_started: Timestamp;
  /** The node whose end made it skipped. */
  skipped_because?: string | null;
  /** Its state. */
  state: PublicState;
  /** Six views of its state. */
  state_vector: StateVector;
  /** The step of its journal that it sleeps in. */
  step?: string | null;
  suspension?: SuspensionView | null;
  /** Its labels. */
  tags: Record<string, string>;
  /** What it has used over its whole life, by dimension. */
  used: Record<string, number>;
}

/** The answer to one of several holder calls. Exactly one field is set. */
export interface ExitAnswer {
  error?: ErrorView | null;
  exit?: ExitView | null;
}

/** The answers to several holder calls, in their order. */
export interface ExitAnswers {
  /** One answer per call: `exit`, or `error`. */
  answers: ExitAnswer[];
}

/** What became of an execution whose lease was ended by a call. */
export type ExitOutcome = "completed" | "retrying" | "failed" | "delayed" | "suspended" | "cancelled" | "handed_back" | "revoked";

/** How a lease ended. */
export interface ExitView {
  at?: Timestamp | null;
  /** What became of the execution. */
  outcome: ExitOutcome;
}

/** Why an execution is in its state. */
export interface ExplanationView {
  /** For people. */
  explanation: string;
  /** The execution. */
  id: Id;
  /** The same as a clause that follows "it". */
  reason: string;
  /** The same for programs; what keeps it from running comes first. */
  reasons: ReasonView[];
  /** Its state. */
  state: PublicState;
  /** Six views of its state, given its lane, workers and limits. */
  state_vector: StateVector;
}

/** A failure. */
export interface FailRequest {
  category?: Name | null;
  /** The lease. */
  fence: FenceBody;
  /** What happened, for people. */
  message?: Message;
  /** Whether trying again can help; yes when absent. */
  retryable?: boolean;
}

/** Deliveries fail. */
export interface FailingView {
  /** Why the last try failed. */
  reason: string;
  /** Since when. */
  since: Timestamp;
  /** How often the event was tried. */
  tries: number;
}

/** What went wrong. */
export interface FailureView {
  /** The kind of failure. */
  category: string;
  /** What happened, for people. */
  message: string;
  /** Whether trying again could help, as far as its reporter knew. */
  retryable: boolean;
}

/** Changes to a feed; absent fields stay as they are. */
export interface FeedRequest {
  /** How many are kept at most. */
  most?: number | null;
  /** Whether it is on, whoever reads; off, the next reader switches it on again. */
  on?: boolean | null;
  /** How long an event is kept. */
  retention_ms?: number | null;
}

/** Whether a namespace logs its events, and for how long. */
export interface FeedView {
  /** Which time it is on: cursors of an earlier one have expired. */
  epoch: number;
  last_read?: Timestamp | null;
  /** How many are kept at most. */
  most: number;
  /** Events are logged. */
  on: boolean;
  /** An operator has switched it on: it stays on while nobody reads. */
  pinned: boolean;
  /** How long an event is kept. */
  retention_ms: number;
  since?: Timestamp | null;
}

/** What a holder sends with every call, as the claim gave it. */
export interface FenceBody {
  /** The attempt it runs. */
  attempt: number;
  /** Its epoch. */
  epoch: number;
  /** The lease. */
  lease: LeaseName;
}

/** The answer to a cancel of a flow. */
export interface FlowCancelledView {
  /** The flow. */
  id: Id;
  /** How many members have not ended. */
  left: number;
  /** Members that have not ended: the first 100. */
  pending: PendingMemberView[];
  /** `cancelled` when all its members have ended, `cancelling` until then. */
  status: CancelStatus;
}

/** The members of a flow by what they have come to. */
export interface FlowCountsView {
  /** Cancelled. */
  cancelled: number;
  /** Completed. */
  completed: number;
  /** Expired. */
  expired: number;
  /** Failed. */
  failed: number;
  /** Not ended; the graph itself counts while it is being started. */
  left: number;
  /** Skipped. */
  skipped: number;
}

/** How a flow ends before its members have. */
export type FlowEnding = "cancelled" | "expired" | "failed";

/** A member of a flow. */
export interface FlowMemberView {
  /** The numbers of the nodes that it depends on. */
  after: number[];
  execution?: ExecutionView | null;
  /** Its name among the nodes. */
  name: string;
  /** Its number among the nodes. */
  node: number;
}

/** Where a flow is in its life. */
export type FlowPhase = "open" | "running" | "ending" | "settled" | "retiring";

/** A graph to accept as a whole. */
export interface FlowRequest {
  /** How long it may take; any time when absent. */
  deadline_ms?: number | null;
  id?: Id | null;
  idempotency_key?: Key | null;
  lane?: Name | null;
  /** Budgets and quotas of every node, besides its own. */
  limits?: LimitsRequest;
  /** The graph: 1 to 10000 nodes, with at most 100000 edges. */
  nodes: NodeRequest[];
  /** The priority of nodes that have none of their own: -9000 to 9000; 0 when absent. */
  priority?: number;
  /** How long it and its nodes stay readable after its end. */
  retention_ms?: number | null;
  /** Labels of the flow, which its nodes inherit. */
  tags?: Record<string, TagText>;
}

/** What a flow knows of its members. */
export interface FlowStateView {
  ending?: EndingView | null;
  /** Whether it is a graph; else its members are children of a task. */
  graph: boolean;
  /** How many members it has. */
  members: number;
  /** Where it is in its life. */
  phase: FlowPhase;
  /** Whether its graph is whole. */
  sealed: boolean;
  /** How many it has once its graph is whole. */
  size: number;
  /** Whether what depends on nothing is still to be released. */
  starting?: boolean;
}

/** The flow that a submit created or found. */
export interface FlowSubmittedView {
  /** Its id. */
  id: Id;
  /** How many members it has. */
  members: number;
  /** `false` when an earlier submit with the same id or key and the same body created it. */
  new: boolean;
}

/** A flow and some of its members. */
export interface FlowView {
  /** How many of its members have come to what. */
  counts: FlowCountsView;
  /** The flow itself. */
  flow: ExecutionView;
  /** Members in the order of their numbers. */
  members: FlowMemberView[];
  /** The cursor to continue with; null when there is nothing more. */
  next?: number | null;
}

/** One frame. */
export interface FrameBody {
  base64?: Base64 | null;
  /** Its bytes as text, at most 65536. */
  text?: string | null;
  type?: Name | null;
}

/** One frame. */
export interface FrameView {
  /** The attempt that sent it. */
  attempt: number;
  base64?: Base64 | null;
  /** Its place in the stream, from 0. */
  number: number;
  /** Its bytes, when they are text: `base64` is null then. */
  text?: string | null;
  /** What it is, such as `stdout`. */
  type: Name;
}

/** Frames for the stream of an execution. */
export interface FramesRequest {
  /** The lease. */
  fence: FenceBody;
  /**
   * The number of the first of these frames. Those that are there already are not added again, so a
   * request can be repeated; a number past the end is refused with the next one. When absent, they go
   * to the end, and a repeated request adds them again.
   */
  first?: number | null;
  /** The frames, in order; with none, the answer has the next number. */
  frames?: FrameBody[];
}

/** A part of a stream. */
export interface FramesView {
  end?: PublicState | null;
  /** The frames, in order. */
  frames: FrameView[];
  /** The number to continue with. */
  next: number;
  /** The number of the first frame that is kept, if an earlier one was asked for. */
  trimmed?: number | null;
}

/** A request for a reservation. */
export interface GrantRequest {
  /** What the worker offers. */
  capabilities?: Capability[];
  /** The process it is for. */
  instance: Name;
  /** The queue; `default` when absent. */
  lane?: Name;
  /**
   * The id of this call: a random UUID. The same id is the same call: sent again, it answers
   * what it reserved.
   */
  request: Call;
  /** `false` says that this is the first send, which saves the store a lookup. */
  retry?: boolean;
  /** How long it lasts. */
  ttl_ms: number;
}

/** A reservation of one execution for one worker. */
export interface GrantView {
  /** The execution. */
  execution: Id;
  /** Its queue. */
  lane: string;
  /** Its last holder has lost it. */
  reclaim: boolean;
  /** What the worker sends to claim it. */
  request: string;
  /** Until when. */
  until: Timestamp;
}

/** What a grant reserved. */
export interface GrantedView {
  /** A second call at once may reserve one. */
  again: boolean;
  offer?: GrantView | null;
  withheld?: Withheld | null;
}

/** How the wait between attempts grows. */
export type Growth = "fixed" | "exponential";

/** The answers to a heartbeat, in its order. */
export interface HeartbeatView {
  /** One answer per lease. */
  leases: BeatView[];
}

/** What becomes of the members that workers hold when their flow is ended. */
export type HeldMembers = "cancel" | "grace" | "finish";

/** An execution and the lease on it. */
export interface HoldBody {
  /** The execution. */
  execution: Id;
  /** The lease on it. */
  fence: FenceBody;
}

/** The id of an execution: a UUIDv7. */
export type Id = string;

/** What an execution waits to do. */
export type Intent = "start" | "retry" | "reclaim" | "replay" | "resume" | "hand_back" | "revoke";

/** How many upstreams of a node must complete before it runs. */
export type Join = "all" | "any";

/** What a heartbeat keeps or a disconnect ends: leases, or a registration. */
export type Kept = LeasesBody | SessionBody;

/** How much of its journal the attempts of a replay find: all that is visible, or nothing. */
export type KeptJournal = "keep" | "drop";

/** An idempotency key: visible ASCII characters. */
export type Key = string;

/**
 * One page of lanes, in the order of their names: those that have settings, and those in which
 * something waits or runs.
 */
export interface LanePageView {
  /** The lanes. */
  lanes: LaneView[];
  /** The cursor to continue with; null when there is nothing more. */
  next?: string | null;
}

/** Changes to a lane's settings; absent fields stay as they are. */
export interface LaneRequest {
  /** New submits are refused. */
  draining?: boolean | null;
  /** How many of it may run at once; null is any number. */
  max_active?: number | null;
  /** None of it is claimed. */
  paused?: boolean | null;
  policy?: PolicyRequest | null;
  reason?: Message | null;
}

/** A lane and its settings. */
export interface LaneView {
  /** Who changed them then: the name of a token, `root` or `local`; null if that is not known. */
  by?: string | null;
  /** New submits are refused. */
  draining: boolean;
  /** How often the settings were changed. */
  generation: number;
  /** The lane. */
  lane: string;
  /** How many of it may run at once; null is any number. */
  max_active?: number | null;
  /** None of it is claimed. */
  paused: boolean;
  policy?: PolicyRequest | null;
  /** The reason, if given. */
  reason?: string | null;
  since?: Timestamp | null;
  work?: LaneWorkView | null;
}

/** What waits and what runs in a lane. Executions that are delayed are not counted by lane. */
export interface LaneWorkView {
  /** How many are held by workers. */
  active?: number;
  /** How many are blocked on a budget, a quota or the limit of the lane. */
  blocked: number;
  oldest?: Timestamp | null;
  /** How many waiting ones require capabilities that no live worker offers. */
  unroutable: number;
  /** How many are in its queue, ready to be claimed. */
  waiting: number;
}

/** The id of a lease, as the claim gave it. */
export type LeaseName = string;

/** A time-limited hold. */
export interface LeaseView {
  /** How many leases the execution has had, this one included. */
  epoch: number;
  /** Its random name. */
  id: LeaseName;
  timeout?: Timestamp | null;
  /** When it ends unless renewed. */
  until: Timestamp;
  /** The name shared by the holder's instances. */
  worker: string;
  /** The process that holds it. */
  worker_instance: string;
}

/** Leases, for a heartbeat or a disconnect. */
export interface LeasesBody {
  /** The leases: at most 1000. */
  leases: HoldBody[];
}

/** Which part of its life an execution is in. */
export type LifecyclePhase = "runnable" | "suspended" | "active" | "terminal";

/** The budgets and quotas of work. */
export interface LimitsRequest {
  /** The budgets that its usage is charged to. */
  budgets?: Name[];
  /** What it is expected to use at most, by dimension: reserved when it is admitted. */
  estimate?: Record<string, Amount>;
  /** The quotas that must admit it, all or none. */
  quotas?: Name[];
}

/** The budgets and quotas of an execution. */
export interface LimitsView {
  /** The budgets that its usage is charged to. */
  budgets: string[];
  /** What is reserved for it when it is admitted, by dimension. */
  estimate: Record<string, number>;
  /** The quotas that must admit it. */
  quotas: string[];
}

/** One page of a listing, newest first. */
export interface ListPageView {
  /** The executions. */
  executions: ExecutionView[];
  /** The cursor to continue with; null when there is nothing more. */
  next?: string | null;
  /**
   * The ids of executions that cannot be read, whatever the filter; `ff check`
   * says what is wrong with them.
   */
  unreadable: Id[];
}

/** A media type: visible ASCII characters. */
export type MediaType = string;

/** The place of an execution in a flow. */
export interface MemberView {
  /** In how many chunks of what depends on it its end is counted. */
  counted: number;
  /** The flow. */
  flow: Id;
  /** Nothing depends on it: the flow completes only if it does. */
  is_sink: boolean;
  /** Its name among the nodes. */
  name: string;
  /** How many successes of upstreams it still needs before it may run; below zero if there were more. */
  needs: number;
  /** Its number among the nodes. */
  node: number;
  /** What it does when too many do. */
  on_failure: OnFailure;
  /** How many successes it needs in all. */
  required: number;
  /** What becomes of upstreams that it does not need any more. */
  rest: Rest;
  /** How many upstreams may still end without success; below zero if there were too many. */
  spare: number;
  /** How long it waits from when it needs no more. */
  start_after_ms?: number | null;
  start_at?: Timestamp | null;
}

/** Text for people, at most 4096 bytes. */
export type Message = string;

/** A name: a letter or digit, then letters, digits, `_`, `-` and `.`, at most 64 in total. */
export type Name = string;

/** A page of tokens. */
export interface NamedTokenPageView {
  /** Where to continue; null if this is the last page. */
  next?: string | null;
  /** The tokens, in the order of their names. */
  tokens: NamedTokenView[];
}

/** A token to be made, or to be given another secret. */
export interface NamedTokenRequest {
  /** It reaches every namespace; then none is named. */
  every_namespace?: boolean;
  /** How long it is accepted; until it is revoked when absent. */
  expires_ms?: number | null;
  /** Its name: who shows it is known by it. */
  name: Name;
  /** The namespaces it reaches. */
  namespaces?: Name[];
  /** What it may do. */
  role: Role;
}

/** A token, without its secrets. */
export interface NamedTokenView {
  last_used?: Timestamp | null;
  /** Whether one of its secrets is accepted. */
  live: boolean;
  /** Its name. */
  name: string;
  /** The namespaces it reaches; null is every one. */
  namespaces?: string[] | null;
  /** What it may do. */
  role: Role;
  /** Its newest secrets, oldest first. */
  secrets: SecretView[];
}

/** The worker that lacks least of what an execution requires. */
export interface NearestView {
  /** The running process. */
  instance: string;
  /** What it lacks. */
  lacks: string[];
  /** The name shared by its instances. */
  worker: string;
}

/** The number that comes next in a stream or a summary. */
export interface NextView {
  /** The number of the next frame, or of the next patch. */
  next: number;
}

/** A node: work, and what it depends on. */
export interface NodeRequest {
  /** The names of the nodes that it depends on. */
  after?: Name[];
  content_type?: MediaType | null;
  /** Not before this long from when it waits for nothing more. */
  delay_ms?: number | null;
  /** Any JSON value nested at most 128 deep, kept as the bytes it came in. */
  input?: unknown;
  input_base64?: Base64 | null;
  join?: Join | null;
  kind?: Name | null;
  lane?: Name | null;
  /** The budgets and quotas of it, besides those of the flow. */
  limits?: LimitsRequest;
  /** Its name, unique in the graph. */
  name: Name;
  on_failure?: OnFailure | null;
  /** The policy of the work. */
  policy?: PolicyRequest;
  /** Higher goes first; that of the flow when absent. */
  priority?: number | null;
  /** How many of them must complete, instead of `join`. */
  quorum?: number | null;
  /** What a worker must offer. */
  requires?: Capability[];
  rest?: Rest | null;
  start?: Timestamp | null;
  /** Labels, besides those of the flow. */
  tags?: Record<string, TagText>;
}

/** What happens to running executions when a hard limit is reached: they continue and nothing new is admitted, or they are cancelled. */
export type OnBreach = "block" | "cancel";

/** What a member does when too much of what it depends on has not succeeded. */
export type OnFailure = "skip" | "continue" | "fail_flow";

/** What happens to a suspended execution when its time is over. */
export type OnTimeout = "resume" | "fail" | "cancel" | "expire";

/** A waitpoint to open before anything waits for it. */
export interface OpenWaitpointRequest {
  /** The lease. */
  fence: FenceBody;
  /** The waitpoint. */
  waitpoint: WaitpointBody;
}

/** A waitpoint that is open, and a token that sends signals to it. */
export type OpenedView = WaitpointView & {
  /**
   * A token for nobody in particular; the same call gives the same one. Null if the server has no
   * signing key.
   */
  token?: string | null;
};

/** Who owns an execution. */
export type OwnershipState = "unowned" | "leased" | "lease_expired_reclaimable" | "lease_revoked";

/** What a payload is, without its bytes. */
export interface PayloadShapeView {
  /** The media type. */
  content_type: string;
  /** How many bytes. */
  length: number;
}

/** A payload inside JSON. Exactly one of `text` and `base64` is set. */
export interface PayloadView {
  /** The bytes, when they are not. */
  base64?: string | null;
  /** The media type. */
  content_type: string;
  /** How many bytes. */
  length: number;
  /** The bytes, when they are UTF-8. */
  text?: string | null;
}

/** A member that has not ended. */
export interface PendingMemberView {
  /** The execution. */
  id: Id;
  /** Its name among the nodes. */
  name: string;
  /** Its state. */
  state: PublicState;
}

/**
 * The policy of work. An absent field has the value of its lane, or the documented default; null
 * sets none, whatever the lane has.
 */
export interface PolicyRequest {
  /** How long one hold of an attempt may run; null is any time. */
  attempt_timeout_ms?: number | null;
  /** How long to wait between attempts. */
  backoff?: BackoffRequest;
  /** How long a run may take; null is any time. */
  deadline_ms?: number | null;
  /** How long a lease lasts without a renewal. */
  lease_ttl_ms?: number | null;
  /** How many attempts of a run may end by failure. */
  max_attempts?: number | null;
  /** How many leases a run may lose before it fails. */
  max_reclaims?: number | null;
  /** How long the execution stays readable after its end. */
  retention_ms?: number | null;
  /** Which failure categories are retried; null is all of them. */
  retry_on?: Name[] | null;
  /** How many bytes of them. */
  stream_bytes?: number | null;
  /** How many frames of its stream are kept. */
  stream_frames?: number | null;
}

/** The policies of one execution. */
export interface PolicyView {
  /** How long one hold of an attempt may run. */
  attempt_timeout_ms?: number | null;
  /** How long to wait between them. */
  backoff: BackoffView;
  /** How long a run may take. */
  deadline_ms?: number | null;
  /** How long a lease lasts without a renewal. */
  lease_ttl_ms: number;
  /** How many attempts of a run may end by failure. */
  max_attempts: number;
  /** How many leases a run may lose. */
  max_reclaims: number;
  /** How long it stays readable after its end. */
  retention_ms: number;
  /** Which failure categories are retried; null means all of them. */
  retry_on?: string[] | null;
  /** How many bytes of them. */
  stream_bytes: number;
  /** How many frames of its stream are kept. */
  stream_frames: number;
}

/** A change of priority. */
export interface PriorityRequest {
  /** Higher goes first: -9000 to 9000. */
  priority: number;
}

/** A refusal or failure. */
export interface Problem {
  /** The stable code. */
  code: string;
  /** What was attempted, why not, and what to do. */
  detail: string;
  /** The argument at fault, if one is. */
  field?: string | null;
  /** The id of this request in the server's log. */
  request_id: string;
  /** Whether the same request may succeed later. */
  retryable: boolean;
  /** The HTTP status. */
  status: number;
  /** The code in words. */
  title: string;
  /** A page about the code. */
  type: string;
}

/** How far the work is. */
export interface ProgressRequest {
  /** The lease. */
  fence: FenceBody;
  message?: Message | null;
  /** 0 to 100. */
  percent?: number | null;
}

/** How far an attempt is, as its holder reports. */
export interface ProgressView {
  /** For people. */
  message?: string | null;
  /** 0 to 100. */
  percent?: number | null;
}

/** The public state of an execution. */
export type PublicState = "waiting" | "delayed" | "rate_limited" | "suspended" | "waiting_children" | "active" | "resumable" | "completed" | "failed" | "cancelled" | "expired" | "skipped";

/** One page of quotas, in the order of their names. */
export interface QuotaPageView {
  /** The cursor to continue with; null when there is nothing more. */
  next?: string | null;
  /** The quotas. */
  quotas: QuotaView[];
}

/** The limits of a quota: a number of starts in a window, a number at once, or both. */
export interface QuotaRequest {
  /** At most this much is added, at random, to each wait for the rate. */
  jitter_ms?: number | null;
  /** How many may run at once; absent is any number. */
  max_active?: number | null;
  /** How many may start in any window; absent is any number. */
  max_requests?: number | null;
  /** How long a window is; a minute when absent. */
  window_ms?: number | null;
}

/** A quota and what it has admitted. */
export interface QuotaView {
  /** How many run. */
  active: number;
  /** How many were admitted in the window that ends now. */
  admitted: number;
  changed?: ChangedView | null;
  /** At most this much is added, at random, to each wait for the rate. */
  jitter_ms: number;
  /** How many may run at once; null is any number. */
  max_active?: number | null;
  /** How many may start in any window; null is any number. */
  max_requests?: number | null;
  /** When the window admits one more. */
  next: Timestamp;
  /** Its name. */
  quota: string;
  /** How long a window is. */
  window_ms: number;
}

/** Others must end first. */
export interface ReasonAwaiting {
  /** How many of them it still needs. */
  needs: number;
  reason: "awaiting";
  /** Those that have not ended, as far as they were read. */
  upstreams: UpstreamView[];
}

/** A budget has no capacity for it. */
export interface ReasonBudget {
  /** The current figures, for people. */
  detail: string;
  /** Which. */
  name: string;
  reason: "budget";
  until?: Timestamp | null;
}

/** It has ended. */
export interface ReasonFinished {
  /** When. */
  at: Timestamp;
  reason: "finished";
}

/** A worker holds it. */
export interface ReasonHeld {
  cancel_by?: Timestamp | null;
  /** The process that holds it. */
  instance: string;
  reason: "held";
  /** Until when, unless the lease is renewed. */
  until: Timestamp;
  /** The name shared by the worker's instances. */
  worker: string;
}

/** It waits for its turn. */
export interface ReasonInQueue {
  /** How many of the same class come before it. */
  ahead: number;
  reason: "in_queue";
  /** How many live workers could run it. */
  workers: number;
}

/** Its lane runs as many as it may. */
export interface ReasonLaneLimit {
  /** How many run. */
  active: number;
  /** Which. */
  lane: string;
  /** How many may; null is any number. */
  max_active?: number | null;
  reason: "lane_limit";
}

/** An operator has paused its lane. */
export interface ReasonLanePaused {
  /** Which. */
  lane: string;
  reason: "lane_paused";
  /** Why, if given. */
  said?: string | null;
  /** Since when. */
  since: Timestamp;
}

/** No live worker that serves its lane offers all that it requires. */
export interface ReasonNoCapableWorker {
  nearest?: NearestView | null;
  reason: "no_capable_worker";
  /** What it requires. */
  requires: string[];
}

/** No live worker serves its lane. */
export interface ReasonNoWorkerOnLane {
  /** Which. */
  lane: string;
  reason: "no_worker_on_lane";
}

/** It is not claimable before this time. */
export interface ReasonNotBefore {
  /** What follows then. */
  intent: Intent;
  reason: "not_before";
  /** When. */
  until: Timestamp;
}

/** A quota has no capacity for it. */
export interface ReasonQuota {
  /** The current figures, for people. */
  detail: string;
  /** Which. */
  name: string;
  reason: "quota";
  until?: Timestamp | null;
}

/** It is reserved for a worker. */
export interface ReasonReserved {
  /** The process it is for. */
  instance: string;
  reason: "reserved";
  /** Until when. */
  until: Timestamp;
  /** The name shared by the worker's instances. */
  worker: string;
}

/** It is suspended. */
export interface ReasonSuspended {
  /** What is asked, for people. */
  message?: string | null;
  /** What happens then. */
  on_timeout: OnTimeout;
  reason: "suspended";
  until?: Timestamp | null;
  /** What kind of answer it waits for. */
  waits_for: SuspendReason;
}

/** One reason for the state of an execution. */
export type ReasonView = ReasonLanePaused | ReasonNoWorkerOnLane | ReasonNoCapableWorker | ReasonInQueue | ReasonNotBefore | ReasonBudget | ReasonQuota | ReasonLaneLimit | ReasonSuspended | ReasonAwaiting | ReasonReserved | ReasonHeld | ReasonFinished;

/** The entry of a step, made by this call or by an earlier one with the same result. */
export interface RecordedStepView {
  /** Its place in the journal. */
  number: number;
}

/** A registration. */
export interface RegisterRequest {
  /** What it offers. */
  capabilities?: Capability[];
  /** The running process; unique among the live ones. */
  instance: Name;
  /** Which lanes it serves: 1 to 64. */
  lanes: Name[];
  /** The id of this registration: a random UUID, repeated with every call about it. */
  session: Call;
  /** How long it may be silent before it counts as gone. */
  ttl_ms: number;
}

/** A worker that counts as alive. */
export interface RegisteredView {
  /** When it counts as gone unless a heartbeat arrives. */
  until: Timestamp;
}

/** A replay of a flow. It names the run it follows, so that a repeated call does not begin two. */
export interface ReplayFlowRequest {
  /** The run that has ended. */
  run: number;
}

/** A replay. It names the run it follows, so that a repeated call does not start two. */
export interface ReplayRequest {
  journal?: KeptJournal | null;
  /** The run that has ended. */
  run: number;
  up_to?: StepText | null;
}

/** The answer to a replay. */
export interface ReplayedView {
  /** The execution. */
  id: Id;
  /** The number of the run that has started. */
  run: number;
}

/** A reservation for one worker. */
export interface ReservationView {
  /** The call that made it. */
  request: string;
  /** Until when. */
  until: Timestamp;
  /** The name shared by the worker's instances. */
  worker: string;
  /** The process it is for. */
  worker_instance: string;
}

/** A reset, which has no fields: `{}`. */
export type ResetRequest = Record<string, never>;

/** What becomes of the upstreams that a member does not need any more. */
export type Rest = "finish" | "cancel";

/** A resume carries nothing. */
export type ResumeRequest = Record<string, never>;

/** What a resume did. */
export interface ResumedView {
  /** The execution. */
  id: Id;
  /** Whether it was suspended and continues now. */
  resumed: boolean;
}

/** A revocation. It names the lease, so that a repeated call never ends a later one. */
export interface RevokeRequest {
  /** The lease to end. */
  lease: LeaseName;
}

/** The answer to a revoke. */
export interface RevokedView {
  /** The execution. */
  id: Id;
  /** The lease that has ended. */
  lease: string;
  /** `revoked`, or `cancelled` when its holder was already asked to stop. */
  status: ExitOutcome;
}

/** What the holder of a token may do in its namespaces. Every role may read. */
export type Role = "producer" | "worker" | "operator" | "approver" | "reader";

/** A run that was replayed. */
export interface RunView {
  /** Why it was cancelled, if given. */
  cancel_reason?: string | null;
  /** When it ended. */
  ended: Timestamp;
  failure?: FailureView | null;
  /** Why; null when it completed. */
  reason?: string | null;
  result?: PayloadShapeView | null;
  /** 0 for the first. */
  run: number;
  /** The node whose end made it skipped. */
  skipped_because?: string | null;
  /** When it started. */
  started: Timestamp;
  /** How it ended. */
  state: PublicState;
}

/** One secret of a token. */
export interface SecretView {
  /** When it was made. */
  created: Timestamp;
  /** By whom. */
  created_by: string;
  expires?: Timestamp | null;
  /** Whether it is accepted. */
  live: boolean;
  /** 1 for the first of its token. */
  number: number;
  revoked?: Timestamp | null;
  /** By whom. */
  revoked_by?: string | null;
}

/** A registration, as its worker addresses it. */
export interface SessionBody {
  /** The running process. */
  instance: Name;
  /** The id it registered with. */
  session: Call;
}

/** A signal at a waitpoint. */
export interface SignalConditionView {
  name?: Name | null;
  /** Where. */
  waitpoint: Name;
}

/** What a signal did. */
export type SignalEffect = "resumed" | "recorded" | "duplicate" | "too_late";

/** A signal from an authorised caller. Who sends it is whom the caller's credential names. */
export interface SignalRequest {
  category?: Name | null;
  content_type?: MediaType | null;
  idempotency_key?: Key | null;
  name?: Name | null;
  /** Any JSON value nested at most 128 deep, kept as the bytes it came in. */
  payload?: unknown;
  payload_base64?: Base64 | null;
  /** The key of the waitpoint. */
  waitpoint: Name;
}

/** A signal that an execution has received. */
export interface SignalView {
  /** When it has arrived. */
  at: Timestamp;
  /** The kind of signal, in its sender's words. */
  category?: string | null;
  /** The holder's name for that. */
  key: string;
  /** Its name. */
  name?: string | null;
  /** Its number among the signals of the execution, from 0. */
  number: number;
  /** What it carries. */
  payload: PayloadView;
  /** Who sent it, as the server knows it. */
  source: string;
  /** The id of the waitpoint at which it has arrived. */
  waitpoint: Call;
}

/** What a signal did. */
export interface SignalledView {
  /** What it did. */
  effect: SignalEffect;
  /** The execution. */
  id: Id;
  /** Its number among the signals of the execution; null if it is not recorded. */
  number?: number | null;
}

/** One page of the signals of an execution, oldest first. */
export interface SignalsView {
  /** The execution. */
  id: Id;
  /** Where to continue; null when there was nothing. */
  next?: number | null;
  /** The signals. */
  signals: SignalView[];
}

/** The state of an execution, as a listing can filter by it: a public state, or `waiting_for_capable_worker`, which is queued while no live worker can run it. */
export type StateFilter = "waiting" | "delayed" | "rate_limited" | "suspended" | "waiting_children" | "active" | "resumable" | "completed" | "failed" | "cancelled" | "expired" | "skipped" | "waiting_for_capable_worker";

/** Six views of one state. */
export interface StateVector {
  /** The state of its newest attempt. */
  attempt_state: AttemptState;
  /** What it waits for. */
  blocking_reason: BlockingReason;
  /** Whether it could be claimed. */
  eligibility_state: EligibilityState;
  /** Which part of its life. */
  lifecycle_phase: LifecyclePhase;
  /** Who owns it. */
  ownership_state: OwnershipState;
  /** How it ended. */
  terminal_outcome: TerminalOutcome;
}

/** The result of a step. */
export interface StepRequest {
  content_type?: MediaType | null;
  /** The lease. */
  fence: FenceBody;
  /** Any JSON value nested at most 128 deep, kept as the bytes it came in. */
  result?: unknown;
  result_base64?: Base64 | null;
  /** The name of the step. */
  step: StepText;
}

/** The name of a step, sleep or wait: text without control characters, at most 256 bytes. */
export type StepText = string;

/** One entry of a journal: what a step, a sleep or a wait has come to. */
export interface StepView {
  /** When it was written. */
  at: Timestamp;
  /** The attempt it was written in. */
  attempt: number;
  content_type?: MediaType | null;
  /** What it is about. */
  kind: EntryKind;
  /** Its place in the journal, from 0. */
  number: number;
  /** The result of a step, when that is JSON: `result_base64` is null then. */
  result?: unknown;
  result_base64?: Base64 | null;
  /** The run it was written in. */
  run: number;
  /** The numbers of the signals that ended a wait. */
  signals?: number[] | null;
  /** The name of the step, sleep or wait. */
  step: StepText;
  /** Whether the time of a wait was over first. */
  timed_out?: boolean | null;
  /** Whether attempts find it; a replay may have hidden it. */
  visible: boolean;
}

/** One page of a journal, oldest entry first. */
export interface StepsView {
  /** The cursor to continue with; null when there is nothing more. */
  next?: string | null;
  /** The entries. */
  steps: StepView[];
}

/** Which executions a worker should look at: send a heartbeat for what it holds of them. */
export interface StopsView {
  /** Look at everything that the worker holds: what was stopped since the cursor is not known here. */
  all: boolean;
  /** Where the next call continues. */
  cursor: string;
  /** Executions that were cancelled, revoked or have expired; empty with `all`. */
  executions: Id[];
}

/** The answer to one submit of a batch. Exactly one field is set. */
export interface SubmitAnswer {
  error?: ErrorView | null;
  submitted?: SubmittedView | null;
}

/** Several submits at once; each gets a separate answer. */
export interface SubmitBatch {
  /** The work: 1 to 1000. */
  executions: SubmitRequest[];
}

/** Work to accept. Everything is optional; what is absent has the documented default. */
export interface SubmitRequest {
  content_type?: MediaType | null;
  /** Not before this long from now. */
  delay_ms?: number | null;
  id?: Id | null;
  idempotency_key?: Key | null;
  /** Any JSON value nested at most 128 deep, kept as the bytes it came in. */
  input?: unknown;
  input_base64?: Base64 | null;
  kind?: Name | null;
  lane?: Name | null;
  /** The budgets and quotas of it. */
  limits?: LimitsRequest;
  /** The policy of the work. */
  policy?: PolicyRequest;
  /** Higher goes first: -9000 to 9000; 0 when absent. */
  priority?: number;
  /** What a worker must offer. */
  requires?: Capability[];
  start?: Timestamp | null;
  /** Labels. */
  tags?: Record<string, TagText>;
}

/** The execution that a submit created or found. */
export interface SubmittedView {
  /** Its id. */
  id: Id;
  /** `false` when an earlier submit with the same id or key and the same body created it. */
  new: boolean;
  /** Its state. */
  state: PublicState;
  /** Budgets, quotas and dimensions it names that do not exist; absent without warnings. */
  warnings?: WarningView[];
}

/** A change of the summary of an execution. */
export interface SummaryRequest {
  /** The lease. */
  fence: FenceBody;
  /**
   * Which patch of the execution it is, from 0: one that is known changes nothing. When absent, it is
   * the next, and a repeated request applies it again.
   */
  number?: number | null;
  /** A JSON Merge Patch (RFC 7396): at most 262144 bytes, nested at most 32 deep. */
  patch: unknown;
}

/** The summary of an execution. */
export interface SummaryView {
  /** How many patches have made it: the number of the next one. */
  patches: number;
  /** The document; null when there is none yet. */
  summary?: unknown;
}

/** What kind of answer a suspended execution waits for. */
export type SuspendReason = "signal" | "approval" | "callback" | "tool_result";

/** A suspension: at most one of `timeout_ms` and `until`, or neither to wait for as long as it takes. */
export interface SuspendRequest {
  /** What ends it; nested at most 4 deep, of at most 32 parts. */
  condition: ConditionView;
  /** The lease. */
  fence: FenceBody;
  /** Keep the lease if the condition is satisfied already. */
  keep_if_satisfied?: boolean;
  message?: Message | null;
  on_timeout?: OnTimeout | null;
  reason?: SuspendReason | null;
  /** The name under which the journal keeps how it ended. */
  step?: string | null;
  /** End it this long from now. */
  timeout_ms?: number | null;
  until?: Timestamp | null;
  /** Every waitpoint of the suspension: those that are open are used, others are opened. 1 to 16. */
  waitpoints: WaitpointBody[];
}

/** What a suspend did. */
export interface SuspendedView {
  exit?: ExitView | null;
  /** Those of its waitpoints that are open, with a token for each. */
  waitpoints: OpenedView[];
}

/** A wait that holds no worker. */
export interface SuspensionView {
  /** What ends it. */
  condition: ConditionView;
  /** What has counted towards that so far. */
  counted: CountedView[];
  /** What is asked, for people. */
  message?: string | null;
  /** Which suspension of the execution it is, from 0. */
  number: number;
  /** What happens then. */
  on_timeout: OnTimeout;
  /** What kind of answer it waits for. */
  reason: SuspendReason;
  /** When it began. */
  since: Timestamp;
  /** The name under which the journal keeps how it ended. */
  step?: string | null;
  until?: Timestamp | null;
}

/** The value of a tag: text of at most 256 bytes without control characters. */
export type TagText = string;

/** A change of tags; the rest stay. */
export interface TagsRequest {
  /** Tags to remove. */
  remove?: Name[];
  /** Tags to set. */
  set?: Record<string, TagText>;
}

/** How an execution ended. */
export type TerminalOutcome = "none" | "success" | "failed" | "cancelled" | "expired" | "skipped";

/** A timer. */
export interface TimerView {
  /** When. */
  at: Timestamp;
  /** What. */
  what: DueAction;
}

/** A time: RFC 3339, with any offset in a request, in UTC with milliseconds in an answer. */
export type Timestamp = string;

/** What a token is good for. */
export type TokenPurpose = "signal" | "approval_link";

/** A token to make: at most one of `expires_ms` and `expires`. */
export interface TokenRequest {
  expires?: Timestamp | null;
  /** Refuse it this long from now on. */
  expires_ms?: number | null;
  purpose?: TokenPurpose | null;
  /** Whom it is made for: the source of the signals that it sends. */
  subject?: string | null;
}

/** A signal by token. Where it goes and who sends it is in the token. */
export interface TokenSignalRequest {
  category?: Name | null;
  content_type?: MediaType | null;
  idempotency_key?: Key | null;
  name?: Name | null;
  /** Any JSON value nested at most 128 deep, kept as the bytes it came in. */
  payload?: unknown;
  payload_base64?: Base64 | null;
  /** The token, unless `Authorization: Bearer` has it. */
  token?: string | null;
}

/** A token. It is shown to the one who asked for it, and kept nowhere. */
export interface TokenView {
  expires?: Timestamp | null;
  /** The path of the page that it opens, on this server; null for one that sends signals. */
  path?: string | null;
  /** The token. */
  token: string;
}

/** A node that an execution depends on and that has not ended. */
export interface UpstreamView {
  /** Its name. */
  name: string;
  /** Its state. */
  state: PublicState;
}

/** Usage that a holder reports. */
export interface UsageRequest {
  /** How much, by dimension: 1 to 16 of them. */
  amounts: Record<string, Amount>;
  /** The lease. */
  fence: FenceBody;
  /** The holder's name for this report: the same one again changes nothing. */
  key: Key;
  /** Takes back instead of adding. */
  release?: boolean;
}

/** All that an execution has used. */
export interface UsedView {
  /** How much, by dimension. */
  used: Record<string, number>;
}

/** A waitpoint that is to be open: at most one of `timeout_ms` and `until`. */
export interface WaitpointBody {
  /** The holder's name for it. One of this key that is open stays as it is. */
  key: Name;
  /** Close this long from now. */
  timeout_ms?: number | null;
  until?: Timestamp | null;
}

/** Where signals for an execution arrive. */
export interface WaitpointView {
  /** Its id. One that is opened again under the same key has another. */
  id: Call;
  /** The holder's name for it. */
  key: string;
  /** How many signals have arrived. */
  signals: number;
  /** The number of the suspension that waits for it; null while it is pending. */
  suspension?: number | null;
  until?: Timestamp | null;
}

/** The open waitpoints of an execution. */
export interface WaitpointsView {
  /** The execution. */
  id: Id;
  /** Its open waitpoints, at most 16. */
  waitpoints: WaitpointView[];
}

/** The kind of warning. */
export type WarningCode = "no_such_budget" | "no_such_quota" | "estimate_not_counted";

/** A warning about work that was accepted. */
export interface WarningView {
  /** The kind of warning. */
  code: WarningCode;
  /** What follows from it, for people. */
  message: string;
  /** The budget, quota or dimension. */
  name: string;
}

/** What a webhook sends where. */
export interface WebhookRequest {
  /** Only these events; all when absent or empty. */
  events?: EventName[];
  /** How long a secret that is replaced signs too; a day when absent. */
  grace_ms?: number | null;
  kind?: Name | null;
  lane?: Name | null;
  /**
   * What bodies are signed with: `whsec_` and 24 to 64 random bytes in base64. A new webhook needs one;
   * for another it replaces the one before. It is never answered.
   */
  secret?: string | null;
  /** Where to: `https`, and a host on the public internet, unless the server allows others. */
  url: string;
}

/** A webhook. Its secrets are never shown. */
export interface WebhookView {
  changed?: ChangedView | null;
  /** When it was made. */
  created: Timestamp;
  /** How many were given up after their last try. */
  dead: number;
  /** The latest events that were given up, the newest last. */
  dead_letters: DeadLetterView[];
  /** How many events were delivered. */
  delivered: number;
  /** Which events; empty is all. */
  events: EventName[];
  failing?: FailingView | null;
  /** How often the log no longer had the next event: some were never sent. */
  gaps: number;
  kind?: Name | null;
  lane?: Name | null;
  last_delivered?: Timestamp | null;
  /** Where it sends to. */
  url: string;
  /** Its name. */
  webhook: Name;
}

/** The webhooks of a namespace, in the order of their names. */
export interface WebhooksView {
  /** All of them. */
  webhooks: WebhookView[];
}

/** Why waiting work is not dispatched. */
export type Withheld = "lane_paused";

/** One page of workers, in the order of their instance ids. */
export interface WorkerPageView {
  /** The cursor to continue with; null when there is nothing more. */
  next?: string | null;
  /** The workers. */
  workers: WorkerView[];
}

/** A worker that has registered. */
export interface WorkerView {
  /** What it offers. */
  capabilities: string[];
  /** The running process. */
  instance: string;
  /** Which lanes it serves. */
  lanes: string[];
  /** When its last heartbeat arrived. */
  last_seen: Timestamp;
  /** When it registered. */
  registered: Timestamp;
  /** The id of this registration: another process with the same instance id has another one. */
  session: string;
  /** How long it may be silent. */
  ttl_ms: number;
  /** When it counts as gone unless a heartbeat arrives. */
  until: Timestamp;
  /** The name shared by its instances. */
  worker: string;
}

/** Every call, by its method and path. */
export interface Calls {
  /** What a code means and what to do about it. */
  "GET /errors/{code}": {
    path: { code: string };
    query: {};
    body: undefined;
    answer: Uint8Array;
  };
  /** The same as `/readyz`. */
  "GET /healthz": {
    path: {};
    query: {};
    body: undefined;
    answer: Uint8Array;
  };
  /** Whether the process answers. It does not call the store. */
  "GET /livez": {
    path: {};
    query: {};
    body: undefined;
    answer: Uint8Array;
  };
  /** What was counted, in Prometheus's text format. */
  "GET /metrics": {
    path: {};
    query: {};
    body: undefined;
    answer: Uint8Array;
  };
  /** This document. */
  "GET /openapi.json": {
    path: {};
    query: {};
    body: undefined;
    answer: Record<string, unknown>;
  };
  /**
   * Whether the store has answered within the last second. It is pinged at most once a second, and
   * the answer takes at most a second.
   */
  "GET /readyz": {
    path: {};
    query: {};
    body: undefined;
    answer: Uint8Array;
  };
  /** The budgets of a namespace, in the order of their names. */
  "GET /v1/budgets": {
    path: {};
    query: { namespace?: Name; cursor?: Name; limit?: number };
    body: undefined;
    answer: BudgetPageView;
  };
  /** Removes a budget. Executions that name it wait until it exists again. */
  "DELETE /v1/budgets/{name}": {
    path: { name: Name };
    query: { namespace?: Name };
    body: undefined;
    answer: undefined;
  };
  /** A budget and what was used of it. */
  "GET /v1/budgets/{name}": {
    path: { name: Name };
    query: { namespace?: Name };
    body: undefined;
    answer: BudgetView;
  };
  /** Creates a budget, or changes what it allows; usage is kept. Waiting executions are re-evaluated. */
  "PUT /v1/budgets/{name}": {
    path: { name: Name };
    query: { namespace?: Name };
    body: BudgetRequest;
    answer: BudgetView;
  };
  /** Resets the usage of a budget. Waiting executions are re-evaluated. */
  "POST /v1/budgets/{name}/reset": {
    path: { name: Name };
    query: { namespace?: Name };
    body: ResetRequest;
    answer: BudgetView;
  };
  /**
   * What happened after a cursor, at once or as soon as something does, or with `Accept:
   * text/event-stream` all of it as it happens. Nothing is skipped; an event may come again, with the same
   * id. The id of a server-sent event is the cursor behind it, which a client sends as `Last-Event-ID`. The
   * first call switches the feed of the namespace on.
   */
  "GET /v1/events": {
    path: {};
    query: { namespace?: Name; cursor?: EventCursor; from?: EventsFrom; event?: EventName[]; lane?: Name; kind?: Name; execution?: Id; tags?: string; limit?: number; wait_ms?: number };
    body: undefined;
    answer: EventsView;
  };
  /** Executions, newest first. A page may be short, or empty, and still have a `next`. */
  "GET /v1/executions": {
    path: {};
    query: { namespace?: Name; lane?: Name; kind?: Name; state?: StateFilter[]; reason?: SuspendReason; tags?: string; from?: Timestamp; to?: Timestamp; cursor?: string; limit?: number };
    body: undefined;
    answer: ListPageView;
  };
  /** Accepts work. */
  "POST /v1/executions": {
    path: {};
    query: { namespace?: Name };
    body: SubmitRequest;
    answer: SubmittedView;
  };
  /** Accepts several pieces of work; each gets a separate answer. */
  "POST /v1/executions/batch": {
    path: {};
    query: { namespace?: Name };
    body: SubmitBatch;
    answer: BatchAnswer;
  };
  /**
   * Cancels, replays or removes the executions of one slice of a listing, newest first; repeat it with
   * `next` until that is null. Executions that refuse are counted, and the first ten are named.
   */
  "POST /v1/executions/bulk": {
    path: {};
    query: { namespace?: Name };
    body: BulkRequest;
    answer: BulkView;
  };
  /** Removes a finished execution before its retention is over, with its payloads and attempts. */
  "DELETE /v1/executions/{id}": {
    path: { id: Id };
    query: { namespace?: Name };
    body: undefined;
    answer: undefined;
  };
  /** One execution, at once or when it has ended. One that no live worker can run says so. */
  "GET /v1/executions/{id}": {
    path: { id: Id };
    query: { namespace?: Name; wait_ms?: number };
    body: undefined;
    answer: ExecutionView;
  };
  /** The attempts of an execution, oldest first. */
  "GET /v1/executions/{id}/attempts": {
    path: { id: Id };
    query: { namespace?: Name; cursor?: string; limit?: number };
    body: undefined;
    answer: AttemptsView;
  };
  /** Cancels: at once, or after a grace period for the holder. */
  "POST /v1/executions/{id}/cancel": {
    path: { id: Id };
    query: { namespace?: Name };
    body: CancelRequest;
    answer: CancelledView;
  };
  /** Cancels the held execution. */
  "POST /v1/executions/{id}/cancel-held": {
    path: { id: Id };
    query: { namespace?: Name };
    body: CancelHeldRequest;
    answer: ExitView;
  };
  /** Ends the execution with a result. */
  "POST /v1/executions/{id}/complete": {
    path: { id: Id };
    query: { namespace?: Name };
    body: CompleteRequest;
    answer: ExitView;
  };
  /** Delays the execution; the same attempt continues then. */
  "POST /v1/executions/{id}/delay": {
    path: { id: Id };
    query: { namespace?: Name };
    body: DelayRequest;
    answer: ExitView;
  };
  /** Why an execution is in its state, and what it waits for. */
  "GET /v1/executions/{id}/explain": {
    path: { id: Id };
    query: { namespace?: Name };
    body: undefined;
    answer: ExplanationView;
  };
  /** Ends the attempt by a failure; the retry policy decides what follows. */
  "POST /v1/executions/{id}/fail": {
    path: { id: Id };
    query: { namespace?: Name };
    body: FailRequest;
    answer: ExitView;
  };
  /**
   * Adds frames to the stream of an execution. With the number of the first one, a request can be
   * repeated: what is there already is not added again.
   */
  "POST /v1/executions/{id}/frames": {
    path: { id: Id };
    query: { namespace?: Name };
    body: FramesRequest;
    answer: NextView;
  };
  /** What an execution was submitted with, byte for byte. */
  "GET /v1/executions/{id}/input": {
    path: { id: Id };
    query: { namespace?: Name };
    body: undefined;
    answer: Uint8Array;
  };
  /** Changes the priority. */
  "POST /v1/executions/{id}/priority": {
    path: { id: Id };
    query: { namespace?: Name };
    body: PriorityRequest;
    answer: undefined;
  };
  /** Reports how far the work is. It does not renew the lease. */
  "POST /v1/executions/{id}/progress": {
    path: { id: Id };
    query: { namespace?: Name };
    body: ProgressRequest;
    answer: undefined;
  };
  /** Runs an ended execution again. */
  "POST /v1/executions/{id}/replay": {
    path: { id: Id };
    query: { namespace?: Name };
    body: ReplayRequest;
    answer: ReplayedView;
  };
  /** What an execution completed with, byte for byte. */
  "GET /v1/executions/{id}/result": {
    path: { id: Id };
    query: { namespace?: Name; run?: number };
    body: undefined;
    answer: Uint8Array;
  };
  /** Ends a suspension without its condition. */
  "POST /v1/executions/{id}/resume": {
    path: { id: Id };
    query: { namespace?: Name };
    body: ResumeRequest;
    answer: ResumedView;
  };
  /** Revokes a lease. */
  "POST /v1/executions/{id}/revoke": {
    path: { id: Id };
    query: { namespace?: Name };
    body: RevokeRequest;
    answer: RevokedView;
  };
  /** The signals that an execution has received, oldest first. A page may be short and still have a `next`. */
  "GET /v1/executions/{id}/signals": {
    path: { id: Id };
    query: { namespace?: Name; cursor?: string; limit?: number };
    body: undefined;
    answer: SignalsView;
  };
  /** Delivers a signal of an authorised caller. */
  "POST /v1/executions/{id}/signals": {
    path: { id: Id };
    query: { namespace?: Name };
    body: SignalRequest;
    answer: SignalledView;
  };
  /** The journal of an execution, oldest entry first. A page may be short and still have a `next`. */
  "GET /v1/executions/{id}/steps": {
    path: { id: Id };
    query: { namespace?: Name; visible?: boolean; cursor?: string; limit?: number };
    body: undefined;
    answer: StepsView;
  };
  /** Keeps the result of a step for all later attempts. The same result again gets the first answer. */
  "POST /v1/executions/{id}/steps": {
    path: { id: Id };
    query: { namespace?: Name };
    body: StepRequest;
    answer: RecordedStepView;
  };
  /**
   * What an execution streams: a page of frames, at once or when there are some, or with
   * `Accept: text/event-stream` all of them as events while they come. The data of an event is a frame and
   * its id the frame's number. Other events are `trimmed` (earlier frames are not kept; `first` is the
   * first that is), `end` (the execution has ended in `state`, and there are no more) and `cut` (the client
   * was too slow; it can resume at `next`).
   */
  "GET /v1/executions/{id}/stream": {
    path: { id: Id };
    query: { namespace?: Name; from?: number; limit?: number; wait_ms?: number };
    body: undefined;
    answer: FramesView;
  };
  /** The summary of an execution. */
  "GET /v1/executions/{id}/summary": {
    path: { id: Id };
    query: { namespace?: Name };
    body: undefined;
    answer: SummaryView;
  };
  /** Changes the summary of an execution by a JSON Merge Patch. */
  "POST /v1/executions/{id}/summary": {
    path: { id: Id };
    query: { namespace?: Name };
    body: SummaryRequest;
    answer: NextView;
  };
  /** Parks the execution until signals have come or its time is over. */
  "POST /v1/executions/{id}/suspend": {
    path: { id: Id };
    query: { namespace?: Name };
    body: SuspendRequest;
    answer: SuspendedView;
  };
  /** Changes tags. */
  "POST /v1/executions/{id}/tags": {
    path: { id: Id };
    query: { namespace?: Name };
    body: TagsRequest;
    answer: undefined;
  };
  /** What a node that a member of a flow depends on completed with, byte for byte. */
  "GET /v1/executions/{id}/upstreams/{node}": {
    path: { id: Id; node: Name };
    query: { namespace?: Name };
    body: undefined;
    answer: Uint8Array;
  };
  /**
   * Adds to what the execution has used, or takes back from it. A report of usage is never refused
   * because it exceeds a limit.
   */
  "POST /v1/executions/{id}/usage": {
    path: { id: Id };
    query: { namespace?: Name };
    body: UsageRequest;
    answer: UsedView;
  };
  /** The open waitpoints of an execution. */
  "GET /v1/executions/{id}/waitpoints": {
    path: { id: Id };
    query: { namespace?: Name };
    body: undefined;
    answer: WaitpointsView;
  };
  /** Opens a waitpoint before anything waits for it. */
  "POST /v1/executions/{id}/waitpoints": {
    path: { id: Id };
    query: { namespace?: Name };
    body: OpenWaitpointRequest;
    answer: OpenedView;
  };
  /** Closes a waitpoint for ever. */
  "POST /v1/executions/{id}/waitpoints/{key}/close": {
    path: { id: Id; key: Name };
    query: { namespace?: Name };
    body: CloseWaitpointRequest;
    answer: undefined;
  };
  /**
   * Makes a token for an open waitpoint, for one who is to answer. Two who must both answer get two
   * tokens, with two subjects.
   */
  "POST /v1/executions/{id}/waitpoints/{key}/token": {
    path: { id: Id; key: Name };
    query: { namespace?: Name };
    body: TokenRequest;
    answer: TokenView;
  };
  /** Whether the events of a namespace are logged, and for how long. */
  "GET /v1/feed": {
    path: {};
    query: { namespace?: Name };
    body: undefined;
    answer: FeedView;
  };
  /**
   * Switches the feed of a namespace, or changes for how long its events are kept. Once this is answered,
   * it applies to everything that happens.
   */
  "PATCH /v1/feed": {
    path: {};
    query: { namespace?: Name };
    body: FeedRequest;
    answer: FeedView;
  };
  /** Flows, newest first. A page may be short, or empty, and still have a `next`. */
  "GET /v1/flows": {
    path: {};
    query: { namespace?: Name; lane?: Name; kind?: Name; state?: StateFilter[]; reason?: SuspendReason; tags?: string; from?: Timestamp; to?: Timestamp; cursor?: string; limit?: number };
    body: undefined;
    answer: ListPageView;
  };
  /** Accepts a graph of executions as a whole. */
  "POST /v1/flows": {
    path: {};
    query: { namespace?: Name };
    body: FlowRequest;
    answer: FlowSubmittedView;
  };
  /** A flow with its members, in the order of their numbers. */
  "GET /v1/flows/{id}": {
    path: { id: Id };
    query: { namespace?: Name; cursor?: string; limit?: number };
    body: undefined;
    answer: FlowView;
  };
  /** Cancels a flow: from the answer on, none of its members is claimed. Says which have not ended. */
  "POST /v1/flows/{id}/cancel": {
    path: { id: Id };
    query: { namespace?: Name };
    body: CancelFlowRequest;
    answer: FlowCancelledView;
  };
  /** Runs again what did not complete of a flow that has ended; what has completed keeps its result. */
  "POST /v1/flows/{id}/replay": {
    path: { id: Id };
    query: { namespace?: Name };
    body: ReplayFlowRequest;
    answer: ReplayedView;
  };
  /** The lanes that have settings and those in which something waits or runs, in the order of their names. */
  "GET /v1/lanes": {
    path: {};
    query: { namespace?: Name; cursor?: Name; limit?: number; configured?: boolean };
    body: undefined;
    answer: LanePageView;
  };
  /** The settings of a lane. Any name is a lane; one without settings is open. */
  "GET /v1/lanes/{lane}": {
    path: { lane: Name };
    query: { namespace?: Name };
    body: undefined;
    answer: LaneView;
  };
  /**
   * Pauses, drains, resumes or limits a lane, or gives it defaults. Once this is answered, the change
   * applies to every claim and submit.
   */
  "PATCH /v1/lanes/{lane}": {
    path: { lane: Name };
    query: { namespace?: Name };
    body: LaneRequest;
    answer: LaneView;
  };
  /** The quotas of a namespace, in the order of their names. */
  "GET /v1/quotas": {
    path: {};
    query: { namespace?: Name; cursor?: Name; limit?: number };
    body: undefined;
    answer: QuotaPageView;
  };
  /** Removes a quota. Executions that name it wait until it exists again. */
  "DELETE /v1/quotas/{name}": {
    path: { name: Name };
    query: { namespace?: Name };
    body: undefined;
    answer: undefined;
  };
  /** A quota and what it has admitted. */
  "GET /v1/quotas/{name}": {
    path: { name: Name };
    query: { namespace?: Name };
    body: undefined;
    answer: QuotaView;
  };
  /**
   * Creates a quota, or replaces its limits; recorded starts are kept, and executions that wait for it
   * are re-evaluated.
   */
  "PUT /v1/quotas/{name}": {
    path: { name: Name };
    query: { namespace?: Name };
    body: QuotaRequest;
    answer: QuotaView;
  };
  /**
   * Delivers a signal by token. The token is all the authorization that it takes, in the body or as
   * `Authorization: Bearer`; it is never in the URL.
   */
  "POST /v1/signals": {
    path: {};
    query: {};
    body: TokenSignalRequest;
    answer: SignalledView;
  };
  /**
   * What was cancelled, revoked or has expired since the last call while a worker held it, at once or when
   * something is. A worker that sends a heartbeat for these learns the rest; one that never calls this
   * learns it with its next heartbeat.
   */
  "GET /v1/stops": {
    path: {};
    query: { namespace?: Name; instance: Name; after?: string; wait_ms?: number };
    body: undefined;
    answer: StopsView;
  };
  /** Tokens in the order of their names, without their secrets. */
  "GET /v1/tokens": {
    path: {};
    query: { cursor?: Name; limit?: number };
    body: undefined;
    answer: NamedTokenPageView;
  };
  /** Makes a token, or gives one another secret. The answer is the only place where it is shown. */
  "POST /v1/tokens": {
    path: {};
    query: {};
    body: NamedTokenRequest;
    answer: CreatedTokenView;
  };
  /** Revokes a token, or one secret of it. Servers accept it for up to five seconds more. */
  "DELETE /v1/tokens/{name}": {
    path: { name: Name };
    query: { number?: number };
    body: undefined;
    answer: NamedTokenView;
  };
  /** The webhooks of a namespace, in the order of their names, without their secrets. */
  "GET /v1/webhooks": {
    path: {};
    query: { namespace?: Name };
    body: undefined;
    answer: WebhooksView;
  };
  /** Removes a webhook. What is on its way still arrives. */
  "DELETE /v1/webhooks/{name}": {
    path: { name: Name };
    query: { namespace?: Name };
    body: undefined;
    answer: undefined;
  };
  /** A webhook, how its deliveries go, and the latest events that were given up. */
  "GET /v1/webhooks/{name}": {
    path: { name: Name };
    query: { namespace?: Name };
    body: undefined;
    answer: WebhookView;
  };
  /**
   * Creates a webhook, which sends what happens from now on, or changes what one sends where. The same call
   * again changes nothing. A secret replaces the one before it, which signs too for a while.
   */
  "PUT /v1/webhooks/{name}": {
    path: { name: Name };
    query: { namespace?: Name };
    body: WebhookRequest;
    answer: WebhookView;
  };
  /**
   * Registered workers, in the order of their instance ids. One that was silent for too long is
   * listed until the engine has removed it; its `until` has passed.
   */
  "GET /v1/workers": {
    path: {};
    query: { namespace?: Name; cursor?: Name; limit?: number };
    body: undefined;
    answer: WorkerPageView;
  };
  /**
   * Claims work, waiting for some to appear. What was claimed for a client that disconnects is
   * handed back.
   */
  "POST /v1/workers/{id}/claim": {
    path: { id: Name };
    query: { namespace?: Name };
    body: ClaimRequest;
    answer: ClaimedView | undefined;
  };
  /** Takes reserved work. */
  "POST /v1/workers/{id}/claim-granted": {
    path: { id: Name };
    query: { namespace?: Name };
    body: ClaimGrantedRequest;
    answer: ClaimedView;
  };
  /** Completes several executions; each gets a separate answer. */
  "POST /v1/workers/{id}/complete": {
    path: { id: Name };
    query: { namespace?: Name };
    body: BatchComplete;
    answer: ExitAnswers;
  };
  /** Hands named leases back at once, without spending a retry; or ends a registration. */
  "POST /v1/workers/{id}/disconnect": {
    path: { id: Name };
    query: { namespace?: Name };
    body: Kept;
    answer: ExitAnswers | undefined;
  };
  /** Reserves work without starting its lease. */
  "POST /v1/workers/{id}/grant": {
    path: { id: Name };
    query: { namespace?: Name };
    body: GrantRequest;
    answer: GrantedView | undefined;
  };
  /**
   * Renews leases and reports cancels, with one answer each; or renews the registration of a
   * worker.
   */
  "POST /v1/workers/{id}/heartbeat": {
    path: { id: Name };
    query: { namespace?: Name };
    body: Kept;
    answer: BeatenView;
  };
  /**
   * Registers a worker, or changes its registration. Another live process with the same
   * instance id stays, and this one is refused.
   */
  "POST /v1/workers/{id}/register": {
    path: { id: Name };
    query: { namespace?: Name };
    body: RegisterRequest;
    answer: RegisteredView;
  };
}
