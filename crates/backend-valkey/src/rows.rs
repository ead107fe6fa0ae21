//! Everything the store holds, for audit and comparison.
//!
//! Each partition is read in pages. While others write, a page is consistent and the whole is
//! not.

use std::sync::Arc;
use std::vec::IntoIter;

use ff_core::collection::Collection;
use ff_core::continuation::Continuation;
use ff_core::machine::LaneClass;
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::placement::{Entry, QueueEntry, Score};
use ff_core::{
    Capabilities, ExecutionId, IdempotencyKey, Lane, Namespace, Partition, RequestId, ResourceKey,
};
use ff_store::StoreError;
use ff_store::audit::{ElementRow, ResourceEntry, Row, RowContent, Rows, TallyRow};
use redis::Value;

use crate::codec::{self, Stored, Unreadable};
use crate::constants::{DUMP_BYTES, DUMP_ENTRIES};
use crate::indexes::INDEXES;
use crate::link::Arg;
use crate::reply;
use crate::slow_path::{counters, named};
use crate::store::Shared;
use crate::walk::Walk;
use crate::{keys, resource};

/// Every row, partition by partition; in each, records come before their entries. A page is read
/// when the one before it has been consumed.
pub(crate) fn stream(store: Arc<Shared>) -> Result<Rows, StoreError> {
    let (sender, rows) = Rows::channel();
    tokio::spawn(async move {
        for partition in 0..store.keys.partitions() {
            match partition_rows(&store, partition, &sender).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return drop(sender.send(Err(error)).await),
            }
        }
    });
    Ok(rows)
}

type Sender = tokio::sync::mpsc::Sender<Result<Row, StoreError>>;

