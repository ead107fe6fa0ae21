//! The page of every bound.

use ff_backends::VALKEY_BOUNDS;
use ff_core::Millis;
use ff_core::limits::ALL;

use super::{heading, table};
use crate::duration;

pub(crate) fn page() -> String {
    let mut page = heading("Limits", "limits");
    page.push_str(
        "Every input has a bound. One past it is refused with the code `too_large`, \
         `invalid_argument` or `limit_reached` and the name of the field; nothing is cut short \
         silently.\n\n",
    );
    let rows = ALL.iter().map(|limit| {
        let bound = match limit.unit {
            "ms" => duration::show(Millis::new(limit.most)),
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
    let rows = VALKEY_BOUNDS.iter().map(|(what, most)| [(*what).to_owned(), most.to_string()]);
    page.push_str(&table(["what", "at most"], rows));
    page
}
