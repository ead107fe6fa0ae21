//! The page of every code.

use ff_core::Code;
use ff_store::Failure;

use super::{code, heading, table};
use crate::error::Error;
use crate::exit::Exit;

pub(crate) fn page() -> String {
    let mut page = heading("Errors", "errors");
    page.push_str(
        "An error has a stable code, a message for people, the field at fault when one is, and \
         whether the same call may succeed later. `ff` prints `error: MESSAGE (CODE)` on stderr, or \
         with `--json` an object with `code`, `message`, `field` and `retryable`, and ends with the \
         exit code of the table below.\n\nOver HTTP an error is `application/problem+json` with the \
         same code and field, and `GET /errors/CODE` gives the text of this page. A retryable \
         error carries `Retry-After`.\n\n## Exit codes\n\n",
    );
    page.push_str(&table(
        ["exit code", "meaning"],
        Exit::ALL.map(|(exit, meaning)| [code(exit.code()), meaning.to_owned()]),
    ));
    page.push_str("\n## Failures at a glance\n\n");
    page.push_str(
        "A refusal has exit code 1; its HTTP status is 400 (`invalid_argument`), 404 (`not_found`), \
         413 (`too_large`), 401 (`invalid_token`) or 409.\n\n",
    );
    let failures = Failure::ALL.iter().map(|failure| {
        [
            code(failure),
            ff_server::status_of_failure(*failure).as_u16().to_string(),
            code(Exit::after(*failure).code()),
            if failure.is_retryable() { "yes" } else { "no" }.to_owned(),
        ]
    });
    page.push_str(&table(["failure", "HTTP status", "exit code", "worth another try"], failures));
    let refusals = Code::ALL.iter().map(|known| (known.as_str(), known.help()));
    section(&mut page, "Refusals", "The command was understood and changed nothing.", refusals);
    let http = || ff_server::HTTP_CODES.iter().map(|(code, _, help)| (*code, *help));
    let failures = Failure::ALL.iter().map(|failure| (failure.code(), failure.help()));
    let failures = failures.filter(|(code, _)| http().all(|(known, _)| known != *code));
    section(&mut page, "Failures", "The command was not decided.", failures);
    section(&mut page, "Refusals of HTTP", "The request did not reach a command.", http());
    let own = Error::CODES.iter().copied();
    section(&mut page, "Failures of `ff`", "The program itself failed.", own);
    page
}

fn section<'a>(
    page: &mut String,
    title: &str,
    intro: &str,
    codes: impl Iterator<Item = (&'a str, &'a str)>,
) {
    page.push_str(&format!("\n## {title}\n\n{intro}\n"));
    for (code, help) in codes {
        page.push_str(&format!("\n### {code}\n\n{help}\n"));
    }
}
