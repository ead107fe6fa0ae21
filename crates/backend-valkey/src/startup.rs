//! The checks before a store is served: through INFO, which an application's user may run.

use std::sync::Arc;

use ff_core::Setting;
use ff_core::bounds::PARTITIONS;
use ff_store::StoreError;
use redis::{Cmd, Value};

use crate::keys;
use crate::link::{Link, Node};
use crate::loading;
use crate::options::{Options, Topology};
use crate::setting;

/// How many partitions a new store gets.
const DEFAULT_PARTITIONS: u16 = 64;

/// Checks that the node can hold a store.
pub(crate) async fn check(
    link: &Link,
    node: &Arc<Node>,
    options: &Options,
) -> Result<(), StoreError> {
    let mut command = Cmd::new();
    command.arg("INFO").arg("server").arg("memory").arg("persistence").arg("replication");
    command.arg("cluster");
    let info = loading::info(link, node, &command, options.loading_timeout).await?;
    let place = node.address().to_string();
    judge(&place, &Info(&info), options)
}

/// The number of partitions, fixed when the store is opened for the first time.
pub(crate) async fn partitions(link: &Link, requested: Option<u16>) -> Result<u16, StoreError> {
    let wanted = requested.unwrap_or(DEFAULT_PARTITIONS).to_string();
    let setting = Setting::new("partitions", wanted)?;
    let stored = setting::fixed(link, &setting).await?;
    let count = std::str::from_utf8(&stored).ok().and_then(|stored| stored.parse().ok());
    let Some(count) = count.filter(|count| (1..=PARTITIONS).contains(count)) else {
        let key = keys::setting(link.prefix(), setting.name());
        let stored = stored.escape_ascii();
        return Err(StoreError::Corrupt(format!("{key} holds {stored}, not a number")));
    };
    match requested {
        Some(requested) if requested != count => Err(StoreError::Incompatible(format!(
            "it has {count} partitions, fixed when it was first opened, and {requested} were requested; \
             leave partitions out or ask for {count}"
        ))),
        _ => Ok(count),
    }
}

/// The answer of INFO.
pub(crate) struct Info<'a>(pub(crate) &'a str);

impl<'a> Info<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        let mut lines = self.0.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    }
}

fn judge(place: &str, info: &Info<'_>, options: &Options) -> Result<(), StoreError> {
    version(place, info)?;
    topology(place, info, options.topology)?;
    for risk in risks(info) {
        if !options.accept_data_loss {
            return Err(StoreError::Incompatible(format!(
                "{place} {risk}, or accept that with ?accept_data_loss=true"
            )));
        }
        tracing::warn!(node = place, "the store's server {risk}");
    }
    let replicas = info.get("connected_slaves").and_then(|count| count.parse().ok()).unwrap_or(0);
    let confirm_replicas = options.confirm_replicas;
    if replicas > 0 && confirm_replicas == 0 {
        tracing::warn!(
            node = place,
            replicas,
            "a failover may lose what was acknowledged shortly before; confirm_replicas=1 makes \
             writes wait for a replica"
        );
    }
    if replicas < confirm_replicas {
        tracing::warn!(node = place, replicas, confirm_replicas, "no write can be confirmed");
    }
    Ok(())
}

fn version(place: &str, info: &Info<'_>) -> Result<(), StoreError> {
    let (name, version, least) = match info.get("valkey_version") {
        Some(version) => ("Valkey", version, (7, 2)),
        None => ("Redis", info.get("redis_version").unwrap_or("of no version"), (7, 0)),
    };
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    match found >= least {
        true => Ok(()),
        false => Err(StoreError::Incompatible(format!(
            "{place} is {name} {version}; Valkey 7.2 or Redis 7.0 is the oldest that works"
        ))),
    }
}

fn topology(place: &str, info: &Info<'_>, topology: Topology) -> Result<(), StoreError> {
    if topology == Topology::Standalone && info.get("cluster_enabled") == Some("1") {
        return Err(StoreError::Incompatible(format!(
            "{place} is part of a cluster; begin the URL with valkey-cluster://"
        )));
    }
    if info.get("role") == Some("slave") {
        return Err(StoreError::Unavailable(format!(
            "{place} is a replica of {}:{}, which takes no writes; give the primary's address",
            info.get("master_host").unwrap_or("?"),
            info.get("master_port").unwrap_or("?"),
        )));
    }
    Ok(())
}

/// How the server may lose what it has acknowledged, and what to do about it.
fn risks(info: &Info<'_>) -> Vec<String> {
    let mut risks = Vec::new();
    let policy = info.get("maxmemory_policy").unwrap_or("unknown");
    if policy != "noeviction" {
        risks.push(format!(
            "drops keys when its memory is full (maxmemory-policy is {policy}); set \
             maxmemory-policy noeviction"
        ));
    }
    if info.get("aof_enabled") != Some("1") {
        risks.push(
            "forgets what it has acknowledged when it restarts (appendonly is off); set appendonly \
             yes"
                .to_owned(),
        );
    }
    risks
}

pub(crate) fn text(value: Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Value::VerbatimString { text, .. } | Value::SimpleString(text) => text,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(info: &str) -> Result<(), String> {
        let options = Options::standalone("h", 1);
        let safe = format!("{info}\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n");
        judge("h:1", &Info(&safe), &options).map_err(|error| error.to_string())
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        for info in [
            "redis_version:7.0.0",
            "redis_version:7.2.4\r\nvalkey_version:7.2.5",
            "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2",
            "redis_version:10.0.1",
            "redis_version:8.0-rc1",
        ] {
            assert_eq!(judged(info), Ok(()), "{info}");
        }
        for (info, found) in [
            ("redis_version:6.2.14", "Redis 6.2.14"),
            ("redis_version:7.2.4\r\nvalkey_version:7.1.9", "Valkey 7.1.9"),
            ("redis_version:nonsense", "Redis nonsense"),
            ("", "of no version"),
        ] {
            let refused = judged(info).unwrap_err();
            assert!(refused.contains(found) && refused.contains("Valkey 7.2"), "{refused}");
        }
    }

    #[test]
    fn a_name_is_not_found_inside_another() {
        let info = "x_role:slave\r\nrole_x:slave\r\nrole:master\r\n";
        assert_eq!(Info(info).get("role"), Some("master"));
        assert_eq!(Info(info).get("ole"), None);
    }
}
