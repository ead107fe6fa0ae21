//! Bundles the Lua of the library: every module of `lua/lib` and then every function of `lua/fn`,
//! each in a separate block, in the order of their names; and writes the stored format, which
//! `build/format.rs` lists, into that Lua and as Rust.

#[path = "build/format.rs"]
mod format;
#[path = "build/lua.rs"]
mod lua;
#[path = "build/rust.rs"]
mod rust;
#[path = "build/widths.rs"]
mod widths;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=lua");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=build.rs");
    widths::check();
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
    fs::write(out.join("library.lua"), lua::expand(&bundle))?;
    fs::write(out.join("format.rs"), rust::source())?;
    fs::write(out.join("verbs.rs"), verbs)
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
