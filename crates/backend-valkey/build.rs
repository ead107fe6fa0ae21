//! Bundles the Lua of the library: every module of `lua/lib` and then every function of `lua/fn`,
//! each in a block of its own, in the order of their names.
//!
//! The fields of a record are listed here once. Lua files name them all at once by words that begin
//! with `$`: a function that unpacks a record into locals makes no table, which is most of its time.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What functions read and change, by Lua's `struct` format. `c0` follows its length.
const HEAD: &[(&str, &str)] = &[
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
    ("result_at", "B"),
    ("input_at", "B"),
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
];

/// What only the making and the removal of a record, and the general way, look at.
const TAIL: &[(&str, &str)] = &[
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
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=lua");
    let mut bundle = String::new();
    let mut verbs = String::from("&[");
    for path in files("lua/lib")? {
        block(&mut bundle, &path)?;
    }
    for path in files("lua/fn")? {
        block(&mut bundle, &path)?;
        verbs += &format!("{:?}, ", name(&path));
    }
    verbs += "]";
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("library.lua"), expand(&bundle))?;
    fs::write(out.join("verbs.rs"), verbs)
}

/// Puts the fields in the place of the words that stand for them.
fn expand(lua: &str) -> String {
    let format = |fields: &[(&str, &str)]| fields.iter().map(|(_, format)| *format).collect();
    let join = |fields: &[(&str, &str)], word: &dyn Fn(&str, &str) -> String| {
        let words: Vec<_> = fields.iter().map(|(name, format)| word(name, format)).collect();
        words.join(", ")
    };
    let packed = |of: &'static str| {
        move |name: &str, format: &str| match format.ends_with("c0") {
            true => format!("#{of}{name}, {of}{name}"),
            false => format!("{of}{name}"),
        }
    };
    let pair = |name: &str, _: &str| format!("{name} = {name}");
    let plain = |name: &str, _: &str| name.to_owned();
    let words: [(&str, String); 9] = [
        ("$HEAD", format(HEAD)),
        ("$TAIL", format(TAIL)),
        ("$table", join(&[HEAD, TAIL].concat(), &pair)),
        ("$packed_head", join(HEAD, &packed(""))),
        ("$r_head", join(HEAD, &packed("r."))),
        ("$r_tail", join(TAIL, &packed("r."))),
        ("$packed_tail", join(TAIL, &packed(""))),
        ("$head", join(HEAD, &plain)),
        ("$tail", join(TAIL, &plain)),
    ];
    words.iter().fold(lua.to_owned(), |lua, (word, fields)| lua.replace(word, fields))
}

fn files(directory: &str) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "lua"));
    paths.sort();
    Ok(paths)
}

/// A file's locals are its own: Valkey refuses a library with more than 200 at the top.
fn block(bundle: &mut String, path: &Path) -> io::Result<()> {
    *bundle += &format!("do -- {}\n{}end\n", name(path), fs::read_to_string(path)?);
    Ok(())
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
