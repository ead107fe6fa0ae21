//! The INFO of a server.

use std::collections::HashMap;

use ff_store::StoreError;

/// The lines of an INFO.
pub(super) struct Info(HashMap<String, String>);

impl Info {
    pub(super) fn parse(text: &str) -> Info {
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        Info(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    pub(super) fn number(&self, name: &str) -> Result<f64, StoreError> {
        let number = self.0.get(name).and_then(|value| value.trim().parse().ok());
        number.ok_or_else(|| StoreError::Incompatible(format!("the server's INFO has no {name}")))
    }

    /// Every command by its first word, and how often it was run.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().filter_map(|(name, value)| {
            let command = name.strip_prefix("cmdstat_")?;
            let calls = value.strip_prefix("calls=")?.split(',').next()?.parse().ok()?;
            Some((command.split('|').next().unwrap_or(command), calls))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_calls_are_read() {
        let info = Info::parse(
            "# CPU\r\nused_cpu_sys:0.25\r\n\r\n# Commandstats\r\n\
             cmdstat_config|get:calls=3,usec=1,usec_per_call=0.33\r\n",
        );
        assert_eq!(info.number("used_cpu_sys").unwrap(), 0.25);
        assert!(info.number("used_cpu_user").is_err());
        assert_eq!(info.calls().collect::<Vec<_>>(), [("config", 3.0)]);
    }
}
