//! The stored format, written once: the order and width of every field, and the numbers of states
//! and flags. Rust and Lua are generated from it.
//!
//! A field is added by one line here. Rust then does not compile until the codec gives it a value, and
//! Lua that names its neighbours by `$head` names it too. What is stored in another order or width has
//! another number: `FORMAT` in `src/codec`.

/// A field's name and its width, in the words of Lua's `struct`: `B` and `I` are numbers, `i` signed
/// ones, `c` plain bytes, and `c0` bytes behind their count.
pub(crate) type Field = (&'static str, &'static str);

/// A sequence of fields, by the name under which Lua and Rust know it.
pub(crate) struct Layout {
    pub(crate) name: &'static str,
    /// What it is, for the documentation of the Rust structure.
    pub(crate) is: &'static str,
    pub(crate) fields: &'static [Field],
}

/// The part of a record that functions read and change.
pub(crate) const HEAD: Layout = Layout {
    name: "head",
    is: "The part of a record that functions read and change.",
    fields: &[
        ("format", "B"),
        ("state", "B"),
        ("why", "B"),
        ("attention", "B"),
        ("counter", "I4"),
        ("salt", "c4"),
        ("timer", "I6"),
        ("score", "i8"),
        ("until_at", "I6"),
        ("timeout_at", "I6"),
        ("cancel_by", "I6"),
        ("deadline", "I6"),
        ("queued_at", "I6"),
        ("run", "I4"),
        ("lease_ttl", "I6"),
        ("attempt_timeout", "I6"),
        ("retention", "I6"),
        ("limits", "B"),
        ("result_place", "B"),
        ("input_place", "B"),
        ("input_len", "I4"),
        ("epoch", "I6"),
        ("attempts", "I4"),
        ("holder", "I1c0"),
        ("exit", "I1c0"),
        ("attempt", "I2c0"),
        ("detail", "I2c0"),
        ("result", "I2c0"),
        ("ns", "I1c0"),
        ("blocked", "I1c0"),
        ("admission", "I1c0"),
        ("counts", "I1c0"),
        ("member", "I1c0"),
    ],
};

/// The part that is read only when a record is created or removed, and by the slow path. MessagePack
/// follows it, which no function reads.
pub(crate) const TAIL: Layout = Layout {
    name: "tail",
    is: "The part of a record that is read when it is created or removed, and by the slow path.",
    fields: &[
        ("priority", "i2"),
        ("created", "I6"),
        ("started", "I6"),
        ("failures", "I4"),
        ("reclaims", "I4"),
        ("digest", "c8"),
        ("lane", "I1c0"),
        ("class", "I1c0"),
        ("requires", "I2c0"),
        ("key", "I2c0"),
        ("input", "I2c0"),
    ],
};

/// Fields in a row that functions read or write by themselves: a name, the layout, the first and the
/// last of them.
pub(crate) const STRETCHES: &[(&str, &str, &str, &str)] = &[
    ("ranking", "head", "score", "deadline"),
    ("sizing", "head", "input_place", "input_len"),
    ("ending", "attempt", "ended", "reason"),
    ("fence", "head", "epoch", "holder"),
];

/// Fields whose offset Lua gets, as `C.<FIELD>_AT`, or `C.<LAYOUT>_<FIELD>_AT` unless it is of the
/// head.
pub(crate) const OFFSETS: &[(&str, &str)] = &[
    ("head", "state"),
    ("head", "score"),
    ("head", "limits"),
    ("head", "input_place"),
    ("attempt", "number"),
    ("resource", "gate"),
];

/// Consecutive fields that are compared as bytes: a name, the layout, the first and the last of
/// them. Lua gets their range, as `C.<NAME>_FROM` and `C.<NAME>_TO`, as it is in a record that has
/// a holder.
pub(crate) const SPANS: &[(&str, &str, &str, &str)] = &[
    ("version", "head", "counter", "salt"),
    ("fence", "head", "epoch", "holder"),
    ("resource_version", "resource", "version", "version"),
    ("request", "lease", "request", "request"),
];

