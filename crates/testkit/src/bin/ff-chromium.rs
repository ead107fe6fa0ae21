//! The tests' browser from a shell: makes sure that it is installed, and prints where.

#![allow(clippy::print_stdout, reason = "what it prints is its result")]

use std::process::ExitCode;

use ff_testkit::chromium;

fn main() -> ExitCode {
    match chromium::find_or_install() {
        Ok(path) => {
            println!("{}", path.display());
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("ff-chromium: {why}");
            ExitCode::FAILURE
        }
    }
}
