//! Puts the fields of the stored format into Lua, in place of words that begin with `$`.
//!
//! A function that unpacks a record into locals makes no table, which is most of its time; so Lua
//! names all fields of a layout at once. Of a layout `x`, `$X` is its format, `$x` its names,
//! `$packed_x` its values as `struct.pack` takes them, and `$r_x` the same from a table `r`. `$table`
//! is the inside of such a table.

use std::collections::HashMap;

use crate::format::{Field, HEAD, LAYOUTS, STRETCHES, TAIL, layout};
use crate::widths::{self, Kind};

/// `lua` with the fields in place of their words.
///
/// # Panics
/// If a word is unknown.
pub(crate) fn expand(lua: &str) -> String {
    let words = words();
    let mut pieces = lua.split('$');
    let mut expanded = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !c.is_ascii_alphabetic() && c != '_');
        let (word, rest) = piece.split_at(end.unwrap_or(piece.len()));
        if word.is_empty() {
            // The end of a pattern.
            expanded += "$";
            expanded += rest;
            continue;
        }
        let text = words.get(word).unwrap_or_else(|| panic!("${word} is unknown"));
        expanded += text;
        expanded += rest;
    }
    expanded
}

fn words() -> HashMap<String, String> {
    let mut words = HashMap::new();
    let whole = [&HEAD, &TAIL].into_iter().chain(LAYOUTS);
    let whole = whole.map(|layout| (layout.name, layout.fields.to_vec()));
    let stretches = STRETCHES
        .iter()
        .map(|(name, of, first, last)| (*name, widths::stretch(layout(of).fields, first, last)));
    for (name, fields) in whole.chain(stretches) {
        let join = |word: &dyn Fn(&Field) -> String| {
            fields.iter().map(word).collect::<Vec<_>>().join(", ")
        };
        words.insert(name.to_uppercase(), fields.iter().map(|(_, width)| *width).collect());
        words.insert(name.to_owned(), join(&|(field, _)| (*field).to_owned()));
        words.insert(format!("packed_{name}"), join(&|field| packed("", field)));
        words.insert(format!("r_{name}"), join(&|field| packed("r.", field)));
    }
    let all = [HEAD.fields, TAIL.fields].concat();
    let pairs: Vec<_> = all.iter().map(|(name, _)| format!("{name} = {name}")).collect();
    words.insert("table".into(), pairs.join(", "));
    words
}

/// A value as `struct.pack` takes it: counted bytes follow their count.
fn packed(of: &str, (name, width): &Field) -> String {
    match Kind::of(width) {
        Kind::Counted(_) => format!("#{of}{name}, {of}{name}"),
        Kind::Number(_) | Kind::Signed(_) | Kind::Bytes(_) => format!("{of}{name}"),
    }
}
