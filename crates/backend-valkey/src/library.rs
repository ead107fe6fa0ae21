//! The Lua library of the store, named after its content.
//!
//! Every function is called `ff_<hash>_<verb>`, so that two releases serve concurrently during an
//! upgrade and no call ever runs another release's code.

use xxhash_rust::xxh3::xxh3_64;

use crate::options::Options;

const HEADER: &str = include_str!("../lua/header.lua");
const BUNDLE: &str = include_str!(concat!(env!("OUT_DIR"), "/library.lua"));

/// The functions of the library, by the names of their files.
const VERBS: &[&str] = include!(concat!(env!("OUT_DIR"), "/verbs.rs"));

/// A library, ready to be loaded.
#[derive(Debug)]
pub(crate) struct Library {
    name: String,
    source: String,
    /// Each verb and the full name of its function, sorted.
    functions: Vec<(&'static str, String)>,
}

impl Library {
    /// The library with `constants` before its modules, and the insertions of the options.
    ///
    /// # Panics
    /// When it lacks the Lua that the options replace.
    pub(crate) fn new(options: &Options, constants: &str) -> Library {
        let (mut constants, mut bundle) = (constants.to_owned(), BUNDLE.to_owned());
        for (old, new) in &options.alter {
            assert!(constants.contains(old) || bundle.contains(old), "the library has no {old}");
            constants = constants.replace(old, new);
            bundle = bundle.replace(old, new);
        }
        Library::of(&options.prelude, &constants, &bundle, VERBS)
    }

    /// A library of other Lua than the store's.
    pub(crate) fn of(
        prelude: &str,
        constants: &str,
        bundle: &str,
        verbs: &[&'static str],
    ) -> Library {
        let parts = [prelude, HEADER, constants, bundle];
        let hash = format!("{:016x}", xxh3_64(parts.join("\n").as_bytes()));
        let name = format!("ff_{}", &hash[..8]);
        let start =
            format!("#!lua name={name}\nlocal NAME = '{name}'\nlocal wrap_call, wrap_now\n");
        let source = start + &parts.join("\n");
        let mut functions: Vec<_> =
            verbs.iter().map(|verb| (*verb, format!("{name}_{verb}"))).collect();
        functions.sort_unstable();
        Library { name, source, functions }
    }

    /// The name under which the server knows it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The source that the server loads.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// The full name of the function of `verb`.
    pub(crate) fn function(&self, verb: &str) -> &str {
        match self.functions.binary_search_by_key(&verb, |(known, _)| known) {
            Ok(index) => &self.functions[index].1,
            Err(_) => panic!("the library has no function {verb}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(prelude: &str, constants: &str, bundle: &str) -> Library {
        Library::of(prelude, constants, bundle, &["submit", "claim"])
    }

    #[test]
    fn a_name_follows_from_the_whole_content() {
        let names = [
            library("", "", ""),
            library("local x", "", ""),
            library("", "local x", ""),
            library("", "", "local x"),
        ];
        for (index, library) in names.iter().enumerate() {
            let others = names.iter().filter(|other| other.name == library.name);
            assert_eq!(others.count(), 1, "{index}");
            assert_eq!(library.name.len(), "ff_01234567".len());
        }
        assert_eq!(library("", "a", "b").name, library("", "a", "b").name);
    }

    #[test]
    fn functions_are_named_after_the_library() {
        let library = library("", "", "");
        assert_eq!(library.function("claim"), format!("{}_claim", library.name()));
        assert_eq!(library.function("submit"), format!("{}_submit", library.name()));
    }

    #[test]
    fn the_library_says_its_name_first() {
        let library = library("-- prelude", "", "");
        let start = format!("#!lua name={name}\nlocal NAME = '{name}'\n", name = library.name());
        assert!(library.source().starts_with(&start));
        assert!(
            library.source().find("-- prelude") < library.source().find("local function raw_call")
        );
    }
}
