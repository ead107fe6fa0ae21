//! A walk over all indexes of one partition, some at a time, for functions that read or mend them.
//!
//! The names of indexes are read from the registries of the partition at its start: what comes later
//! is for the next walk.

use std::collections::BTreeSet;

use ff_store::StoreError;
use redis::{Cmd, Value, cmd};

use crate::constants::WALK_INDEXES;
use crate::link::Arg;
use crate::reply;
use crate::store::Shared;

/// How many names of a registry one call reads.
const NAMES: usize = 1_000;

/// A walk and how far it has come.
pub(crate) struct Walk {
    names: Vec<String>,
    done: usize,
    place: Vec<u8>,
}

impl Walk {
    /// A walk over the indexes of `partition`: lists come first, for they lead to every record that
    /// is whole, and the classes of lanes before queues, of which the last may be all that names a
    /// lane.
    pub(crate) async fn over(store: &Shared, partition: u16) -> Result<Walk, StoreError> {
        let namespaces = registry(store, partition, "namespaces", "SSCAN", 1).await?;
        // An ordered set answers a score behind each name.
        let blockers = registry(store, partition, "blockers", "ZSCAN", 2).await?;
        let queues = registry(store, partition, "queues", "SSCAN", 1).await?;
        let lane = |queue: &String| queue.splitn(3, ':').take(2).collect::<Vec<_>>().join(":");
        let lanes: BTreeSet<_> = queues.iter().map(lane).collect();
        let mut names = Vec::new();
        let mut add = |letter: char, of: &BTreeSet<String>| {
            names.extend(of.iter().map(|of| format!("{letter}{of}")));
        };
        let one = BTreeSet::from([String::new()]);
        let all = [('l', &namespaces), ('a', &namespaces), ('k', &namespaces), ('t', &one)];
        let rest = [('h', &one), ('b', &blockers), ('c', &lanes), ('q', &queues)];
        let resources = [('r', &one), ('d', &one)];
        all.into_iter().chain(rest).chain(resources).for_each(|(letter, of)| add(letter, of));
        Ok(Walk { names, done: 0, place: b"0".to_vec() })
    }

    /// The indexes to go on with, none at the end.
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

    /// Notes what a function answered: how many indexes it has done, and the place in the next.
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
