//! What the width of a field means, and where fields begin.

use crate::format::{Field, layout};

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A number of this many bytes.
    Number(usize),
    /// A signed number of this many bytes.
    Signed(usize),
    /// This many bytes.
    Bytes(usize),
    /// Bytes after their count, which has this many bytes.
    Counted(usize),
}

impl Kind {
    /// The kind that Lua's `struct` calls `width`.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn of(width: &str) -> Kind {
        let size = |text: &str| text.parse().unwrap_or_else(|_| panic!("{width} is no width"));
        match (width.strip_suffix("c0"), width.split_at_checked(1)) {
            (Some(count), _) => Kind::Counted(size(count.trim_start_matches('I'))),
            (_, Some(("B", ""))) => Kind::Number(1),
            (_, Some(("I", bytes))) => Kind::Number(size(bytes)),
            (_, Some(("i", bytes))) => Kind::Signed(size(bytes)),
            (_, Some(("c", bytes))) => Kind::Bytes(size(bytes)),
            _ => panic!("{width} is no width"),
        }
    }

    fn fixed(self) -> Option<usize> {
        match self {
            Kind::Number(bytes) | Kind::Signed(bytes) | Kind::Bytes(bytes) => Some(bytes),
            Kind::Counted(_) => None,
        }
    }
}

fn index(fields: &[Field], name: &str) -> usize {
    let found = fields.iter().position(|(other, _)| *other == name);
    found.unwrap_or_else(|| panic!("there is no field {name}"))
}

/// The fields from `first` to `last`.
pub(crate) fn stretch(fields: &[Field], first: &str, last: &str) -> Vec<Field> {
    fields[index(fields, first)..=index(fields, last)].to_vec()
}

/// Where `name` begins, counted from 0.
///
/// # Panics
/// If a field before it has no fixed width.
pub(crate) fn offset(fields: &[Field], name: &str) -> usize {
    let before = &fields[..index(fields, name)];
    let widths = before.iter().map(|(other, width)| {
        let fixed = Kind::of(width).fixed();
        fixed.unwrap_or_else(|| panic!("{name} has no fixed offset behind {other}"))
    });
    widths.sum()
}

/// Where the bytes from `first` to `last` begin and end, if the lease id that ends
/// them is present.
pub(crate) fn span(fields: &[Field], first: &str, last: &str) -> (usize, usize) {
    let (from, at) = (offset(fields, first), offset(fields, last));
    let len = match Kind::of(fields[index(fields, last)].1) {
        Kind::Counted(count) => count + whole("lease"),
        Kind::Number(bytes) | Kind::Signed(bytes) | Kind::Bytes(bytes) => bytes,
    };
    (from, at + len)
}

/// The lengths of a lease id, a fence and an exit, which other layouts have as plain bytes.
pub(crate) fn lengths() -> [(&'static str, usize); 3] {
    let fence = span(layout("head").fields, "epoch", "holder");
    [("lease", whole("lease")), ("fence", fence.1 - fence.0), ("exit", whole("exit"))]
}

/// How long a layout of fixed widths is.
fn whole(name: &str) -> usize {
    let fields = layout(name).fields;
    span(fields, fields[0].0, fields[fields.len() - 1].0).1
}

/// Checks that those layouts have these lengths.
///
/// # Panics
/// If one has another.
pub(crate) fn check() {
    let lengths = lengths();
    let places = [
        ("hold", "fence", "fence"),
        ("completion", "exited", "exit"),
        ("exit", "lease", "lease"),
        ("attempt", "lease", "lease"),
        ("admitted", "name", "lease"),
    ];
    for (of, field, what) in places {
        let fields = layout(of).fields;
        let width = fields[index(fields, field)].1;
        let length = lengths.iter().find(|(name, _)| *name == what).map(|(_, length)| *length);
        let right = length.is_some_and(|length| Kind::of(width) == Kind::Bytes(length));
        assert!(right, "{field} of {of} is {width}, and a {what} has {length:?} bytes");
    }
}