/// What else is stored, and what functions are given packed.
pub(crate) const LAYOUTS: &[Layout] = &[
    Layout {
        name: "lease",
        is: "The id of a lease or of an admission.",
        fields: &[("request", "c16"), ("index", "I2")],
    },
    Layout {
        name: "attempt",
        is: "An attempt, in its record or next to it. Its failure follows as MessagePack.",
        fields: &[
            ("ended", "I6"),
            ("reason", "B"),
            ("number", "I4"),
            ("run", "I4"),
            ("started", "I6"),
            ("lease", "c18"),
            ("worker", "I1c0"),
            ("instance", "I1c0"),
            ("progress", "I2c0"),
        ],
    },
    Layout {
        name: "count",
        is: "How many elements a record has in a collection.",
        fields: &[("collection", "B"), ("count", "I6")],
    },
    Layout {
        name: "element",
        is: "What stands before the bytes of an element that is no attempt.",
        fields: &[("earlier", "I6"), ("name", "I2c0")],
    },
    Layout {
        name: "added",
        is: "An element that a write adds.",
        fields: &[("collection", "B"), ("number", "I6"), ("name", "I2c0"), ("bytes", "I4c0")],
    },
    Layout {
        name: "frame",
        is: "What stands before the bytes of a frame, as `ff_core::stream` has it.",
        fields: &[
            ("format", "B"),
            ("attempt", "I4"),
            ("offset", "I6"),
            ("keep_frames", "I4"),
            ("keep_bytes", "I4"),
            ("kind", "I1c0"),
        ],
    },
    Layout {
        name: "append",
        is: "Where an append that was decided goes, and what is removed then.",
        fields: &[("following", "I6"), ("below", "I6"), ("before", "I6")],
    },
    Layout {
        name: "appending",
        is: "Where frames go, after the hold of their sender.",
        fields: &[("at_end", "B"), ("first", "I6")],
    },
    Layout {
        name: "sent",
        is: "A frame that a holder sends.",
        fields: &[("kind", "I1c0"), ("bytes", "I4c0")],
    },
    Layout {
        name: "delta",
        is: "What a write adds to a counter.",
        fields: &[("counter", "B"), ("by", "i8")],
    },
    Layout {
        name: "member",
        is: "What functions read of an execution in a flow, or with members: whether its members run, then \
             its flow, its number there, and what it needs.",
        fields: &[
            ("members", "B"),
            ("flow", "c22"),
            ("node", "I4"),
            ("needs", "i4"),
            ("spare", "i4"),
            ("counted", "I4"),
            ("flags", "B"),
        ],
    },
    Layout {
        name: "exit",
        is: "How the last lease of an execution was ended.",
        fields: &[("lease", "c18"), ("digest", "c8"), ("answer", "B"), ("at", "I6")],
    },
    Layout {
        name: "resource",
        is: "What functions read of a resource. All of it follows as MessagePack.",
        fields: &[("version", "c8"), ("gate", "B"), ("timer", "I6")],
    },
    Layout {
        name: "hold",
        is: "The hold that a caller of `complete` or `renew` claims to have.",
        fields: &[("id", "c22"), ("namespace", "I1c0"), ("fence", "c29"), ("new_salt", "c4")],
    },
    Layout {
        name: "completion",
        is: "How a holder completes, after its hold.",
        fields: &[("exited", "c33"), ("place", "B"), ("said", "I2c0")],
    },
    Layout {
        name: "claim",
        is: "The arguments of `claim`.",
        fields: &[
            ("request", "c16"),
            ("first", "I2"),
            ("max", "I2"),
            ("new_salt", "c4"),
            ("bound", "i8"),
            ("passes", "B"),
            ("worker", "I1c0"),
            ("instance", "I1c0"),
        ],
    },
    Layout {
        name: "admitted",
        is: "An execution that was admitted for a claim, at one version of its record.",
        fields: &[
            ("id", "c22"),
            ("name", "c18"),
            ("usable_until", "I6"),
            ("counter", "I4"),
            ("salt", "c4"),
        ],
    },
    Layout {
        name: "event",
        is: "An event; the kind and the tags of its execution follow as MessagePack.",
        fields: &[
            ("what", "B"),
            ("value", "I6"),
            ("at", "I6"),
            ("id", "c22"),
            ("counter", "I4"),
            ("salt", "c4"),
            ("run", "I4"),
            ("attempts", "I4"),
            ("lane", "I1c0"),
        ],
    },
    Layout {
        name: "submission",
        is: "A new execution; its record follows.",
        fields: &[("id", "c22"), ("fixed", "B")],
    },
    Layout {
        name: "release",
        is: "A blocked execution, and the limit that has capacity for it.",
        fields: &[("id", "c22"), ("new_salt", "c4"), ("on", "I1c0")],
    },
];

/// The numbers of states and flags, by subject. Lua knows them as `C.<OF>_<NAME>`.
pub(crate) const CODES: &[(&str, &[(&str, u64)])] = &[
    (
        "state",
        &[
            ("QUEUED", 0),
            ("DELAYED", 1),
            ("GRANTED", 2),
            ("ACTIVE", 3),
            ("FINISHED", 4),
            ("BLOCKED", 5),
            ("SUSPENDED", 6),
            ("AWAITING", 7),
        ],
    ),
    ("outcome", &[("SUCCESS", 0), ("FAILED", 1), ("CANCELLED", 2), ("EXPIRED", 3), ("SKIPPED", 4)]),
    (
        "exit",
        &[
            ("COMPLETED", 0),
            ("RETRYING", 1),
            ("FAILED", 2),
            ("DELAYED", 3),
            ("CANCELLED", 4),
            ("HANDED_BACK", 5),
            ("REVOKED", 6),
            ("SUSPENDED", 7),
        ],
    ),
    // The others are those of `Attention` in ff-core.
    ("attention", &[("NONE", 0)]),
    ("collection", &[("ATTEMPTS", 0), ("FRAMES", 6), ("SUMMARY", 7)]),
    // Where a payload is: nowhere, in the record, under a separate key.
    ("place", &[("NONE", 0), ("HERE", 1), ("OWN_KEY", 2)]),
    // Bits: the execution names budgets or quotas; they have admitted it; it is a member of a flow.
    ("limits", &[("NAMED", 1), ("ADMITTED", 2), ("MEMBER", 4)]),
    // Bits: nothing depends on a member; it cancels what it does not need; it may start only later.
    ("member", &[("SINK", 1), ("CANCELS", 2), ("LATER", 4)]),
    // Whether members of an execution may be claimed and released.
    ("members", &[("NONE", 0), ("RUN", 1), ("STOP", 2)]),
    // Bits: a lane refuses claims; refuses submits; its quota must admit what is claimed; it has
    // defaults for its submits.
    ("gate", &[("PAUSED", 1), ("DRAINING", 2), ("LIMITED", 4), ("DEFAULTS", 8)]),
    // Bits, in the place of the gate of a lane: events are logged.
    ("feed", &[("ON", 1)]),
];

/// The layout of this name.
///
/// # Panics
/// If there is none.
pub(crate) fn layout(name: &str) -> &'static Layout {
    let mut all = [&HEAD, &TAIL].into_iter().chain(LAYOUTS);
    all.find(|layout| layout.name == name).unwrap_or_else(|| panic!("there is no layout {name}"))
}
