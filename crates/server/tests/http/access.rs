//! The table of roles at work: every route, every method, every role, in and out of its namespace.

use std::collections::BTreeMap;

use ff_core::credential::Role;
use ff_server::RouteAccess;

use crate::fixture::raw::Wire;
use crate::fixture::routes::METHODS;
use crate::fixture::{Fixture, TOKEN};
use crate::tokens::guarded;

/// Who may do what, written down a second time: P, W, O, A, R are the roles, `*` is every one, `!`
/// is every one of these whose token reaches every namespace.
const MAY: &str = "
    append_frames            WO
    bulk_executions          O
    cancel_execution         PO
    cancel_flow              PO
    cancel_held_execution    WO
    claim_executions         WO
    claim_granted_execution  WO
    close_waitpoint          WO
    complete_execution       WO
    complete_executions      WO
    create_token             -
    create_waitpoint_token   WO
    delay_execution          WO
    delete_budget            O
    delete_execution         O
    delete_quota             O
    delete_schedule          O
    delete_webhook           O
    disconnect_worker        WO
    explain_execution        *
    fail_execution           WO
    get_budget               *
    get_execution            *
    get_execution_input      *
    get_execution_result     *
    get_feed                 *
    get_flow                 *
    get_lane                 *
    get_metrics              OR!
    get_openapi              *
    get_quota                *
    get_schedule             *
    get_summary              *
    get_upstream_result      *
    get_waitpoints           *
    get_webhook              O
    get_webhooks             O
    grant_execution          WO
    list_budgets             *
    list_execution_attempts  *
    list_executions          *
    list_execution_steps     *
    list_flows               *
    list_lanes               *
    list_quotas              *
    list_schedules           *
    list_signals             *
    list_tokens              -
    list_workers             *
    open_waitpoint           WO
    patch_summary            WO
    put_budget               O
    put_quota                O
    read_events              *
    put_schedule             O
    pause_schedule           O
    resume_schedule          O
    backfill_schedule        O
    run_schedule             PO
    put_webhook              O
    read_stream              *
    record_step              WO
    register_worker          WO
    replay_execution         PO
    replay_flow              PO
    report_progress          WO
    report_usage             WO
    reset_budget             O
    resume_execution         O
    revoke_lease             O
    revoke_token             -
    send_heartbeat           WO
    set_execution_priority   PO
    set_execution_tags       PO
    signal_execution         AO
    submit_execution         PO
    submit_executions        PO
    submit_flow              PO
    suspend_execution        WO
    update_feed              O
    update_lane              O
    wait_for_stops           WO
";

/// The routes that are of no namespace.
const OF_THE_SERVER: [&str; 5] =
    ["create_token", "list_tokens", "revoke_token", "get_metrics", "get_openapi"];

/// The routes that require no token.
const OPEN: [&str; 5] =
    ["get_liveness", "get_readiness", "get_health", "get_error_page", "signal_by_token"];

fn may() -> BTreeMap<&'static str, &'static str> {
    let lines = MAY.lines().filter_map(|line| line.trim().split_once(' '));
    lines.map(|(operation, who)| (operation, who.trim())).collect()
}

fn letter(role: Role) -> char {
    role.as_str().to_uppercase().chars().next().unwrap()
}

fn filled(path: &str) -> String {
    let id = "01900000-0000-7000-8000-000000000000";
    let path = path.replace("/v1/executions/{id}", &format!("/v1/executions/{id}"));
    let path = path.replace("/v1/flows/{id}", &format!("/v1/flows/{id}"));
    path.replace("{id}", "w")
        .replace("{node}", "n")
        .replace("{key}", "k")
        .replace("{name}", "n")
        .replace("{lane}", "l")
        .replace("{code}", "c")
}

/// The guarded routes, each with who may call it.
fn routes() -> Vec<(RouteAccess, &'static str)> {
    let may = may();
    let routes = ff_server::access().into_iter();
    let guarded = routes.filter(|route| !OPEN.contains(&route.operation.as_str()));
    let routes: Vec<_> = guarded
        .map(|route| {
            let who = *may.get(route.operation.as_str()).unwrap_or_else(|| {
                panic!("{} {} is not in this test's table", route.method, route.path)
            });
            (route, who)
        })
        .collect();
    assert_eq!(routes.len(), may.len(), "this test's table has a line too many");
    routes
}

/// A token of each role in `acme`, and one of each in every namespace.
async fn tokens(server: &Fixture) -> Vec<(Role, bool, String)> {
    let mut tokens = Vec::new();
    for role in Role::ALL {
        let own = server.issued(&format!("own-{role}"), *role, &["acme", "beta"]).await;
        let every = server.issued(&format!("every-{role}"), *role, &["*"]).await;
        tokens.extend([(*role, false, own), (*role, true, every)]);
    }
    tokens
}

