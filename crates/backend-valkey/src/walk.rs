//! A walk over all indexes of one partition, some at a time, for functions that read or repair them.
//!
//! The names of indexes are read from the registries of the partition at its start: later ones
//! are for the next walk.

use std::collections::BTreeSet;

use ff_store::StoreError;
use redis::{Cmd, Value, cmd};

use crate::constants::WALK_INDEXES;
use crate::indexes::{Each, INDEXES, Index};
use crate::keys;
use crate::link::Arg;
use crate::reply;
use crate::store::Shared;

/// How many names of a registry one call reads.
const NAMES: usize = 1_000;

/// A walk and its progress.
pub(crate) struct Walk {
    names: Vec<String>,
    done: usize,
    place: Vec<u8>,
}

impl Walk {
    /// A walk over all indexes of `partition`.
    pub(crate) async fn over(store: &Shared, partition: u16) -> Result<Walk, StoreError> {
        let namespaces = registry(store, partition, "namespaces", "SSCAN", 1).await?;
        // An ordered set answers a score after each name.
        let blockers = registry(store, partition, "blockers", "ZSCAN", 2).await?;
        let queues = registry(store, partition, "queues", "SSCAN", 1).await?;
        let lanes = queues.iter().map(|queue| keys::lane_of(queue).to_owned()).collect();
        let reasons = namespaces.iter().flat_map(|namespace| keys::attentions(namespace)).collect();
        let one = BTreeSet::from([String::new()]);
        let names = |index: &Index| {
            let of = match index.each {
                Each::Partition => &one,
                Each::Namespace => &namespaces,
                Each::Attention => &reasons,
                Each::Blocker => &blockers,
                Each::Lane => &lanes,
                Each::Queue => &queues,
            };
            let name = |of: &String| format!("{}{of}", index.letter);
            of.iter().map(name).collect::<Vec<_>>()
        };
        let names = INDEXES.iter().flat_map(names).collect();
        Ok(Walk { names, done: 0, place: b"0".to_vec() })
    }

    /// The indexes to continue with, none at the end.
    pub(crate) fn rest(&self) -> impl Iterator<Item = Arg<'_>> {
        let rest = self.names.iter().skip(self.done).take(WALK_INDEXES);
        rest.map(|name| name.as_bytes().into())
    }

    /// The place in the first of them.
    pub(crate) fn place(&self) -> Arg<'_> {
        (&self.place[..]).into()
    }

    /// Whether nothing is left.
    pub(crate) fn is_over(&self) -> bool {
        self.done >= self.names.len()
    }

    /// Records the answer of a function: how many indexes it has finished, and the place in the next.
    pub(crate) fn went(&mut self, done: &Value, place: Value) -> Result<(), StoreError> {
        self.done += usize::try_from(reply::number(done)?).map_err(|_| reply::strange(done))?;
        self.place = reply::bytes(place)?.to_vec();
        Ok(())
    }
}

/// All names of a registry of `partition`.
async fn registry(
    store: &Shared,
    partition: u16,
    name: &str,
    command: &str,
    step: usize,
) -> Result<BTreeSet<String>, StoreError> {
    let key = store.keys.registry(partition, name);
    let mut names = BTreeSet::new();
    scan(store, cmd(command), &key, NAMES, |page| {
        for name in page.into_iter().step_by(step) {
            names.insert(reply::text(name)?);
        }
        Ok(())
    })
    .await?;
    Ok(names)
}

/// Gives every page of a set or hash to `page`, about `count` at a time.
pub(crate) async fn scan(
    store: &Shared,
    command: Cmd,
    key: &str,
    count: usize,
    mut page: impl FnMut(Vec<Value>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut cursor = String::from("0");
    loop {
        let mut command = command.clone();
        command.arg(key).arg(&cursor).arg("COUNT").arg(count);
        let mut answer = reply::list(store.link.send(command).await?)?.into_iter();
        let mut next = || answer.next().ok_or_else(reply::missing);
        cursor = reply::text(next()?)?;
        page(reply::list(next()?)?)?;
        if cursor == "0" {
            return Ok(());
        }
    }
}
