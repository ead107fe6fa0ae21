//! Finds the facts: every `pub(crate) async fn` of a file in `src/facts`.
//!
//! Writes the list that the exam is made from: a registry of the facts, and a macro with one test for
//! each fact of a file. A listed function that is no fact does not compile; a fact that is not
//! listed is dead code, which is an error.

use std::path::Path;
use std::{env, fs, io};

/// The beginning of the line of a fact.
const FACT: &str = "pub(crate) async fn ";

/// The facts of one file.
struct Part {
    name: String,
    facts: Vec<String>,
}

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/facts");
    let parts = parts(Path::new("src/facts"))?;
    let written = registry(&parts) + &macros(&parts);
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    fs::write(Path::new(&out).join("facts.rs"), written)
}

/// The files of facts, in the order of their names.
fn parts(folder: &Path) -> io::Result<Vec<Part>> {
    let mut parts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path)?;
        let names = text.lines().filter_map(|line| line.strip_prefix(FACT)?.split('(').next());
        let facts: Vec<_> = names.map(str::to_owned).collect();
        if !facts.is_empty() {
            parts.push(Part { name, facts });
        }
    }
    parts.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(parts)
}

/// The facts by name.
fn registry(parts: &[Part]) -> String {
    let mut text = String::from("const FACTS: &[Fact] = &[\n");
    for Part { name, facts } in parts {
        for fact in facts {
            let run = format!("|fixture| Box::pin(facts::{name}::{fact}(fixture))");
            text += &format!("    Fact {{ name: \"{name}::{fact}\", run: {run} }},\n");
        }
    }
    text + "];\n"
}

/// One test for each fact, in a module that has a `subject`.
fn macros(parts: &[Part]) -> String {
    let mut text = String::from("#[doc(hidden)]\n#[macro_export]\nmacro_rules! tests_of {\n");
    for Part { name, facts } in parts {
        text += &format!("    ({name}) => {{ mod {name} {{\n");
        for fact in facts {
            let sit = format!("$crate::sit(\"{name}::{fact}\", super::subject)");
            text += &format!("        #[test] fn {fact}() {{ {sit} }}\n");
        }
        text += "    } };\n";
    }
    text += "    (of_every_store) => {\n";
    for Part { name, .. } in parts.iter().filter(|part| part.name != OWN_CLOCK) {
        text += &format!("        $crate::tests_of!({name});\n");
    }
    text + "    };\n}\n"
}

/// The facts about stores that have their own clock, which may be set while they run. A store on
/// a server has the server's.
const OWN_CLOCK: &str = "own_clock";
