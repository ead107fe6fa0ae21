//! Logging in with a token, and out.

use askama::Template;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};

use super::page::{bare, bare_again, problem, redirect_with};
use super::sessions::SessionId;
use super::visitor::{Visitor, own, read};
use crate::auth;
use crate::state::AppState;
use crate::urlencoded::{Fields, encoded};

#[derive(Template)]
#[template(path = "login.html")]
struct Form<'a> {
    next: &'a str,
    wrong: bool,
}

/// Sends a visitor to the form, and from there back to the page. A link on a page of another origin
/// brings no cookie along, so such a visit is repeated from here before a token is asked for.
pub(super) fn required(uri: &Uri, headers: &HeaderMap) -> Response {
    let from_elsewhere = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
    if from_elsewhere && SessionId::of(headers).is_none() {
        return bare_again(StatusCode::OK, "FlowFabric", "", true);
    }
    let page = uri.path_and_query().map_or("/", |page| page.as_str());
    Redirect::to(&format!("/login?next={}", encoded(page))).into_response()
}

/// The form.
pub(super) async fn form(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let fields = Fields::parse(parts.uri.query().unwrap_or_default().as_bytes());
    let next = local(fields.as_ref().and_then(|fields| fields.get("next")));
    match Visitor::of(&state, &parts.headers).await {
        Ok(Some(_)) => Redirect::to(&next).into_response(),
        Ok(None) => shown(&next, false),
        Err(error) => problem(&state, None, &parts.uri, error),
    }
}

fn shown(next: &str, wrong: bool) -> Response {
    let status = if wrong { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
    bare(status, "Log in", &Form { next, wrong }.render().unwrap_or_default())
}

/// Starts a session for who shows a token that the server accepts.
pub(super) async fn begin(State(state): State<AppState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let checked = async {
        own(&parts.headers)?;
        let fields = read(&state, &parts.headers, body).await?;
        let token = fields.get("token").unwrap_or_default().to_owned();
        let accepted = match auth::caller(&state, Some(&token)).await {
            Ok(_) => true,
            Err(error) if error.status == StatusCode::UNAUTHORIZED => false,
            Err(error) => return Err(error),
        };
        Ok((local(fields.get("next")), token, accepted))
    };
    match checked.await {
        Ok((next, token, true)) => {
            let id = state.dashboard.sessions.begin(&token);
            redirect_with(&next, &id.cookie(state.config.tls.is_some()))
        }
        Ok((next, _, false)) => shown(&next, true),
        Err(error) => problem(&state, None, &parts.uri, error),
    }
}

/// Ends the session.
pub(super) async fn end(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    if let Err(error) = own(&parts.headers) {
        return problem(&state, None, &parts.uri, error);
    }
    if let Some(id) = SessionId::of(&parts.headers) {
        state.dashboard.sessions.end(&id);
    }
    redirect_with("/login", &SessionId::no_cookie(state.config.tls.is_some()))
}

/// A page of this server: nothing that a browser would take for another host.
fn local(next: Option<&str>) -> String {
    let is_local = |next: &&str| {
        let plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        plain && next.starts_with('/') && !next.starts_with("//") && !next.starts_with("/login")
    };
    next.filter(is_local).unwrap_or("/").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_login_nobody_is_sent_elsewhere() {
        for next in ["/", "/executions?lane=a", "/executions/x#y"] {
            assert_eq!(local(Some(next)), next);
        }
        for next in [
            "//evil.example",
            "https://evil.example",
            "/\\evil.example",
            "evil",
            "",
            "/login?next=/",
            "/\t/evil.example",
            "/a\nb",
        ] {
            assert_eq!(local(Some(next)), "/", "{next}");
        }
        assert_eq!(local(None), "/");
    }
}
