"""What a task waits for, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from .views import Signal

__all__ = ["Decision", "OnTimeout", "Reason", "Vote", "Wait", "Waited"]

OnTimeout = Literal["resume", "fail", "cancel", "expire"]
"""What happens to a task whose wait is over time; by default it continues and learns of it."""
Reason = Literal["signal", "approval", "callback", "tool_result"]
"""The kind of answer that is waited for, by which people list it."""


@dataclass(frozen=True)
class Wait:
    """Signals at waitpoints: so many, or of so many senders, all or any of several such conditions.

    >>> paid = Wait.at("payment", named="paid")
    >>> signed = Wait.all(Wait.at("board", sources=2), Wait.any(Wait.at("legal"), Wait.at("chair")))
    >>> quorum = Wait.at("a", "b", "c", "d", waitpoints=3)
    """

    condition: dict[str, Any]
    waitpoints: tuple[str, ...]

    @staticmethod
    def at(
        *waitpoint: str,
        named: str | None = None,
        signals: int | None = None,
        sources: int | None = None,
        waitpoints: int | None = None,
    ) -> Wait:
        """A signal at one of these waitpoints, which are opened unless they are; only of this name, if one is given.

        Give one of `signals` (so many), `sources` (of so many different senders) and `waitpoints` (at so many of
        them) for more than one.
        """
        counts = {"signals": signals, "sources": sources, "waitpoints": waitpoints}
        given = [(of, n) for of, n in counts.items() if n is not None]
        if not waitpoint or len(given) > 1:
            raise ValueError("a wait has one or more waitpoints, and one of signals, sources and waitpoints at most")
        of, n = given[0] if given else ("signals", 1)
        count: dict[str, Any] = {"n": n, "of": of, "waitpoints": list(waitpoint), "name": named}
        return Wait({"count": count}, waitpoint)

    @staticmethod
    def all(*parts: Wait) -> Wait:
        """All of these."""
        return Wait({"all": [part.condition for part in parts]}, _distinct(parts))

    @staticmethod
    def any(*parts: Wait) -> Wait:
        """One of these."""
        return Wait({"any": [part.condition for part in parts]}, _distinct(parts))


def _distinct(parts: Iterable[Wait]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for part in parts for key in part.waitpoints))


@dataclass(frozen=True)
class Waited:
    """How a wait ended: by signals, by its time (`timed_out`), or, without either, by an operator."""

    signals: tuple[Signal, ...]
    timed_out: bool = False

    @property
    def signal(self) -> Signal | None:
        """The first signal, if one has come."""
        return self.signals[0] if self.signals else None


@dataclass(frozen=True)
class Vote:
    """What one person has decided."""

    by: str
    """Who, as the server knows them."""
    approved: bool
    comment: str | None


@dataclass(frozen=True)
class Decision:
    """What people have decided. `outcome` is `resumed` if an operator ended the wait without them."""

    outcome: Literal["approved", "rejected", "timed_out", "resumed"]
    votes: tuple[Vote, ...]
    """Who said yes; or, after a no, who said that."""

    @property
    def approved(self) -> bool:
        """Whether the answer is yes."""
        return self.outcome == "approved"

    @staticmethod
    def of(waited: Waited) -> Decision:
        if not waited.signals:
            return Decision("timed_out" if waited.timed_out else "resumed", ())
        votes = [_vote(signal) for signal in waited.signals if signal.name in ("approve", "reject")]
        against = tuple(vote for vote in votes if not vote.approved)
        return Decision("rejected", against[:1]) if against else Decision("approved", tuple(votes))


def _vote(signal: Signal) -> Vote:
    said = signal.payload.get("comment") if isinstance(signal.payload, dict) else None
    return Vote(signal.source, signal.name == "approve", said if isinstance(said, str) else None)
