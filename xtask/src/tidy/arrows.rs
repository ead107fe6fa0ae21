//! Arrows between crates point down only: `core <- store <- backends`, and one crate opens
//! concrete backends for all other crates. Dev-dependencies are free.

use super::{Finding, manifest::Manifest, source::Source};

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let Some(manifest) = Manifest::parse(source) else {
        return Vec::new();
    };
    let package = &manifest.package;
    manifest
        .dependencies
        .iter()
        .filter_map(|dependency| {
            let why = refusal(package, &dependency.package)?;
            let message = format!("{package} depends on {}: {why}", dependency.package);
            Some(Finding::new(dependency.line, message))
        })
        .collect()
}

/// Why the package may not depend on the other; nothing when it may.
fn refusal(package: &str, on: &str) -> Option<&'static str> {
    if !on.starts_with("ff-") {
        return None;
    }
    match package {
        "ff-core" => Some("the core stands alone"),
        "ff-store" if on != "ff-core" => Some("the store sees only ff-core"),
        "ff-backends" => None,
        "ff-conformance" | "ff-testkit" | "ff-bench" if on == "ff-backend-memory" => None,
        _ if is_backend(package) && !matches!(on, "ff-core" | "ff-store") => {
            Some("a backend sees only ff-core and ff-store")
        }
        _ if is_backend(on) => Some("only ff-backends names a concrete backend; open it by URL"),
        _ => None,
    }
}

fn is_backend(package: &str) -> bool {
    package.starts_with("ff-backend-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_arrow_is_caught_at_its_line() {
        let text = "[package]\nname = \"ff-core\"\n\n[dependencies]\nff-store.workspace = true\n";
        let expected = Finding::new(5, "ff-core depends on ff-store: the core stands alone");
        assert_eq!(check(&Source::new("crates/core/Cargo.toml", text)), [expected]);
    }

    #[test]
    fn arrows_that_point_up_or_across_are_refused() {
        for (package, on) in [
            ("ff-core", "ff-store"),
            ("ff-store", "ff-engine"),
            ("ff-store", "ff-backend-memory"),
            ("ff-backend-sqlite", "ff-backend-memory"),
            ("ff-backend-sqlite", "ff-engine"),
            ("ff-engine", "ff-backend-sqlite"),
            ("ff-cli", "ff-backend-memory"),
            ("ff-bench", "ff-backend-sqlite"),
            ("xtask", "ff-backend-sqlite"),
        ] {
            assert!(refusal(package, on).is_some(), "{package} -> {on}");
        }
    }

    #[test]
    fn arrows_that_point_down_are_allowed() {
        for (package, on) in [
            ("ff-core", "serde"),
            ("ff-store", "ff-core"),
            ("ff-backend-sqlite", "ff-store"),
            ("ff-backends", "ff-backend-sqlite"),
            ("ff-conformance", "ff-backend-memory"),
            ("ff-testkit", "ff-backend-memory"),
            ("ff-bench", "ff-backend-memory"),
            ("ff-cli", "ff-backends"),
            ("ff-engine", "ff-store"),
        ] {
            assert!(refusal(package, on).is_none(), "{package} -> {on}");
        }
    }

    #[test]
    fn dev_dependencies_are_free() {
        let text = "[package]\nname = \"ff-core\"\n[dev-dependencies]\nff-testkit = \"1\"\n";
        assert_eq!(check(&Source::new("crates/core/Cargo.toml", text)), []);
    }
}
