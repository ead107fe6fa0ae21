"""Work that is described: what to submit, alone or as a node of a flow."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from .payload import encode

__all__ = ["Duration", "Work", "work"]

Duration = float | timedelta
"""Seconds, or a `timedelta`."""


def millis(duration: Duration) -> int:
    """A duration as the API takes it."""
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    return max(0, round(seconds * 1000))


def new_id() -> str:
    """The id of a new execution: a UUIDv7."""
    bits = (time.time_ns() // 1_000_000) << 80 | 7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    text = f"{bits:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def present(**fields: Any) -> dict[str, Any]:
    """The fields that are given."""
    return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True)
class Work:
    """Work that is described, and not yet submitted."""

    key: str | None
    body: Mapping[str, Any]


def work(
    kind: str,
    input: object = None,
    *,
    lane: str | None = None,
    key: str | None = None,
    priority: int | None = None,
    delay: Duration | None = None,
    tags: Mapping[str, str] | None = None,
    requires: Iterable[str] = (),
    budgets: Iterable[str] = (),
    quotas: Iterable[str] = (),
    estimate: Mapping[str, int] | None = None,
    max_attempts: int | None = None,
    backoff: tuple[Duration, Duration] | None = None,
    attempt_timeout: Duration | None = None,
    deadline: Duration | None = None,
    lease_ttl: Duration | None = None,
    retention: Duration | None = None,
) -> Work:
    """Describes work of a kind. The input is a JSON value, `bytes`, or a `Payload`.

    The same `key` with the same work is the same execution, however often it is submitted. `backoff` is the wait
    after the first failure, and the longest. What is not given is as the lane says, or the default of the server.
    """
    policy = present(
        max_attempts=max_attempts,
        backoff=present(base_ms=millis(backoff[0]), cap_ms=millis(backoff[1])) if backoff else None,
        attempt_timeout_ms=None if attempt_timeout is None else millis(attempt_timeout),
        deadline_ms=None if deadline is None else millis(deadline),
        lease_ttl_ms=None if lease_ttl is None else millis(lease_ttl),
        retention_ms=None if retention is None else millis(retention),
    )
    body = present(
        kind=kind,
        lane=lane,
        priority=priority,
        delay_ms=None if delay is None else millis(delay),
        tags=dict(tags or {}),
        requires=list(requires),
        limits={"budgets": list(budgets), "quotas": list(quotas), "estimate": dict(estimate or {})},
        policy=policy,
    )
    return Work(key, body | encode(input).fields("input"))
