//! The first program of the README is this one, and it runs.
#![allow(clippy::print_stdout, reason = "the program prints its result")]

include!("readme_program.rs");

#[test]
fn the_first_program_of_the_readme_runs() {
    // Nothing else in this binary uses a relative path.
    let folder = tempfile::tempdir().unwrap();
    std::env::set_current_dir(&folder).unwrap();
    main().unwrap();
    assert!(folder.path().join("work.ff").exists());
}

#[test]
fn the_first_program_of_the_readme_is_short() {
    let program = include_str!("readme_program.rs");
    let readme = include_str!("../../../../README.md");
    let first = readme.split("```rust").nth(1).unwrap().split_once('\n').unwrap().1;
    assert_eq!(first.split("```").next(), Some(program));
    assert!(program.lines().filter(|line| !line.is_empty()).count() <= 12);
}
