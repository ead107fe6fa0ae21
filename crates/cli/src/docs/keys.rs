//! The page of the keys that a store on Valkey uses.

use ff_backends::VALKEY_LAYOUT;

use super::{code, heading, table};

pub(crate) fn page() -> String {
    let mut page = heading("Keys on Valkey", "keys");
    page.push_str(
        "A store writes only keys that begin with its prefix, `ff` unless the URL says \
         `?prefix=`. All keys of a partition carry its tag `{p:N}`, so they are in one slot of a \
         cluster. An id in a key is the execution's UUID in 22 characters that sort as the UUID \
         does. Keys are for looking; writing to them by hand breaks the store.\n\n",
    );
    let rows = |written: bool| {
        let families = VALKEY_LAYOUT.iter().filter(move |family| family.written == written);
        families.map(|family| [code(family.pattern), family.kind.into(), family.holds.into()])
    };
    page.push_str(&table(["key", "type", "what is in it"], rows(true)));
    page.push_str(
        "\nAnnouncements of work go over the sharded channels `ff:wake:{p:<N>}`, those of the end of \
         executions over `ff:ended:{p:<N>}`.\n\n\
         ## Kept for what comes\n\n\
         Nothing is written here yet; the names are taken, because a layout is expensive to \
         change. All that belongs to one namespace shares its tag, so that budgets, quotas and \
         workers of a namespace can be read together.\n\n",
    );
    page.push_str(&table(["key", "type", "what will be in it"], rows(false)));
    page
}
