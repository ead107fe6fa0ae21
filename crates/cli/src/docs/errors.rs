//! The page of every code.

use ff_core::Code;
use ff_store::StoreError;

use super::heading;
use crate::error::Error;

pub(crate) fn page() -> String {
    let mut page = heading("Errors", "errors");
    page.push_str(
        "An error has a stable code, a message for people, the field at fault when one is, and \
         whether the same call may succeed later. `ff` prints `error: MESSAGE (CODE)` on stderr, or \
         with `--json` an object with `code`, `message`, `field` and `retryable`. Exit codes: 1 when \
         a command was refused or failed, 2 when the command line makes no sense.\n\nOver HTTP an error \
         is `application/problem+json` with the same code and field, and `GET /errors/CODE` says what \
         stands here.\n",
    );
    let refusals = Code::ALL.iter().map(|code| (code.as_str(), code.help()));
    section(&mut page, "Refusals", "The command was understood and changed nothing.", refusals);
    let failures = StoreError::CODES.iter().copied();
    section(&mut page, "Failures of a store", "The command got no decision.", failures);
    let http = ff_server::HTTP_CODES.iter().map(|(code, _, help)| (*code, *help));
    section(&mut page, "Refusals of HTTP", "The request did not reach a command.", http);
    let own = Error::CODES.iter().copied();
    section(&mut page, "Failures of `ff`", "The program itself could not go on.", own);
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
