//! Every route that the server has, as its document names them.

/// A method of a path.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// Whether it needs no token.
    pub(crate) open: bool,
}

/// The paths that need no token.
const OPEN: [&str; 4] = ["/livez", "/readyz", "/healthz", "/errors/{code}"];

/// Methods that clients know, and one that nobody does.
pub(crate) const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "MADEUP"];

/// Every path, and whether it needs no token.
pub(crate) fn paths() -> Vec<(String, bool)> {
    let document = ff_server::openapi();
    document.paths.paths.keys().map(|path| (filled(path), OPEN.contains(&path.as_str()))).collect()
}

/// Every method that a path takes.
pub(crate) fn routes() -> Vec<Route> {
    let mut routes = Vec::new();
    for (path, item) in ff_server::openapi().paths.paths {
        for (method, operation) in [
            ("GET", item.get),
            ("POST", item.post),
            ("PUT", item.put),
            ("DELETE", item.delete),
            ("PATCH", item.patch),
        ] {
            let open = OPEN.contains(&path.as_str());
            routes.extend(operation.map(|_| Route { method, path: filled(&path), open }));
        }
    }
    routes
}

fn filled(path: &str) -> String {
    let path = path.replace("{id}", "a").replace("{name}", "b").replace("{lane}", "l");
    path.replace("{code}", "not_found")
}
