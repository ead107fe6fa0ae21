//! What a request is signed with: HMAC-SHA-256 over its id, its time and its body.
//!
//! The headers are those of the Standard Webhooks specification, which receivers have libraries for. While
//! a secret is being replaced there are two signatures, and a receiver accepts either.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ff_core::webhook::SigningSecret;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The name of the event: to recognise one that comes again.
pub(super) const ID: &str = "webhook-id";
/// When the try was made, in seconds.
pub(super) const TIMESTAMP: &str = "webhook-timestamp";
/// The signatures.
pub(super) const SIGNATURE: &str = "webhook-signature";

/// The signatures of a request, by every secret.
pub(super) fn signatures<'a>(
    secrets: impl Iterator<Item = &'a SigningSecret>,
    id: &str,
    timestamp: u64,
    body: &[u8],
) -> String {
    let sign = |secret: &SigningSecret| {
        // A key of any length is taken.
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.reveal()).ok()?;
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        Some(format!("v1,{}", BASE64.encode(mac.finalize().into_bytes())))
    };
    let all: Vec<_> = secrets.filter_map(sign).collect();
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_specification() {
        // The example of the Standard Webhooks specification.
        let key = BASE64.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let secret = SigningSecret::new(key).unwrap();
        let body = br#"{"test": 2432232314}"#;
        let signed =
            signatures([&secret].into_iter(), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn two_secrets_give_two_signatures() {
        let (one, other) =
            (SigningSecret::new([1; 32]).unwrap(), SigningSecret::new([2; 32]).unwrap());
        let both = signatures([&one, &other].into_iter(), "id", 7, b"body");
        let alone = |secret| signatures([secret].into_iter(), "id", 7, b"body");
        assert_eq!(both, format!("{} {}", alone(&one), alone(&other)));
        for (id, time, body) in [("ie", 7, "body"), ("id", 8, "body"), ("id", 7, "bodz")] {
            assert_ne!(signatures([&one].into_iter(), id, time, body.as_bytes()), alone(&one));
        }
    }
}
