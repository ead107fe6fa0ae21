//! Tokens, for people.

use ff_api::{NamedTokenPageView, NamedTokenView, SecretView};
use ff_core::{Namespace, Time};

use super::style::Style;
use super::table::Table;
use super::{text, when};

const LIST_WIDTH: usize = 40;

/// One secret a line.
pub(crate) fn table(page: &NamedTokenPageView, now: Time, style: Style) -> String {
    if page.tokens.is_empty() {
        return String::new();
    }
    let heading = ["TOKEN", "SECRET", "ROLE", "NAMESPACES", "STATE", "CREATED", "BY", "LAST USED"];
    let mut table = Table::plain(heading);
    for view in &page.tokens {
        for secret in &view.secrets {
            table.row([
                view.name.to_string(),
                secret.number.to_string(),
                view.role.to_string(),
                namespaces(view),
                state(secret, now),
                when::relative(secret.created, now),
                secret.created_by.to_string(),
                view.last_used.map_or("-".to_owned(), |at| when::relative(at, now)),
            ]);
        }
    }
    table.show(style)
}

fn namespaces(view: &NamedTokenView) -> String {
    let names = view.namespaces.as_deref();
    let listed = |names: &[Namespace]| {
        let names: Vec<_> = names.iter().map(Namespace::as_str).collect();
        text::one_line(&names.join(" "), LIST_WIDTH)
    };
    names.map_or("every one".to_owned(), listed)
}

/// Whether a secret is accepted, and until when.
fn state(secret: &SecretView, now: Time) -> String {
    match (secret.revoked, &secret.revoked_by, secret.expires) {
        (Some(at), Some(by), _) => format!("revoked {} by {by}", when::relative(at, now)),
        (_, _, Some(at)) if !secret.live => format!("expired {}", when::relative(at, now)),
        (_, _, Some(at)) => format!("expires {}", when::relative(at, now)),
        _ => "live".to_owned(),
    }
}
