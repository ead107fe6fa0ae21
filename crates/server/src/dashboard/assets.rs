//! The style, the script and the icon: compiled in, and named after what they contain.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::error::ApiError;

struct Asset {
    /// Its name, with the beginning of the digest of its content.
    name: String,
    media: &'static str,
    content: &'static str,
}

static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("css", "text/css; charset=utf-8", include_str!("assets/style.css"))
});
static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("js", "text/javascript; charset=utf-8", include_str!("assets/live.js"))
});
static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("svg", "image/svg+xml", include_str!("assets/icon.svg")));

impl Asset {
    fn new(extension: &str, media: &'static str, content: &'static str) -> Asset {
        let digest = Sha256::digest(content);
        let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Asset { name: format!("{digest}.{extension}"), media, content }
    }
}

/// The addresses of the three.
pub(super) struct Assets {
    pub(super) style: &'static str,
    pub(super) script: &'static str,
    pub(super) icon: &'static str,
}

pub(super) fn addresses() -> Assets {
    Assets { style: &STYLE.name, script: &SCRIPT.name, icon: &ICON.name }
}

/// One of them. Its name changes with its content, so a browser may keep it.
pub(super) async fn asset(Path(name): Path<String>) -> Result<Response, ApiError> {
    let assets = [&*STYLE, &*SCRIPT, &*ICON];
    let Some(asset) = assets.into_iter().find(|asset| asset.name == name) else {
        let detail = "the page is of another release; reload it";
        return Err(ApiError::http(StatusCode::NOT_FOUND, "no_such_route", detail));
    };
    let mut response = asset.content.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.media));
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, kept);
    Ok(response)
}