#[tokio::test]
async fn every_route_lets_in_exactly_the_roles_that_may() {
    let server = guarded().await;
    let tokens = tokens(&server).await;
    let (mut allowed, mut refused) = (0, 0);
    for (route, who) in routes() {
        let path = match OF_THE_SERVER.contains(&route.operation.as_str()) {
            true => filled(&route.path),
            false => format!("{}?namespace=acme", filled(&route.path)),
        };
        for (role, every, token) in &tokens {
            let named = who.contains('*') || who.contains(letter(*role));
            let lets_in = named && (*every || !who.ends_with('!'));
            let answer = server.call_as(token, route.method.as_str(), &path).await;
            let what = format!("{} {path} as {role}, every namespace: {every}", route.method);
            match lets_in {
                true => assert!(![401, 403].contains(&answer.status), "{what}: {answer:?}"),
                false => {
                    let problem = answer.problem(403, "forbidden");
                    assert!(problem.detail.contains(role.as_str()), "{what}: {problem:?}");
                    for may in Role::ALL.iter().filter(|may| who.contains(letter(**may))) {
                        assert!(problem.detail.contains(may.as_str()), "{what}: {problem:?}");
                    }
                    assert!(problem.detail.contains("root"), "{what}: {problem:?}");
                }
            }
            if lets_in { allowed += 1 } else { refused += 1 }
        }
        let root = server.call_as(TOKEN, route.method.as_str(), &path).await;
        assert!(![401, 403].contains(&root.status), "{} {path} as root: {root:?}", route.method);
    }
    assert!(allowed > 200 && refused > 150, "{allowed} allowed, {refused} refused");
}

#[tokio::test]
async fn another_namespace_is_not_there_whatever_the_role() {
    let server = guarded().await;
    let tokens = tokens(&server).await;
    for (route, _) in routes() {
        if OF_THE_SERVER.contains(&route.operation.as_str()) {
            continue;
        }
        for (role, _, token) in tokens.iter().filter(|(_, every, _)| !every) {
            for query in ["", "?namespace=rival", "?n%61mespace=riv%61l", "?x=1&namespace=rival"] {
                let path = format!("{}{query}", filled(&route.path));
                let answer = server.call_as(token, route.method.as_str(), &path).await;
                let what = format!("{} {path} as {role}", route.method);
                assert_eq!(answer.status, 404, "{what}: {answer:?}");
                answer.problem(404, "not_found");
            }
            // Whatever the server makes of two, it is not the other one.
            for query in ["?namespace=acme&namespace=rival", "?namespace=rival&namespace=acme"] {
                let path = format!("{}{query}", filled(&route.path));
                let answer = server.call_as(token, route.method.as_str(), &path).await;
                answer.problem(400, "invalid_query");
            }
        }
    }
}

#[tokio::test]
async fn every_method_of_every_path_is_refused_by_role_or_not_taken() {
    let server = guarded().await;
    let approver = server.issued("ann", Role::Approver, &["acme"]).await;
    for (route, who) in routes() {
        let lets_in = who.contains('*') || who.contains('A');
        let path = format!("{}?namespace=acme", filled(&route.path));
        let path = if OF_THE_SERVER.contains(&route.operation.as_str()) {
            filled(&route.path)
        } else {
            path
        };
        let taken: Vec<_> = ff_server::access()
            .into_iter()
            .filter(|other| other.path == route.path)
            .map(|other| other.method.to_string())
            .collect();
        for method in METHODS {
            let read = if method == "HEAD" { "GET" } else { method };
            let mut wire = Wire::open(server.address).await;
            let request = format!(
                "{method} {path} HTTP/1.1\r\nhost: ff\r\nauthorization: Bearer {approver}\r\n\r\n"
            );
            wire.send(request).await;
            let answer = wire.answer_to(method).await.unwrap();
            let what = format!("{method} {path}: {answer:?}");
            match (taken.iter().any(|taken| taken == read), read == route.method.as_str()) {
                (false, _) => assert_eq!(answer.status, 405, "{what}"),
                (true, true) if lets_in => assert_ne!(answer.status, 403, "{what}"),
                (true, true) => assert_eq!(answer.status, 403, "{what}"),
                // Another line of the table.
                (true, false) => assert_ne!(answer.status, 401, "{what}"),
            }
        }
    }
}

#[test]
fn the_document_says_which_roles_may() {
    let document = serde_json::to_value(ff_server::openapi()).unwrap();
    for (route, who) in routes() {
        let method = route.method.as_str().to_lowercase();
        let roles = &document["paths"][&route.path][&method]["x-roles"];
        let listed = roles.as_array().unwrap_or_else(|| panic!("{method} {}", route.path));
        let expected: Vec<_> = match who {
            "-" => vec!["root"],
            _ => {
                let may = |role: &&Role| who.contains('*') || who.contains(letter(**role));
                Role::ALL.iter().filter(may).map(|role| role.as_str()).collect()
            }
        };
        assert_eq!(listed.iter().map(|role| role.as_str().unwrap()).collect::<Vec<_>>(), expected);
    }
    for path in ["/livez", "/readyz", "/healthz", "/errors/{code}"] {
        assert!(document["paths"][path]["get"]["x-roles"].is_null(), "{path}");
    }
}