/// Sends the rows of a partition; answers whether the receiver is still open.
async fn partition_rows(
    store: &Shared,
    partition: u16,
    sender: &Sender,
) -> Result<bool, StoreError> {
    let mut walk = Walk::over(store, partition).await?;
    let route = store.keys.route(partition);
    while !walk.is_over() {
        let limits = [DUMP_ENTRIES, DUMP_BYTES].map(|most| most.to_string().into_bytes().into());
        let args: Vec<Arg<'_>> =
            [walk.place()].into_iter().chain(limits).chain(walk.rest()).collect();
        let mut values = reply::list(store.link.call("dump", &route, &args).await?)?.into_iter();
        let mut next = || values.next().ok_or_else(reply::missing);
        walk.went(&next()?, next()?)?;
        for value in values {
            let (rows, more) = rows(value, partition);
            for row in rows {
                if sender.send(Ok(row)).await.is_err() {
                    return Ok(false);
                }
            }
            for (id, collection) in more {
                if !elements(store, id, collection, sender).await? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// Sends the elements of a collection, a page at a time; answers whether the receiver is open.
async fn elements(
    store: &Shared,
    id: ExecutionId,
    collection: Collection,
    sender: &Sender,
) -> Result<bool, StoreError> {
    let route = store.keys.route(store.keys.partition(id));
    let of: [Arg<'_>; 2] = [keys::id(id), collection.number().to_string()].map(owned);
    let mut place = owned("0".into());
    loop {
        let args: Vec<_> = of.iter().cloned().chain([place]).collect();
        let page = reply::list(store.link.call("dump_elements", &route, &args).await?)?;
        let mut page = page.into_iter();
        let next = reply::bytes(page.next().ok_or_else(reply::missing)?)?;
        let mut rows = Vec::new();
        element_rows(id, collection, page, &mut rows)?;
        for row in rows {
            if sender.send(Ok(row)).await.is_err() {
                return Ok(false);
            }
        }
        if &next[..] == b"0" {
            return Ok(true);
        }
        place = Arg::Owned(next.into());
    }
}

fn owned(text: String) -> Arg<'static> {
    Arg::Owned(text.into_bytes())
}

/// Collections whose elements are not among the rows of their execution.
type Further = Vec<(ExecutionId, Collection)>;

/// The rows of one answer, or what is wrong with it.
fn rows(value: Value, partition: u16) -> (Vec<Row>, Further) {
    let mut fields = reply::list(value).unwrap_or_default().into_iter();
    let letter = fields.next().map(reply::text).and_then(Result::ok).unwrap_or_default();
    let read = match letter.as_str() {
        "l" => execution(fields),
        letter => read(letter, fields, partition).map(|rows| (rows, Further::new())),
    };
    read.unwrap_or_else(|why| {
        let index = INDEXES.iter().find(|index| letter.starts_with(index.letter));
        let place = index.map_or("an entry of no index", |index| index.entry);
        (vec![Row::Unreadable { place: place.into(), why: why.to_string() }], Further::new())
    })
}

/// An execution and what is stored next to it.
fn execution(mut fields: IntoIter<Value>) -> Result<(Vec<Row>, Further), StoreError> {
    let mut next = || fields.next().ok_or_else(reply::missing);
    let namespace = name::<Namespace>(next()?)?;
    let id = named(&reply::bytes(next()?)?)?;
    let created = reply::time(&next()?)?;
    let mut rows = Vec::new();
    let record = reply::maybe_bytes(next()?)?;
    let is_owned = record.is_some();
    if let Some(bytes) = record {
        rows.push(match Stored::decode(id, &bytes) {
            Ok(stored) => Row::Record(Box::new(stored.record)),
            Err(why) => unreadable(format!("execution {id}"), &why),
        });
    }
    rows.push(Row::Entry(Entry::List(namespace, created), id));
    let input = next()?;
    if input != Value::Nil {
        rows.push(blob(id, BlobPart::Input, &input)?);
    }
    let mut results = reply::list(next()?)?.into_iter();
    while let (Some(run), Some(len)) = (results.next(), results.next()) {
        let run = u32::try_from(reply::number(&run)?).map_err(|_| reply::missing())?;
        rows.push(blob(id, BlobPart::Result(run), &len)?);
    }
    let mut further = Further::new();
    match next()? {
        Value::Nil => further.push((id, Collection::Attempts)),
        attempts => {
            let attempts = reply::list(attempts)?.into_iter();
            element_rows(id, Collection::Attempts, attempts, &mut rows)?;
        }
    }
    for collection in reply::list(next()?)? {
        let number = u8::try_from(reply::count(&collection)?).map_err(|_| reply::missing())?;
        let collection = Collection::try_from(number).map_err(StoreError::Corrupt)?;
        further.push((id, collection));
    }
    match counters(next()?) {
        Ok(found) => {
            rows.extend(found.into_iter().map(|(counter, value)| {
                Row::Tally(TallyRow { owner: id, counter, value, is_owned })
            }))
        }
        Err(why) => {
            let place = format!("counters of execution {id}");
            rows.push(Row::Unreadable { place, why: why.to_string() });
        }
    }
    Ok((rows, further))
}

fn blob(execution: ExecutionId, part: BlobPart, len: &Value) -> Result<Row, StoreError> {
    let len = u64::try_from(reply::number(len)?).map_err(|_| reply::strange(len))?;
    Ok(Row::Blob(BlobKey { execution, part }, len))
}

/// The rows of an entry: the subject of its index, member and score, or field and value.
fn read(letter: &str, mut fields: IntoIter<Value>, partition: u16) -> Result<Vec<Row>, StoreError> {
    let mut next = || fields.next().ok_or_else(reply::missing);
    let (of, member, value) = (next()?, reply::bytes(next()?)?, next()?);
    let entry = |entry: Entry, id: &[u8]| Ok(vec![Row::Entry(entry, named(id)?)]);
    match letter {
        "a" => {
            let listed = keys::parse_attention(&reply::text(of)?);
            let (namespace, reason) = listed.ok_or_else(reply::missing)?;
            entry(Entry::Attention(namespace, reason, reply::time(&value)?), &member)
        }
        "k" => {
            let key = name::<IdempotencyKey>(Value::BulkString(member.into()))?;
            entry(Entry::Key(name::<Namespace>(of)?, key), &reply::bytes(value)?)
        }
        "t" => entry(Entry::Timer(reply::time(&value)?), &member),
        "h" => {
            let (request, id) =
                member.split_at_checked(keys::REQUEST).ok_or_else(reply::missing)?;
            let request: [u8; keys::REQUEST] = request.try_into().map_err(|_| reply::missing())?;
            entry(Entry::Request(RequestId::new(u128::from_be_bytes(request))), id)
        }
        "b" => {
            let waiting = keys::parse_waiting(&reply::bytes(of)?);
            let (namespace, on, class) = waiting.ok_or_else(reply::missing)?;
            let score = Score::from_stored(reply::number(&value)?);
            entry(Entry::Blocked(namespace, on, class, score), &member)
        }
        "r" => {
            let key = resource(partition, &member)?;
            let bytes = reply::maybe_bytes(next()?)?;
            let found = bytes.map(|bytes| resource::decode(&key, &bytes)).transpose()?;
            let found = found.map(|found| Row::Resource(Box::new(found)));
            let listed = Row::ResourceEntry(key, ResourceEntry::Listed);
            Ok(found.into_iter().chain([listed]).collect())
        }
        "d" => {
            let (due, key) = (reply::time(&value)?, resource(partition, &member)?);
            Ok(vec![Row::ResourceEntry(key, ResourceEntry::Timer(due))])
        }
        "f" => {
            let continuation = Continuation::from_bytes(&member).ok_or_else(reply::missing)?;
            Ok(vec![Row::Continuation(continuation, reply::time(&value)?)])
        }
        "q" => {
            let (namespace, lane) = queue(of)?;
            let score = Score::from_stored(reply::number(&value)?);
            let Some(requires) = reply::maybe_bytes(next()?)? else {
                let id = named(&member)?;
                let place = format!("the place of {id} in queue {namespace}:{lane}");
                return Ok(vec![Row::Unreadable { place, why: "its class is unknown".into() }]);
            };
            let class = class(&requires)?;
            entry(Entry::Queue(QueueEntry { namespace, lane, class, score }), &member)
        }
        _ => {
            let ((namespace, lane), class) = (queue(of)?, class(&reply::bytes(value)?)?);
            Ok(vec![Row::Class(LaneClass { namespace, lane, class })])
        }
    }
}

fn queue(name: Value) -> Result<(Namespace, Lane), StoreError> {
    keys::parse_queue(&reply::text(name)?).ok_or_else(reply::missing)
}

fn class(requires: &[u8]) -> Result<Capabilities, StoreError> {
    let text = std::str::from_utf8(requires);
    let text = text.map_err(|_| StoreError::Corrupt("a class is not UTF-8".into()))?;
    Ok(Capabilities::parse(text)?)
}

/// Elements, each behind its number: attempts, or how many bytes they have. A name that leads nowhere
/// comes in the place of a number.
fn element_rows(
    owner: ExecutionId,
    collection: Collection,
    mut values: IntoIter<Value>,
    rows: &mut Vec<Row>,
) -> Result<(), StoreError> {
    while let (Some(number), Some(value)) = (values.next(), values.next()) {
        let place = format!("{collection:?} of execution {owner}");
        let name = reply::bytes(number.clone())?;
        if name.starts_with(b"=") {
            let why = format!("the name {:?} leads to no element", name[1..].escape_ascii());
            rows.push(Row::Unreadable { place, why });
            continue;
        }
        let number = reply::count(&number)?;
        let content = match collection {
            Collection::Attempts => match codec::attempt(&reply::bytes(value)?) {
                Ok(attempt) => RowContent::Attempt(Box::new(attempt)),
                Err(why) => {
                    rows.push(unreadable(place, &why));
                    continue;
                }
            },
            _ => match reply::count(&value) {
                Ok(length) => RowContent::Bytes(length),
                Err(_) => {
                    let why = format!("element {number} cannot be read");
                    rows.push(Row::Unreadable { place, why });
                    continue;
                }
            },
        };
        rows.push(Row::Element(Box::new(ElementRow { owner, collection, number, content })));
    }
    Ok(())
}

fn unreadable(place: String, why: &Unreadable) -> Row {
    Row::Unreadable { place, why: why.to_string() }
}

fn name<T: std::str::FromStr<Err = ff_core::Refusal>>(value: Value) -> Result<T, StoreError> {
    Ok(reply::text(value)?.parse()?)
}

fn resource(partition: u16, name: &[u8]) -> Result<ResourceKey, StoreError> {
    let partition = Partition::new(partition).map_err(StoreError::from)?;
    keys::parse_resource(partition, name).ok_or_else(reply::missing)
}
