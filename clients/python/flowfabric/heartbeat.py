"""Renews the leases of a worker, all in one call, and learns from the answers what to stop.

What is stopped from outside (cancelled, revoked, expired) is announced by the server, and that lease is renewed at
once; a worker that cannot listen learns of it with the next renewal.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import Final

from .client import AsyncClient
from .errors import FlowFabricError
from .hold import Hold
from .http import TIMEOUT, Backoff, pause_unless, segment

__all__ = ["Heartbeat"]

log = logging.getLogger("flowfabric")

BATCH: Final = 1000
MIN_PAUSE: Final = 0.02
LISTEN: Final = 30.0


class Heartbeat:
    """The leases of one worker."""

    def __init__(self, client: AsyncClient, worker: str, instance: str) -> None:
        self._client, self._worker, self._instance = client, segment(worker), instance
        self._holds: dict[str, Hold] = {}
        self._timeouts: dict[str, asyncio.TimerHandle] = {}
        self._changed = asyncio.Event()
        self._holding = asyncio.Event()

    def add(self, hold: Hold) -> None:
        """Keeps this lease from now on."""
        lease = hold.fence["lease"]
        self._holds[lease] = hold
        self._changed.set()
        self._holding.set()
        span = hold.times_out_in()
        if span is not None:
            # By the clock of this process, so that it does not wait for the server to say so.
            self._timeouts[lease] = asyncio.get_running_loop().call_later(span, hold.stop, "timed_out")

    def remove(self, hold: Hold) -> None:
        """Keeps it no longer."""
        lease = hold.fence["lease"]
        self._holds.pop(lease, None)
        if timeout := self._timeouts.pop(lease, None):
            timeout.cancel()
        if not self._holds:
            self._holding.clear()

    async def beat(self) -> None:
        """Renews, each lease at a third of its length, for as long as this runs."""
        clock = asyncio.get_running_loop().time
        while True:
            kept = [hold for hold in self._holds.values() if hold.kept]
            self._changed.clear()
            if not kept:
                await self._changed.wait()
                continue
            pause = min(hold.renew_at for hold in kept) - clock()
            if pause > 0:
                await pause_unless(self._changed, pause)
                continue
            now = clock()
            due = [hold for hold in kept if hold.renew_at <= now + hold.ttl / 10][:BATCH]
            # A server that does not answer must not keep a holder from learning that its lease has ended.
            await self._renew(due, now, max(1.0, min(hold.ttl for hold in kept) / 3))
            await asyncio.sleep(MIN_PAUSE)

    async def _renew(self, due: list[Hold], sent: float, timeout: float) -> None:
        body = {"leases": [{"execution": hold.id, "fence": hold.fence} for hold in due]}
        query = {"namespace": self._client.namespace}
        try:
            path = f"/v1/workers/{self._worker}/heartbeat"
            answer = await self._client.http.once("POST", path, body, query=query, timeout=timeout)
        except FlowFabricError as error:
            log.warning("a heartbeat failed: %s", error)
            for hold in due:
                hold.unanswered()
            return
        for hold, view in zip(due, answer.json()["leases"]):
            hold.renewed(sent, view)

    def renew_now(self, executions: Collection[str] | None) -> None:
        """Renews the leases on these executions at once; `None` is all of them."""
        for hold in self._holds.values():
            if executions is None or hold.id in executions:
                hold.renew_at = 0.0
        self._changed.set()

    async def listen(self) -> None:
        """Learns what is stopped from outside, while something is held, for as long as this runs."""
        cursor: str | None = None
        backoff, clock = Backoff(1.0, 30.0), asyncio.get_running_loop().time
        while True:
            await self._holding.wait()
            query: dict[str, object] = {"namespace": self._client.namespace, "instance": self._instance}
            query |= {"after": cursor, "wait_ms": int(LISTEN * 1000)}
            sent = clock()
            try:
                answer = await self._client.http.once("GET", "/v1/stops", query=query, timeout=LISTEN + TIMEOUT)
            except FlowFabricError as error:
                log.debug("cannot listen for cancels; renewals find them: %s", error)
                await asyncio.sleep(backoff.pause())
                continue
            backoff.reset()
            news = answer.json()
            cursor = news["cursor"]
            if news["all"] or news["executions"]:
                self.renew_now(None if news["all"] else news["executions"])
            else:
                # A server that stops answers at once.
                await asyncio.sleep(max(0.0, sent + 1.0 - clock()))
