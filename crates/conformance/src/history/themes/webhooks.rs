//! Random commands on webhooks.

use ff_core::machine::{Action, Discard, ReportDelivery, SetWebhook};
use ff_core::webhook::{DeliveryReport, SigningSecret, WebhookTarget};
use ff_core::{Resource, ResourceKey, ResourceKind, ResourceName};

use crate::history::generate::Generator;
use crate::history::make::{self, chance, millis, one};
use crate::history::pair::View;

impl Generator {
    /// A change of a webhook, or a report of its deliveries; mostly of its turn.
    pub(crate) fn webhook(&mut self, view: View<'_>) -> Action {
        let (rng, partitions) = (&mut self.rng, self.partitions);
        let name = ResourceName::new(one(rng, &["hook", "other"])).unwrap();
        let namespace = make::namespace(rng);
        let key = ResourceKey::at_home(ResourceKind::Webhook, &namespace, &name, partitions);
        let known = view.held.resources.get(&key).and_then(Resource::as_webhook);
        match rng.u8(..10) {
            0..4 => SetWebhook {
                key,
                target: WebhookTarget {
                    url: one(rng, &["https://a.example/", "https://b.example/x"]).parse().unwrap(),
                    names: Default::default(),
                    lane: chance(rng, 30).then(|| make::lane(rng)),
                    kind: None,
                },
                secret: chance(rng, 70).then(|| SigningSecret::new([rng.u8(..3); 24]).unwrap()),
                grace: millis(rng, &[0, 1_000, 60_000]),
                cursor: one(rng, &["a", "b"]).into(),
            }
            .into(),
            4..9 => {
                let turn = known.map_or(1, |known| known.turn);
                ReportDelivery {
                    key,
                    turn: if chance(rng, 80) { turn } else { turn.saturating_sub(1) },
                    report: DeliveryReport {
                        cursor: one(rng, &[None, Some("a"), Some("b"), Some("c")]).map(Into::into),
                        delivered: rng.u64(..3),
                        letters: Vec::new(),
                        gap: chance(rng, 20),
                        failing: chance(rng, 30).then(|| (rng.u32(..9), "it answered 500".into())),
                        leaves: chance(rng, 20),
                    },
                }
                .into()
            }
            _ => Discard { key }.into(),
        }
    }
}
