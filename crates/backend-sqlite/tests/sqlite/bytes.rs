//! Bytes in are bytes out.

use crate::fixture::{self, Place, submit, take, target};
use ff_backend_sqlite::{Options, backend};
use ff_core::bounds::PAYLOAD_BYTES;
use ff_core::machine::{Complete, Submit};
use ff_core::{Payload, payload::ContentType};
use ff_store::{ClientBackend, WorkerBackend};

fn samples() -> Vec<Vec<u8>> {
    vec![
        Vec::new(),
        vec![0],
        b"a\0b\0".to_vec(),
        vec![0xff, 0xfe, 0x80, 0xc3],
        b"9007199254740993".to_vec(),
        b"[]".to_vec(),
        (0..=255).collect(),
        (0..PAYLOAD_BYTES).map(|i| (i * 31 % 251) as u8).collect(),
    ]
}

#[tokio::test]
async fn inputs_and_results_come_back_as_they_went_in() {
    let place = Place::new();
    for options in [place.options(), Options::memory()] {
        let backend = backend(options).unwrap();
        for bytes in samples() {
            let input = Payload::bytes(bytes.clone());
            let result = Payload { content_type: ContentType::json(), bytes: bytes.into() };
            let mut work = Submit::new(fixture::new_id());
            work.input = input.clone();
            let id = submit(&backend, work).await;
            let taken = take(&backend, 1).await.remove(0);
            assert!(taken.input == input);
            let done = Complete { hold: taken.hold(), result: result.clone() };
            backend.complete(vec![done]).await.unwrap().remove(0).unwrap();
            assert!(backend.input(&target(id)).await.unwrap() == input);
            assert!(backend.result(&target(id), None).await.unwrap() == result);
        }
        assert_eq!(fixture::violations(&**backend.store()).await, Vec::<String>::new());
    }
}
