//! Settings of a store: the first value holds, for everybody.

use bytes::Bytes;
use ff_core::bounds::SETTING_BYTES;
use ff_core::machine::Submit;
use ff_core::{Lane, Setting};

use crate::fixture::Fixture;

impl Fixture {
    /// The value that a setting has once it was given `value`.
    async fn setting(&self, name: &str, value: impl Into<Bytes>) -> Bytes {
        self.store().setting(Setting::new(name, value).unwrap()).await.unwrap()
    }
}

pub(crate) async fn the_first_value_of_a_setting_holds(g: Fixture) {
    assert_eq!(g.setting("ring", "first").await, "first");
    assert_eq!(g.setting("ring", "second").await, "first");
    assert_eq!(g.setting("other", "second").await, "second");
    assert_eq!(g.setting("ring", "").await, "first");
}

pub(crate) async fn a_setting_may_be_any_bytes(g: Fixture) {
    for (name, value) in [
        ("empty", vec![]),
        ("zeros", vec![0, 0, 7, 0]),
        ("not-text", vec![0xff, 0xfe]),
        ("longest", vec![b'x'; SETTING_BYTES]),
    ] {
        for given in [value.clone(), b"another".to_vec()] {
            assert_eq!(g.setting(name, given).await, value, "{name}");
        }
    }
}

pub(crate) async fn all_who_give_a_setting_at_once_get_the_same_value(g: Fixture) {
    let callers = (0..16).map(|caller: u8| {
        let g = g.clone();
        tokio::spawn(async move { g.setting("ring", vec![caller]).await })
    });
    let mut values = Vec::new();
    for caller in callers.collect::<Vec<_>>() {
        values.push(caller.await.unwrap());
    }
    let holds = g.setting("ring", "late").await;
    assert_eq!(holds.len(), 1);
    assert!(values.iter().all(|value| *value == holds), "{values:?} and {holds:?}");
}

pub(crate) async fn a_setting_is_in_no_namespace(g: Fixture) {
    let before = g.snapshot().await;
    let name = g.namespace.as_str();
    assert_eq!(g.setting(name, "setting").await, "setting");
    g.snapshot().await.assert_same(&before);
    // Whatever a namespace makes under the same names, the setting stays.
    let mut submit = Submit::new(g.new_id());
    (submit.namespace, submit.lane) = (g.namespace.clone(), Lane::new(name).unwrap());
    g.run(submit).await.unwrap();
    assert_eq!(g.setting(name, "other").await, "setting");
    assert_eq!(g.audit().await.violations, []);
}
