//! The tools: what each does, which role may use it, and what it takes.

use ff_core::PublicState;
use ff_core::credential::Role;
use ff_core::suspension::SuspendReason;
use serde_json::{Value, json};

/// Most entries of one page.
pub(super) const MOST: usize = 100;
/// The longest that a call waits for something to happen.
pub(super) const LONGEST_WAIT_MS: u64 = 10_000;

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    List,
    Explain,
    Show,
    Tail,
    Submit,
    Cancel,
    Replay,
    Approve,
}

const ALL: &[Tool] = &[
    Tool::List,
    Tool::Explain,
    Tool::Show,
    Tool::Tail,
    Tool::Submit,
    Tool::Cancel,
    Tool::Replay,
    Tool::Approve,
];

/// The tools of a role, as a client lists them.
pub(super) fn offered(role: Role) -> Vec<Value> {
    ALL.iter().filter(|tool| tool.is_for(role)).map(|tool| tool.view()).collect()
}

/// The tool of this name, if the role may use it.
pub(super) fn find(name: &str, role: Role) -> Option<Tool> {
    ALL.iter().copied().find(|tool| tool.name() == name && tool.is_for(role))
}

impl Tool {
    pub(super) fn name(self) -> &'static str {
        match self {
            Tool::List => "list",
            Tool::Explain => "explain",
            Tool::Show => "show",
            Tool::Tail => "tail",
            Tool::Submit => "submit",
            Tool::Cancel => "cancel",
            Tool::Replay => "replay",
            Tool::Approve => "approve",
        }
    }

    /// The role whose token is enough.
    fn role(self) -> Role {
        match self {
            Tool::List | Tool::Explain | Tool::Show | Tool::Tail => Role::Reader,
            Tool::Submit | Tool::Cancel | Tool::Replay => Role::Producer,
            Tool::Approve => Role::Approver,
        }
    }

    fn is_for(self, role: Role) -> bool {
        role == Role::Operator || self.role() == Role::Reader || self.role() == role
    }

    fn description(self) -> &'static str {
        match self {
            Tool::List => {
                "List executions, newest first, by state, lane, kind, tags, or what they wait for."
            }
            Tool::Explain => {
                "Say why an execution is in its state: what it waits for, what keeps it from running, or how it ended."
            }
            Tool::Show => {
                "Show everything known about an execution: state, attempts, lease, failure, limits, policy."
            }
            Tool::Tail => {
                "Read what an execution streams, from a frame on. Continue with `next` until `end` is not null."
            }
            Tool::Submit => {
                "Submit work. Give an idempotency_key: the same key with the same work is the same execution, however \
                 often it is submitted."
            }
            Tool::Cancel => {
                "Cancel an execution: at once, or with a grace period in which its worker may finish."
            }
            Tool::Replay => {
                "Run an execution again after its end. Steps with a result are not repeated unless the journal is dropped."
            }
            Tool::Approve => {
                "Approve or reject what a suspended execution asks, in the name of the person who runs this. Only if that \
                 person has said so."
            }
        }
    }

    /// The arguments: their schemas, and the names of those that must be given.
    fn arguments(self) -> (Value, Vec<&'static str>) {
        let id = json!({"type": "string", "description": "The execution: its id, or its first 8 characters or more."});
        let name = |about: &str| json!({"type": "string", "maxLength": 64, "description": about});
        let text = |about: &str| json!({"type": "string", "description": about});
        let number = |least: u64, most: u64, about: &str| json!({"type": "integer", "minimum": least, "maximum": most, "description": about});
        let tags = json!({
            "type": "object", "additionalProperties": {"type": "string"}, "description": "Labels, by their keys.",
        });
        let words = |words: Vec<&str>| json!({"type": "string", "enum": words});
        match self {
            Tool::List => {
                let states = words(PublicState::ALL.iter().map(|state| state.as_str()).collect());
                let mut reason = words(SuspendReason::ALL.iter().map(|it| it.as_str()).collect());
                reason["description"] = "What suspended executions wait for.".into();
                let states = json!({"type": "array", "items": states, "description": "In one of these states."});
                let limit = number(1, MOST as u64, "How many at most; 20 by default.");
                let cursor = text("Where an earlier page ended: its `next`.");
                let (lane, kind) = (name("In this lane."), name("Of this kind."));
                let arguments = json!({
                    "state": states, "reason": reason, "lane": lane, "kind": kind, "tags": tags,
                    "limit": limit, "cursor": cursor,
                });
                (arguments, vec![])
            }
            Tool::Explain | Tool::Show => (json!({"id": id}), vec!["id"]),
            Tool::Tail => {
                let from =
                    number(0, u64::from(u32::MAX), "The number of the first frame; 0 by default.");
                let limit = number(1, MOST as u64, "How many frames at most; 100 by default.");
                let wait_ms =
                    number(0, LONGEST_WAIT_MS, "How long to wait for more; 0 by default.");
                (json!({"id": id, "from": from, "limit": limit, "wait_ms": wait_ms}), vec!["id"])
            }
            Tool::Submit => {
                let requires = json!({
                    "type": "array", "items": {"type": "string"}, "description": "What a worker must offer.",
                });
                let policy = json!({
                    "type": "object",
                    "description": "Retries and times, such as max_attempts, attempt_timeout_ms, deadline_ms.",
                });
                let priority = json!({
                    "type": "integer", "minimum": -9000, "maximum": 9000, "description": "Higher goes first.",
                });
                let arguments = json!({
                    "kind": name("The kind of work, which selects its handler."),
                    "lane": name("Its queue; `default` by default."),
                    "input": {"description": "Any JSON value: what its handler gets."},
                    "idempotency_key": text("The caller's own name for this work."),
                    "priority": priority,
                    "delay_ms": number(0, 315_360_000_000, "Not before this long from now."),
                    "tags": tags, "requires": requires, "policy": policy,
                });
                (arguments, vec!["kind"])
            }
            Tool::Cancel => {
                let grace_ms = number(1, 86_400_000, "How long its worker may still finish.");
                (
                    json!({"id": id, "grace_ms": grace_ms, "reason": text("Why, for people.")}),
                    vec!["id"],
                )
            }
            Tool::Replay => {
                let run = number(
                    0,
                    u64::from(u32::MAX),
                    "The run that has ended; the present one by default.",
                );
                let mut journal = words(vec!["keep", "drop"]);
                journal["description"] =
                    "What the new attempts find of its journal; `keep` by default.".into();
                let up_to = text("Keep the journal up to this step, with it.");
                (json!({"id": id, "run": run, "journal": journal, "up_to": up_to}), vec!["id"])
            }
            Tool::Approve => {
                let decision = words(vec!["approve", "reject"]);
                let waitpoint = name("Where it asks; needed only if it waits at several.");
                let comment = text("What to tell the execution with the decision.");
                let arguments = json!({
                    "id": id, "decision": decision, "waitpoint": waitpoint, "comment": comment,
                });
                (arguments, vec!["id", "decision"])
            }
        }
    }

    fn view(self) -> Value {
        let (properties, required) = self.arguments();
        let role = self.role();
        let reads = role == Role::Reader;
        let destroys = self == Tool::Cancel;
        json!({
            "name": self.name(),
            "description": format!("{} Needs the role {role}.", self.description()),
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
            "annotations": {"readOnlyHint": reads, "destructiveHint": destroys, "openWorldHint": false},
            "_meta": {"role": role.as_str()},
        })
    }
}
