"""What calls answer, as values. `raw` has the whole answer, with the fields of `/openapi.json`."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from .payload import Payload, decode, decode_text

__all__ = ["Attempt", "Execution", "Explanation", "Frame", "Signal", "State", "Step"]

State = Literal[
    "waiting",
    "waiting_children",
    "delayed",
    "rate_limited",
    "suspended",
    "active",
    "resumable",
    "completed",
    "failed",
    "cancelled",
    "expired",
    "skipped",
]
"""The public state of an execution; the last five are ends."""

ENDS = frozenset(("completed", "failed", "cancelled", "expired", "skipped"))


def moment(text: str) -> datetime:
    """A time of the store."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


@dataclass(frozen=True)
class Execution:
    """One unit of work, as it is now."""

    id: str
    state: State
    kind: str
    lane: str
    run: int
    attempts: int
    """How many attempts there were, over all runs."""
    created: datetime
    reason: str | None
    """Why it ended as it did, or what it waits for; `None` when it completed."""
    tags: dict[str, str]
    used: dict[str, int]
    raw: dict[str, Any] = field(repr=False, compare=False)

    @property
    def ended(self) -> bool:
        """Whether it is at its end."""
        return self.state in ENDS

    @staticmethod
    def of(view: dict[str, Any]) -> Execution:
        return Execution(
            id=view["id"],
            state=view["state"],
            kind=view["kind"],
            lane=view["lane"],
            run=view["run"],
            attempts=view["attempts"],
            created=moment(view["created"]),
            reason=view.get("reason"),
            tags=view["tags"],
            used=view["used"],
            raw=view,
        )


@dataclass(frozen=True)
class Explanation:
    """Why an execution is in its state. As text it is a sentence for people."""

    id: str
    state: State
    sentence: str
    reasons: list[dict[str, Any]]
    """The same for programs; what keeps it from running comes first."""

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Attempt:
    """One try."""

    number: int
    run: int
    status: str
    """`open`, `completed`, `failed`, `timed_out`, `lease_lost`, `cancelled` or `expired`."""
    worker: str
    message: str | None
    """What went wrong."""
    raw: dict[str, Any] = field(repr=False, compare=False)

    @staticmethod
    def of(view: dict[str, Any]) -> Attempt:
        failure = view.get("failure") or {}
        return Attempt(view["attempt"], view["run"], view["status"], view["worker"], failure.get("message"), view)


@dataclass(frozen=True)
class Step:
    """An entry of a journal: what a step, a sleep or a wait has come to."""

    number: int
    name: str
    kind: Literal["step", "sleep", "wait"]
    visible: bool
    attempt: int
    result: Any
    raw: dict[str, Any] = field(repr=False, compare=False)

    @staticmethod
    def of(view: dict[str, Any]) -> Step:
        result = decode(view, "result")
        return Step(view["number"], view["step"], view["kind"], view["visible"], view["attempt"], result, view)


@dataclass(frozen=True)
class Frame:
    """A part of what an execution streams."""

    number: int
    type: str
    attempt: int
    data: bytes

    @property
    def text(self) -> str:
        """Its bytes as text; what is no UTF-8 is replaced."""
        return self.data.decode(errors="replace")

    @staticmethod
    def of(view: dict[str, Any]) -> Frame:
        text = view.get("text")
        data = text.encode() if text is not None else base64.b64decode(view.get("base64") or "")
        return Frame(view["number"], view["type"], view["attempt"], data)


@dataclass(frozen=True)
class Signal:
    """A signal that has come."""

    number: int
    waitpoint: str
    name: str | None
    source: str
    """Who sent it, as the server knows it."""
    payload: Any

    @staticmethod
    def of(view: dict[str, Any]) -> Signal:
        return Signal(view["number"], view["key"], view.get("name"), view["source"], decode_text(view["payload"]))


def payload_of(headers: Any, body: bytes) -> Payload:
    """The payload that an answer is."""
    return Payload(body, headers.get("content-type", "application/octet-stream"))
