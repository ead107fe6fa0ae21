//! Errors of clap, reworded where the value of a flag is at fault.

use std::error::Error as _;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use ff_api::ErrorView;
use ff_core::{Code, Refusal};

use crate::address;
use crate::exit::Exit;
use crate::output::Output;
use crate::output::style::Style;

/// Prints help, a version or an error, and gives the exit code.
pub(crate) fn report(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // The one stream to report a failure on has just failed.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // A bare `ff`, or a bare `ff lane`: a request for help, not an error.
        let help = error.render();
        let help = match Style::of_stdout().is_coloured() {
            true => help.ansi().to_string(),
            false => help.to_string(),
        };
        // As above.
        let _ = Output::new(false).bytes(help.as_bytes());
        return ExitCode::SUCCESS;
    }
    let json = std::env::args_os().any(|arg| arg == "--json");
    let wrong_value = error.kind() == ErrorKind::ValueValidation;
    if json || wrong_value {
        Output::new(json).error(&view(error));
    } else {
        let plain = error.to_string();
        match without_passwords(plain.clone()) {
            text if text == plain => drop(error.print()),
            text => Output::new(false).talk(text.trim_end()),
        }
    }
    Exit::Usage.into()
}

fn view(error: &clap::Error) -> ErrorView {
    let field = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(arg)) => Some(flag(arg)),
        Some(ContextValue::Strings(args)) => args.first().map(|arg| flag(arg)),
        _ => None,
    };
    let refusal = error.source().and_then(|source| source.downcast_ref::<Refusal>());
    let code = refusal.map_or(Code::InvalidArgument, Refusal::code);
    let message = match (&field, error.source()) {
        (Some(field), Some(source)) => about(field, &source.to_string()),
        _ => first_paragraph(error),
    };
    let message = without_passwords(message);
    ErrorView { code: code.to_string(), message, field, retryable: false }
}

/// `text` without the passwords it repeats from the command line.
fn without_passwords(text: String) -> String {
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    address::hidden(text, arguments)
}

/// `--lane` of `--lane <LANE>`, `ID` of `<ID>`.
fn flag(arg: &str) -> String {
    let name = arg.split_whitespace().next().unwrap_or(arg);
    name.trim_matches(['<', '>', '[', ']', '.']).to_owned()
}

/// `why`, naming the flag as it was typed: a refusal begins with the name of the field.
fn about(field: &str, why: &str) -> String {
    let name = field.trim_start_matches('-').replace('-', "_").to_lowercase();
    match why.strip_prefix(&name).filter(|rest| rest.starts_with(' ')) {
        Some(rest) => format!("{field}{rest}"),
        None => format!("{field}: {why}"),
    }
}

fn first_paragraph(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraph = text.split("\n\n").next().unwrap_or(&text);
    let words: Vec<_> = paragraph.split_whitespace().collect();
    let line = words.join(" ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    fn view_of(args: &[&str]) -> ErrorView {
        view(&Cli::try_parse_from(args).unwrap_err())
    }

    #[test]
    fn a_wrong_value_names_its_flag_and_keeps_the_code_of_the_refusal() {
        let long = "x".repeat(65);
        let view = view_of(&["ff", "submit", "--lane", &long]);
        assert_eq!((view.code.as_str(), view.field.as_deref()), ("too_large", Some("--lane")));
        assert_eq!(view.message, "--lane has 65 bytes; at most 64 are taken");
        let view = view_of(&["ff", "show", "nonsense"]);
        assert_eq!((view.code.as_str(), view.field.as_deref()), ("invalid_argument", Some("ID")));
        assert!(view.message.starts_with("ID is not an execution id"), "{}", view.message);
        let view = view_of(&["ff", "ls", "--from", "x"]);
        assert!(view.message.starts_with("--from: time is not"), "{}", view.message);
    }

    #[test]
    fn other_mistakes_take_one_line() {
        let view = view_of(&["ff", "worker", "--lane", "a"]);
        assert!(view.message.contains("--exec"), "{}", view.message);
        assert!(!view.message.contains('\n'));
    }
}
