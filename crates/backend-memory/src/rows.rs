//! Everything the store holds, for audit and comparison.

use ff_core::ExecutionId;
use ff_core::collection::Content;
use ff_core::machine::LaneClass;
use ff_core::placement::{Entry, QueueEntry};
use ff_store::Position;
use ff_store::audit::{ElementRow, ResourceEntry, Row, RowContent, TallyRow};

use crate::tables::Tables;

impl Tables {
    /// Every row, records first.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> =
            self.records.values().map(|record| Row::Record(Box::new(record.clone()))).collect();
        self.queue_rows(&mut rows);
        rows.extend(
            self.timers
                .iter()
                .flat_map(|(due, ids)| ids.iter().map(|id| Row::Entry(Entry::Timer(*due), *id))),
        );
        rows.extend(self.requests.iter().flat_map(|(request, ids)| {
            ids.iter().map(|id| Row::Entry(Entry::Request(*request), *id))
        }));
        for (namespace, places) in &self.list {
            rows.extend(
                places.iter().filter_map(|place| {
                    listed(place, Entry::List(namespace.clone(), place.created))
                }),
            );
        }
        for ((namespace, attention), places) in &self.attention {
            rows.extend(places.iter().filter_map(|place| {
                listed(place, Entry::Attention(namespace.clone(), *attention, place.created))
            }));
        }
        for ((namespace, on, class), places) in &self.blocked {
            rows.extend(places.iter().map(|(score, id)| {
                Row::Entry(Entry::Blocked(namespace.clone(), on.clone(), *class, *score), *id)
            }));
        }
        for ((namespace, key), id) in &self.keys {
            rows.push(Row::Entry(Entry::Key(namespace.clone(), key.clone()), *id));
        }
        rows.extend(self.blobs.iter().map(|(key, bytes)| Row::Blob(*key, bytes.len() as u64)));
        rows.extend(self.elements.iter().map(|((owner, collection, number), element)| {
            let content = match &element.content {
                Content::Attempt(attempt) => RowContent::Attempt(attempt.clone()),
                Content::Bytes(bytes) => RowContent::Bytes(bytes.len() as u64),
            };
            let (owner, collection, number) = (*owner, *collection, *number);
            Row::Element(Box::new(ElementRow { owner, collection, number, content }))
        }));
        rows.extend(self.resources.values().map(|r| Row::Resource(Box::new(r.clone()))));
        let listed = self.resources.keys().map(|key| (key, ResourceEntry::Listed));
        let timers = self.resource_timers.iter().map(|(at, key)| (key, ResourceEntry::Timer(*at)));
        let entries = listed.chain(timers);
        rows.extend(entries.map(|(key, entry)| Row::ResourceEntry(key.clone(), entry)));
        rows.extend(self.continuations.iter().map(|(one, due)| Row::Continuation(*one, *due)));
        for (owner, tally) in &self.tallies {
            let (owner, is_owned) = (*owner, self.records.contains_key(owner));
            rows.extend(
                tally.iter().map(|(counter, value)| {
                    Row::Tally(TallyRow { owner, counter, value, is_owned })
                }),
            );
        }
        rows
    }

    fn queue_rows(&self, rows: &mut Vec<Row>) {
        for ((_, namespace, lane), classes) in &self.queues {
            for (class, members) in classes {
                if !class.is_empty() {
                    rows.push(Row::Class(LaneClass {
                        namespace: namespace.clone(),
                        lane: lane.clone(),
                        class: class.clone(),
                    }));
                }
                rows.extend(members.iter().map(|(score, id)| {
                    let place = QueueEntry {
                        namespace: namespace.clone(),
                        lane: lane.clone(),
                        class: class.clone(),
                        score: *score,
                    };
                    Row::Entry(Entry::Queue(place), *id)
                }));
            }
        }
    }
}

fn listed(place: &Position, entry: Entry) -> Option<Row> {
    Some(Row::Entry(entry, ExecutionId::from_bytes(&place.id).ok()?))
}
