//! Elements beside a record: counted by it, guarded by its version, gone with it.

use bytes::Bytes;
use ff_core::bounds::RANGE_BYTES;
use ff_core::collection::{Collection, Content, Element, ElementName, ElementRange};
use ff_core::machine::{Submit, Toy, ToyPart, ToySubmit};
use ff_core::payload::BlobPart;
use ff_core::policy::Policy;
use ff_core::{ExecutionId, When};

use crate::fixture::{Fixture, failure, ms, steady};

fn name(text: &'static str) -> ElementName {
    ElementName::new("name", text).unwrap()
}

fn text(text: &'static str) -> ToyPart {
    ToyPart::Bytes(Bytes::from_static(text.as_bytes()))
}

impl Fixture {
    /// Adds an element made of `parts`.
    async fn toy(
        &self,
        id: ExecutionId,
        into: Collection,
        name: Option<ElementName>,
        parts: Vec<ToyPart>,
    ) {
        let target = self.target(id);
        self.run(Toy { target, into, name, parts, follower: None }).await.unwrap();
    }

    async fn elements(&self, owner: ExecutionId, collection: Collection) -> Vec<Element> {
        let range = ElementRange { owner, collection, from: 0, limit: 1_000 };
        self.store().elements(range).await.unwrap()
    }

    /// What elements have, each part of it behind its length.
    async fn contents(&self, owner: ExecutionId, collection: Collection) -> Vec<Vec<u8>> {
        let elements = self.elements(owner, collection).await.into_iter();
        let bytes = elements.map(|element| match element.content {
            Content::Bytes(bytes) => bytes.to_vec(),
            Content::Attempt(_) => panic!("an attempt among {collection:?}"),
        });
        bytes.collect()
    }
}

/// A part of an element as [`Toy`] writes it.
fn part(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat()
}

const NONE: [u8; 4] = u32::MAX.to_be_bytes();

pub(crate) async fn elements_are_numbered_from_zero_in_the_order_of_their_writes(g: Fixture) {
    let id = g.waiting().await;
    for content in ["a", "b", "c"] {
        g.toy(id, Collection::Signals, None, vec![text(content)]).await;
    }
    let elements = g.elements(id, Collection::Signals).await;
    assert_eq!(elements.iter().map(|element| element.number).collect::<Vec<_>>(), [0, 1, 2]);
    let contents = g.contents(id, Collection::Signals).await;
    assert_eq!(contents, ["a", "b", "c"].map(part));
    assert!(g.elements(id, Collection::Steps).await.is_empty());
    assert_eq!(g.audit().await.violations, []);
}

