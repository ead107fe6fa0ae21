//! A client that cuts its connections.

use std::sync::Arc;

use fastrand::Rng;

use super::Shared;
use crate::api::Request;
use crate::http::{Answer, Client, Cut};
use crate::view;

/// A client with its own random choices and name.
#[derive(Debug)]
pub(super) struct Cutter {
    pub(super) client: Client,
    pub(super) rng: Rng,
    pub(super) name: String,
    pub(super) shared: Arc<Shared>,
}

impl Cutter {
    /// True with this probability in percent.
    pub(super) fn chance(&mut self, percent: u8) -> bool {
        self.rng.u8(0..100) < percent
    }

    /// Sends a request and cuts it somewhere.
    pub(super) async fn cut(&mut self, request: &Request) {
        let cut = Cut::random(&mut self.rng);
        self.client.send(request, cut).await;
        *self.shared.cuts.lock().unwrap().entry(request.route).or_default() += 1;
    }

    /// Sends a request and usually cuts it, perhaps again, and then repeats it until it is
    /// answered.
    pub(super) async fn send_until_final(&mut self, request: &Request) -> Answer {
        let mut request = request.clone();
        while self.chance(60) {
            self.cut(&request).await;
            request = request.repeated();
        }
        view::send_until_final(self.client, &request).await
    }

    /// The same, but may stop after a cut; then the outcome is unknown.
    pub(super) async fn attempt(&mut self, request: &Request) -> Option<Answer> {
        if self.chance(40) {
            self.cut(request).await;
            return None;
        }
        Some(self.send_until_final(request).await)
    }

    /// Something that was accepted before.
    pub(super) fn known(&mut self) -> Option<String> {
        let executions = self.shared.executions.lock().unwrap();
        let last = executions.len().checked_sub(1)?;
        Some(executions[self.rng.usize(0..=last)].clone())
    }
}
