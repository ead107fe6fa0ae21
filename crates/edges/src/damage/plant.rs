//! Writes past the public surface: what is damaged, and how, on each store.

use std::time::Duration;

use fastrand::Rng;
use ff_testkit::valkey::{Reply, Server};
use rusqlite::{Connection, ToSql};

use crate::place::Place;

/// How long another process may lock a SQLite file.
const BUSY: Duration = Duration::from_secs(20);

/// Something that is stored.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    /// The record of an execution.
    Record(&'a str),
    /// A budget, a quota, the settings of a lane, a registered worker or a ticket; any name when
    /// none is given.
    Resource(&'static str, Option<&'a str>),
    /// The input of an execution, which must be longer than a record keeps.
    Input(&'a str),
    /// The result of its first run.
    Result(&'a str),
    /// Its attempts before the newest one.
    Attempts(&'a str),
    /// The first entry of a lane's queue.
    QueueHead(&'a str),
    /// The first timer.
    Timer,
    /// The first entry among those that wait for a quota.
    BlockedHead(&'a str),
    /// The oldest entry of the listing.
    List,
    /// The execution of an idempotency key.
    Key(&'a str),
}

/// Meaningless bytes: random, or with the prefix of a record.
pub(super) fn garbage(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0; rng.usize(4..40)];
    rng.fill(&mut bytes);
    bytes[0] = if rng.bool() { 2 } else { bytes[0] | 0x80 };
    bytes
}

/// Damages one part of a namespace. Records, resources and attempts become `garbage`,
/// payloads are lost, and indexes get an entry of garbage.
///
/// # Panics
///
/// When the part does not exist.
pub(super) fn plant(place: &Place, namespace: &str, part: Part<'_>, garbage: &[u8]) {
    match place.server() {
        Some(server) => on_valkey(server, namespace, part, garbage),
        None => on_sqlite(place, namespace, part, garbage),
    }
}

fn on_sqlite(place: &Place, namespace: &str, part: Part<'_>, garbage: &[u8]) {
    let sql = Connection::open(place.file()).unwrap();
    sql.busy_timeout(BUSY).unwrap();
    let change = |text: &str, parameters: &[&dyn ToSql]| {
        let changed = sql.execute(text, parameters);
        let changed = changed.unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(changed >= 1, "{text} changes nothing of {part:?}");
    };
    match part {
        Part::Record(id) => {
            change("UPDATE execution SET record = ?2 WHERE id = ?1", &[&uuid(id), &garbage]);
        }
        Part::Resource(kind, name) => change(
            "UPDATE resource SET resource = ?4 \
             WHERE kind = ?1 AND namespace = ?2 AND (name = ?3 OR ?3 IS NULL)",
            &[&kind, &namespace, &name, &garbage],
        ),
        Part::Input(id) => {
            change("DELETE FROM blob WHERE id = ?1 AND part = -1", &[&uuid(id)]);
        }
        Part::Result(id) => {
            change("DELETE FROM blob WHERE id = ?1 AND part = 0", &[&uuid(id)]);
        }
        Part::Attempts(id) => {
            change("UPDATE element SET bytes = ?2 WHERE owner = ?1", &[&uuid(id), &garbage]);
        }
        Part::QueueHead(lane) => change(
            "INSERT INTO queue (namespace, lane, class, score, id) VALUES (?1, ?2, '', -9000, ?3)",
            &[&namespace, &lane, &garbage],
        ),
        Part::Timer => change("INSERT INTO timer (due, id) VALUES (1, ?1)", &[&garbage]),
        Part::BlockedHead(quota) => {
            let columns = "SELECT name FROM pragma_table_info('blocked')";
            let mut columns = sql.prepare(columns).unwrap();
            let columns = columns.query_map((), |row| row.get::<_, String>(0)).unwrap();
            let columns = columns.map(Result::unwrap).map(|name| match name.as_str() {
                "id" => "?3".to_owned(),
                "score" => "score - 1".to_owned(),
                _ => name,
            });
            let columns = columns.collect::<Vec<_>>().join(", ");
            let text = format!(
                "INSERT INTO blocked SELECT {columns} FROM blocked \
                 WHERE namespace = ?1 AND kind = 'quota' AND name = ?2 LIMIT 1"
            );
            change(&text, &[&namespace, &quota, &garbage]);
        }
        Part::List => change(
            "INSERT INTO list (namespace, created, id) VALUES (?1, 1, ?2)",
            &[&namespace, &garbage],
        ),
        Part::Key(key) => change(
            "UPDATE idempotency_key SET id = ?3 WHERE namespace = ?1 AND key = ?2",
            &[&namespace, &key, &garbage],
        ),
    }
}

fn on_valkey(server: &Server, namespace: &str, part: Part<'_>, garbage: &[u8]) {
    let order =
        |words: &[&[u8]]| server.command(words).unwrap_or_else(|error| panic!("{part:?}: {error}"));
    let found = |pattern: &str| {
        let keys = order(&[b"KEYS", pattern.as_bytes()]);
        let keys: Vec<_> = keys.list().iter().map(ToString::to_string).collect();
        assert!(!keys.is_empty(), "{part:?} does not exist: {pattern}");
        keys
    };
    let overwrite = |pattern: &str| {
        for key in found(pattern) {
            order(&[b"SET", key.as_bytes(), garbage]);
        }
    };
    // An empty index has no key; the partition of an execution has every key it needs.
    let enter = |pattern: &str| {
        for key in found(pattern) {
            let added = order(&[b"ZADD", key.as_bytes(), b"-9000", garbage]);
            assert_eq!(added, Reply::Number(1), "{part:?}");
        }
    };
    match part {
        Part::Record(id) => overwrite(&format!("ff:exec:*:{}", encoded(id))),
        Part::Resource(kind, name) => {
            overwrite(&format!("ff:{kind}:*:{namespace}:{}", name.unwrap_or("*")));
        }
        Part::Input(id) => lose(server, &found(&format!("ff:exec:*:{}:in", encoded(id)))),
        Part::Result(id) => lose(server, &found(&format!("ff:exec:*:{}:out:*", encoded(id)))),
        Part::Attempts(id) => {
            for key in found(&format!("ff:exec:*:{}:c0", encoded(id))) {
                order(&[b"HSET", key.as_bytes(), b"0", garbage]);
            }
        }
        Part::QueueHead(lane) => enter(&format!("ff:idx:*:lane:{namespace}:{lane}:eligible")),
        Part::Timer => enter("ff:idx:*:timer"),
        Part::BlockedHead(quota) => enter(&format!("ff:idx:*:blocked:{namespace}:quota:{quota}*")),
        Part::List => enter(&format!("ff:idx:*:list:{namespace}")),
        Part::Key(key) => {
            for index in found(&format!("ff:idx:*:keys:{namespace}")) {
                let known = order(&[b"HEXISTS", index.as_bytes(), key.as_bytes()]);
                if known == Reply::Number(1) {
                    order(&[b"HSET", index.as_bytes(), key.as_bytes(), garbage]);
                }
            }
        }
    }
}

fn lose(server: &Server, keys: &[String]) {
    for key in keys {
        assert_eq!(server.command(&["DEL", key]).unwrap(), Reply::Number(1), "{key}");
    }
}

/// The bytes of an id.
fn uuid(id: &str) -> [u8; 16] {
    u128::from_str_radix(&id.replace('-', ""), 16).unwrap().to_be_bytes()
}

/// An id as keys on Valkey have it: 22 characters that sort as its bytes do.
fn encoded(id: &str) -> String {
    const ALPHABET: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    let number = u128::from_be_bytes(uuid(id));
    let digit = |value: u128| char::from(ALPHABET[(value & 0b11_1111) as usize]);
    let digits = (0..21).rev().map(|place| digit(number >> (2 + 6 * place)));
    digits.chain([digit((number & 0b11) << 4)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_in_keys_as_they_do_in_bytes() {
        let ids = ["00000000-0000-0000-0000-000000000001", "01a1e759-1f26-7000-8000-13170e60519a"];
        let keys = ids.map(encoded);
        assert!(keys[0] < keys[1], "{keys:?}");
        assert_eq!(keys[0], format!("{}F", "-".repeat(21)));
    }
}
