//! The little of `Cargo.toml` that a rule needs: the package's name and what it depends on.
//!
//! Reads the forms this workspace writes, line by line. Dev-dependencies are left out.

use super::source::Source;

pub(super) struct Manifest {
    pub(super) package: String,
    pub(super) dependencies: Vec<Dependency>,
}

/// A dependency by its package name, with the line that names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    pub(super) package: String,
    pub(super) line: usize,
}

/// The table that a line belongs to.
enum Table {
    Package,
    /// `[dependencies]`, `[build-dependencies]`, and both under `[target.*]`.
    Dependencies,
    /// `[dependencies.NAME]`: the table of one dependency.
    Dependency,
    Other,
}

impl Manifest {
    /// Nothing when the file is not the manifest of a package.
    pub(super) fn parse(source: &Source) -> Option<Self> {
        if source.path.rsplit('/').next() != Some("Cargo.toml") {
            return None;
        }
        let mut package = None;
        let mut dependencies: Vec<Dependency> = Vec::new();
        let mut table = Table::Other;
        for (line, text) in source.lines() {
            if let Some(header) = header(text) {
                let (kind, name) = classify(header);
                table = kind;
                dependencies.extend(name.map(|package| Dependency { package, line }));
                continue;
            }
            let Some((key, value)) = entry(text) else {
                continue;
            };
            match table {
                Table::Package if key == "name" => package = quoted(value),
                Table::Dependencies => {
                    let package = renamed(value).unwrap_or_else(|| first_segment(key));
                    dependencies.push(Dependency { package, line });
                }
                Table::Dependency if key == "package" => {
                    if let (Some(last), Some(real)) = (dependencies.last_mut(), quoted(value)) {
                        last.package = real;
                    }
                }
                _ => {}
            }
        }
        package.map(|package| Self { package, dependencies })
    }
}

/// The path inside `[...]`, with a comment after it allowed.
fn header(text: &str) -> Option<&str> {
    let (path, _) = text.trim().strip_prefix('[')?.rsplit_once(']')?;
    Some(path.trim())
}

/// The kind of table, and the dependency when the header itself names one.
fn classify(header: &str) -> (Table, Option<String>) {
    let is_dependencies = |path: &str| {
        let last = path.rsplit('.').next();
        matches!(last, Some("dependencies" | "build-dependencies"))
    };
    match header.rsplit_once('.') {
        _ if header == "package" => (Table::Package, None),
        _ if is_dependencies(header) => (Table::Dependencies, None),
        Some((parent, name)) if is_dependencies(parent) => (Table::Dependency, Some(unquote(name))),
        _ => (Table::Other, None),
    }
}

/// `key = value`, unless the line is a comment.
fn entry(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once('=')?;
    let key = key.trim();
    (!key.starts_with('#')).then_some((key, value.trim()))
}

/// The dependency that `NAME` or `NAME.workspace` names.
fn first_segment(key: &str) -> String {
    unquote(key.split('.').next().unwrap_or(key))
}

/// The real package of `{ package = "NAME", .. }`.
fn renamed(value: &str) -> Option<String> {
    let (_, rest) = value.split_once("package")?;
    quoted(rest.trim_start().strip_prefix('=')?)
}

/// The first quoted string in the text.
fn quoted(text: &str) -> Option<String> {
    text.split('"').nth(1).map(str::to_owned)
}

fn unquote(name: &str) -> String {
    name.trim().trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependencies(text: &str) -> Vec<(String, usize)> {
        let text = format!("[package]\nname = \"ff-x\"\n{text}");
        let manifest = Manifest::parse(&Source::new("crates/x/Cargo.toml", text)).unwrap();
        assert_eq!(manifest.package, "ff-x");
        let named = manifest.dependencies.into_iter();
        named.map(|found| (found.package, found.line)).collect()
    }

    #[test]
    fn every_form_of_dependency_is_read() {
        for form in [
            "[dependencies]\nff-core.workspace = true",
            "[dependencies] # why\nff-core = { workspace = true }",
            "[dependencies]\n\"ff-core\" = \"1\"",
            "[build-dependencies]\nff-core = { path = \"../core\" }",
            "[dependencies]\nheart = { package = \"ff-core\", path = \"../core\" }",
            "[target.'cfg(unix)'.dependencies]\nff-core.workspace = true",
        ] {
            assert_eq!(dependencies(form), [("ff-core".to_owned(), 4)], "{form}");
        }
    }

    #[test]
    fn a_dependency_with_its_own_table_is_read() {
        let plain = "[dependencies.ff-core]\nworkspace = true\n";
        assert_eq!(dependencies(plain), [("ff-core".to_owned(), 3)]);
        let renamed = "[dependencies.heart]\npackage = \"ff-core\"\n";
        assert_eq!(dependencies(renamed), [("ff-core".to_owned(), 3)]);
    }

    #[test]
    fn comments_other_tables_and_dev_dependencies_are_not_dependencies() {
        for form in [
            "[dependencies]\n# ff-core = \"1\"",
            "[features]\nff-core = []",
            "[dev-dependencies]\nff-core.workspace = true",
            "[dev-dependencies.ff-core]\nworkspace = true",
        ] {
            assert_eq!(dependencies(form), [], "{form}");
        }
    }

    #[test]
    fn a_file_that_describes_no_package_is_not_a_manifest() {
        let workspace = Source::new("Cargo.toml", "[workspace]\nmembers = []\n");
        assert!(Manifest::parse(&workspace).is_none());
        let other = Source::new("clippy.toml", "[package]\nname = \"x\"\n");
        assert!(Manifest::parse(&other).is_none());
    }
}
