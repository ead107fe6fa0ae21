//! The page of every bound.

use ff_backends::VALKEY_BOUNDS;
use ff_core::Millis;
use ff_core::bounds::ALL;
use ff_store::BOUNDS as PROCESS_BOUNDS;

use super::{heading, table};

pub(crate) fn page() -> String {
    let mut page = heading("Limits", "limits");
    page.push_str(
        "Every input has a bound. One past it is refused with the code `too_large`, \
         `invalid_argument` or `limit_reached` and the name of the field; nothing is cut short \
         silently.\n\n",
    );
    let rows = ALL.iter().map(|limit| {
        let bound = match limit.unit {
            "ms" => Millis::new(limit.most).to_string(),
            "" => limit.most.to_string(),
            unit => format!("{} {unit}", limit.most),
        };
        [limit.what.to_owned(), bound]
    });
    page.push_str(&table(["what", "bound"], rows));
    page.push_str(
        "\n## On Valkey\n\nWhile a function runs the server does nothing else, so one call visits a \
         bounded number of entries, however much there is. What is more is read by further calls.\n\n",
    );
    page.push_str(&bounds(VALKEY_BOUNDS));
    page.push_str(
        "\n## In one process\n\nWhat a server or an embedded engine does in one step, and what it keeps \
         in memory. What is more has its turn later, or is not kept.\n\n",
    );
    page.push_str(&bounds(PROCESS_BOUNDS));
    page
}

fn bounds(all: &[(&str, usize)]) -> String {
    let rows = all.iter().map(|(what, most)| [(*what).to_owned(), most.to_string()]);
    table(["what", "at most"], rows)
}
