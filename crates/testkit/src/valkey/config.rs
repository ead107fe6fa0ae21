//! How a test's server is configured.

use super::binary;

/// What a server is started with. By default it is durable as in production: an append-only
/// file, synced every second, and nothing is evicted.
#[derive(Debug, Clone)]
pub struct Config {
    settings: Vec<(String, String)>,
}

impl Default for Config {
    fn default() -> Self {
        let settings = [
            ("bind", "127.0.0.1"),
            ("save", ""),
            ("appendonly", "yes"),
            ("appendfsync", "everysec"),
            ("maxmemory-policy", "noeviction"),
        ];
        let config = Config { settings: Vec::new() };
        settings.into_iter().fold(config, |config, (name, value)| config.with(name, value))
    }
}

impl Config {
    /// Sets one directive of the server's configuration file, instead of what it was before.
    pub fn with(mut self, name: &str, value: &str) -> Config {
        self.settings.retain(|(known, _)| known != name);
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn is_cluster(&self) -> bool {
        self.settings.iter().any(|(name, value)| name == "cluster-enabled" && value == "yes")
    }

    /// The command line: the server and an option for each setting.
    pub(super) fn command_line(&self) -> Vec<String> {
        let binary = binary::valkey().to_string_lossy().into_owned();
        let options =
            self.settings.iter().flat_map(|(name, value)| [format!("--{name}"), value.clone()]);
        std::iter::once(binary).chain(options).collect()
    }
}
