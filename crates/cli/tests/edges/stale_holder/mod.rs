//! A process that was stopped past the end of its leases changes nothing when it continues.
//!
//! The [`holder`] is this test binary, started again with the store named in its environment. It
//! takes every lease, is stopped by SIGSTOP, and after SIGCONT tries every call that a holder can
//! make.

mod fixture;
mod holder;

use ff_testkit::proxy::{Mode, Proxy};
use ff_testkit::valkey::{self, Config};
use fixture::{Fixture, LEASES};
use holder::Manner;

use crate::fixture::{Ff, wait_for};

/// A store on Valkey, and the server that keeps it.
fn on_valkey() -> (Ff, valkey::Server) {
    let server = valkey::Server::start(Config::default().with("appendfsync", "no"));
    (Ff::on(&server.url()), server)
}

/// A second holder has taken everything, and completed half of it.
fn holder_stopped_until_others_took_over(mut fixture: Fixture) {
    fixture.stop_holder();
    fixture.reclaim();
    let taken = fixture.take_over();
    fixture.complete(&taken[..LEASES / 2]);
    fixture.holder_changes_nothing(&holder::CALLS);
}

fn holder_stopped_past_its_leases(mut fixture: Fixture) {
    fixture.stop_holder();
    fixture.wait_for_lease_ends();
    fixture.holder_changes_nothing(&holder::CALLS);
}

#[test]
fn a_holder_stopped_until_others_took_over_changes_nothing() {
    if holder::is_this(Manner::OneByOne) {
        return;
    }
    let name = "a_holder_stopped_until_others_took_over_changes_nothing";
    holder_stopped_until_others_took_over(Fixture::new(name, Ff::new()));
}

#[test]
fn a_holder_stopped_past_its_leases_changes_nothing_though_no_timer_has_run() {
    if holder::is_this(Manner::OneByOne) {
        return;
    }
    let name = "a_holder_stopped_past_its_leases_changes_nothing_though_no_timer_has_run";
    holder_stopped_past_its_leases(Fixture::new(name, Ff::new()));
}

#[test]
fn on_valkey_a_holder_stopped_until_others_took_over_changes_nothing() {
    if holder::is_this(Manner::OneByOne) {
        return;
    }
    let (ff, _server) = on_valkey();
    let name = "on_valkey_a_holder_stopped_until_others_took_over_changes_nothing";
    holder_stopped_until_others_took_over(Fixture::new(name, ff));
}

#[test]
fn on_valkey_a_holder_stopped_past_its_leases_changes_nothing() {
    if holder::is_this(Manner::OneByOne) {
        return;
    }
    let (ff, _server) = on_valkey();
    let name = "on_valkey_a_holder_stopped_past_its_leases_changes_nothing";
    holder_stopped_past_its_leases(Fixture::new(name, ff));
}

#[test]
fn on_valkey_a_holder_stopped_between_its_load_and_its_commit_changes_nothing() {
    if holder::is_this(Manner::AtOnce) {
        return;
    }
    let (ff, server) = on_valkey();
    let proxy = Proxy::to(server.port());
    let name = "on_valkey_a_holder_stopped_between_its_load_and_its_commit_changes_nothing";
    let mut fixture = Fixture::with_holder_at(name, ff, &proxy.url());
    // It is stopped while its reads are in flight; the replies, from a time when it still
    // holds everything, wait for it.
    proxy.set_at("_load", Mode::Hold);
    fixture.let_holder_try();
    wait_for("the holder to load", || (proxy.mode() == Mode::Hold).then_some(()));
    fixture.stop_holder();
    let before = calls(&server);
    proxy.set(Mode::Forward);
    wait_for("the loads to be answered", || (calls(&server) > before).then_some(()));
    fixture.reclaim();
    let taken = fixture.take_over();
    fixture.complete(&taken[..LEASES / 2]);
    fixture.holder_changes_nothing(holder::DECIDED_HERE);
}

/// How many functions the server has run.
fn calls(server: &valkey::Server) -> u64 {
    let stats = server.command(&["INFO", "commandstats"]).unwrap().to_string();
    let fcall = stats.lines().find_map(|line| line.strip_prefix("cmdstat_fcall:calls="));
    fcall.and_then(|rest| rest.split(',').next()?.parse().ok()).unwrap_or(0)
}