pub(crate) async fn a_range_of_elements_begins_and_ends_where_it_is_asked_to(g: Fixture) {
    let id = g.waiting().await;
    for content in ["a", "b", "c", "d"] {
        g.toy(id, Collection::Signals, None, vec![text(content)]).await;
    }
    let numbers = async |from, limit| {
        let collection = Collection::Signals;
        let range = ElementRange { owner: id, collection, from, limit };
        let found = g.store().elements(range).await.unwrap();
        found.iter().map(|element| element.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(1, 2).await, [1, 2]);
    assert_eq!(numbers(3, 10).await, [3]);
    assert!(numbers(4, 10).await.is_empty());
    assert!(numbers(0, 0).await.is_empty());
}

pub(crate) async fn a_name_finds_the_newest_element_that_has_it(g: Fixture) {
    let id = g.waiting().await;
    let steps = Collection::Steps;
    g.toy(id, steps, Some(name("charge")), vec![text("first")]).await;
    g.toy(id, steps, Some(name("notify")), vec![text("other")]).await;
    g.toy(id, steps, Some(name("charge")), vec![text("second")]).await;
    let find = |name| ToyPart::Named(steps, name);
    let found = vec![find(name("charge")), find(name("notify")), find(name("none"))];
    g.toy(id, Collection::Signals, None, found).await;
    let nested = |content: &str| {
        let inner = part(content);
        [&(inner.len() as u32).to_be_bytes()[..], &inner].concat()
    };
    let expected = [nested("second"), nested("other"), NONE.to_vec()].concat();
    assert_eq!(g.contents(id, Collection::Signals).await, [expected]);
    let names: Vec<_> = g.elements(id, steps).await.into_iter().map(|found| found.name).collect();
    assert_eq!(names, [Some(name("charge")), Some(name("notify")), Some(name("charge"))]);
}

pub(crate) async fn names_may_be_any_bytes(g: Fixture) {
    let id = g.waiting().await;
    let names = [&b"="[..], b"0", b"=0", b"\0", b"\xff\xfe", &[b'x'; 256]];
    let names = names.map(|name| ElementName::new("name", name.to_vec()).unwrap());
    for name in &names {
        g.toy(id, Collection::Steps, Some(name.clone()), vec![text("named")]).await;
    }
    let found = names.iter().map(|name| ToyPart::Named(Collection::Steps, name.clone())).collect();
    g.toy(id, Collection::Signals, None, found).await;
    let content = g.contents(id, Collection::Signals).await.concat();
    assert_eq!(content.windows(5).filter(|part| *part == b"named").count(), names.len());
    assert_eq!(g.audit().await.violations, []);
}

pub(crate) async fn a_command_reads_inputs_and_results_of_every_run(g: Fixture) {
    let policy = Policy { max_reclaims: 5, ..steady() };
    let id = g.waiting_under(policy).await;
    let long = "x".repeat(1_000).leak();
    g.complete(&g.claimed().await, long).await.unwrap();
    g.replay(id, 0).await.unwrap();
    g.complete(&g.claimed().await, "short").await.unwrap();
    g.replay(id, 1).await.unwrap();
    let runs = [BlobPart::Result(0), BlobPart::Result(1), BlobPart::Result(2)];
    g.toy(id, Collection::Signals, None, runs.map(ToyPart::Payload).to_vec()).await;
    let expected = [part(long), part("short"), NONE.to_vec()].concat();
    assert_eq!(g.contents(id, Collection::Signals).await, [expected]);
}

pub(crate) async fn appended_elements_leave_their_owner_as_it_is(g: Fixture) {
    let assignment = g.held().await;
    let id = assignment.execution;
    g.toy(id, Collection::Frames, None, vec![text("first")]).await;
    let version = g.store().record(id).await.unwrap().unwrap().version;
    for content in ["second", "third"] {
        g.toy(id, Collection::Frames, None, vec![text(content)]).await;
    }
    assert_eq!(g.store().record(id).await.unwrap().unwrap().version, version);
    let contents = g.contents(id, Collection::Frames).await;
    assert_eq!(contents, ["first", "second", "third"].map(part));
    assert_eq!(g.audit().await.violations, []);
    g.complete(&assignment, "done").await.unwrap();
    assert_eq!(g.elements(id, Collection::Frames).await.len(), 3);
    assert_eq!(g.audit().await.violations, []);
}

pub(crate) async fn elements_outlive_attempts_and_end_with_their_execution(g: Fixture) {
    let id = g.waiting_under(Policy { retention: ms(2_000), ..steady() }).await;
    for collection in [Collection::Steps, Collection::Signals, Collection::Frames] {
        for content in ["a", "b"] {
            let name = (collection == Collection::Steps).then(|| name(content));
            g.toy(id, collection, name, vec![text(content)]).await;
        }
    }
    g.fail(&g.claimed().await, failure("broken")).await.unwrap();
    g.pass(ms(1_000)).await;
    g.delay(&g.claimed().await, When::After(ms(100))).await.unwrap();
    g.pass(ms(100)).await;
    g.complete(&g.claimed().await, "done").await.unwrap();
    for collection in [Collection::Steps, Collection::Signals, Collection::Frames] {
        assert_eq!(g.elements(id, collection).await.len(), 2, "{collection:?}");
    }
    g.pass(ms(4_000)).await;
    for collection in Collection::ALL {
        assert!(g.elements(id, *collection).await.is_empty(), "{collection:?}");
    }
    let snapshot = g.snapshot().await;
    assert!(snapshot.naming(id).is_empty(), "{:?}", snapshot.naming(id));
}

/// Bytes of this length, as a toy writes them.
fn of_length(length: usize) -> ToyPart {
    ToyPart::Bytes(Bytes::from(vec![b'x'; length - 4]))
}

pub(crate) async fn a_read_of_elements_ends_at_a_number_of_bytes(g: Fixture) {
    let id = g.waiting().await;
    let half = RANGE_BYTES / 2;
    for (collection, lengths) in [
        (Collection::Steps, [half, half, 4]),
        (Collection::Signals, [half, half + 1, 4]),
        (Collection::Next, [RANGE_BYTES + 1, 4, 4]),
        (Collection::Frames, [4, RANGE_BYTES, 4]),
    ] {
        for length in lengths {
            let name = (collection == Collection::Steps).then(|| name("a name is not counted"));
            g.toy(id, collection, name, vec![of_length(length)]).await;
        }
    }
    let read = async |collection, from| {
        let range = ElementRange { owner: id, collection, from, limit: 10 };
        let found = g.store().elements(range).await.unwrap();
        found.iter().map(|element| element.number).collect::<Vec<_>>()
    };
    assert_eq!(read(Collection::Steps, 0).await, [0, 1], "exactly as many bytes");
    assert_eq!(read(Collection::Signals, 0).await, [0], "one byte more");
    assert_eq!(read(Collection::Signals, 1).await, [1, 2]);
    assert_eq!(read(Collection::Next, 0).await, [0], "the first, however long it is");
    assert_eq!(read(Collection::Next, 1).await, [1, 2]);
    assert_eq!(read(Collection::Frames, 0).await, [0]);
    // A command reads as much.
    let range = |collection| ToyPart::Range(collection, 0, 10);
    g.toy(id, Collection::After, None, vec![range(Collection::Next)]).await;
    let lengths: Vec<_> = g.contents(id, Collection::After).await.iter().map(Vec::len).collect();
    assert_eq!(lengths, [4 + RANGE_BYTES + 1]);
}

pub(crate) async fn a_record_is_made_with_the_elements_beside_it(g: Fixture) {
    let mut submit = Submit::new(g.new_id());
    submit.namespace = g.namespace.clone();
    let id = submit.id;
    let bytes = |text: &'static str| Bytes::from_static(text.as_bytes());
    let elements = vec![
        (Collection::Steps, Some(name("charge")), bytes("first")),
        (Collection::Steps, Some(name("charge")), bytes("second")),
        (Collection::Signals, None, bytes("signal")),
        (Collection::Frames, None, bytes("frame")),
    ];
    let toy = ToySubmit { submit: Box::new(submit), elements };
    g.run(toy.clone()).await.unwrap();
    let all = async || {
        let mut all = Vec::new();
        for collection in [Collection::Steps, Collection::Signals, Collection::Frames] {
            all.extend(g.contents(id, collection).await);
        }
        all
    };
    assert_eq!(all().await, ["first", "second", "signal", "frame"].map(|text| text.as_bytes()));
    assert_eq!(g.audit().await.violations, []);
    let named = ToyPart::Named(Collection::Steps, name("charge"));
    g.toy(id, Collection::Next, None, vec![named]).await;
    assert_eq!(g.contents(id, Collection::Next).await, [part("second")]);
    // The same call again makes nothing.
    let before = g.snapshot().await;
    g.run(toy).await.unwrap();
    g.snapshot().await.assert_same(&before);
}
