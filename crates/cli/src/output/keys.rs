//! Signing keys, for people.

use ff_api::{SigningKeysView, Timestamp};
use ff_core::Time;

use super::style::Style;
use super::table::Table;
use super::when;

/// One key a line. Names are whole, so that they can be copied.
pub(crate) fn table(view: &SigningKeysView, now: Time, style: Style) -> String {
    if view.keys.is_empty() {
        return String::new();
    }
    let mut table = Table::plain(["KEY", "FINGERPRINT", "STATE", "SINCE", "UNTIL", "IN FILE"]);
    let moment = |at: Option<Timestamp>| match at {
        Some(at) => when::relative(at, now),
        None => "-".to_owned(),
    };
    for key in &view.keys {
        table.row([
            key.key.to_string(),
            key.fingerprint.clone(),
            key.state.clone(),
            moment(key.since),
            moment(key.until),
            if key.held { "yes" } else { "no" }.to_owned(),
        ]);
    }
    table.show(style)
}
