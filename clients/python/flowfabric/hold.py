"""One claimed execution, as its worker has it: its lease, its journal, and the calls that only its holder makes.

It belongs to the event loop of the heartbeats. Handlers reach it through `task.py`, from their own thread or loop.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from .client import AsyncClient
from .emit import Emitter
from .errors import FlowFabricError, Parked, PermanentError, RetryableError, Stopped, StopReason
from .http import Backoff, pause_unless, segment
from .payload import encode
from .views import Signal, Step, moment, payload_of
from .wait import Decision, OnTimeout, Reason, Wait, Waited
from .work import Duration, millis, present

__all__ = ["Hold"]

ENDS: Final = frozenset(("stale_lease", "cancelled", "exit_conflict", "not_found"))
"""Codes by which a holder learns that it holds nothing any more."""
MESSAGE_BYTES: Final = 4096


class Hold:
    """A lease and what belongs to it. Every call repeats itself while the lease is kept."""

    def __init__(self, client: AsyncClient, assignment: dict[str, Any], *, found_again: bool) -> None:
        self.assignment = assignment
        self.id: str = assignment["execution"]
        self.fence: dict[str, Any] = assignment["fence"]
        self.ttl: float = assignment["lease_ttl_ms"] / 1000
        self.client = client
        self.path = f"/v1/executions/{segment(self.id)}"
        self.parked = False
        self.stop_reason: StopReason | None = None
        self.lost = asyncio.Event()
        self.cancel_handler: Callable[[], object] = lambda: None
        now = asyncio.get_running_loop().time()
        # An answer that was lost may have come long after its lease began.
        self.renew_at = now if found_again else now + self.ttl / 3
        self.ends = now + self.ttl
        self.emitter: Emitter | None = None
        self._found: dict[str, Step] | None = None
        self._used: set[str] = set()
        self._reading = asyncio.Lock()
        self._patching = asyncio.Lock()
        self._patches: int | None = None

    @property
    def kept(self) -> bool:
        """Whether there is a lease left to keep."""
        return not self.parked and not self.lost.is_set()

    def times_out_in(self) -> float | None:
        """How long the attempt may run, if that is bounded."""
        timeout = self.assignment.get("timeout")
        if timeout is None:
            return None
        return (moment(timeout) - moment(self.assignment["claimed"])).total_seconds()

    def stop(self, reason: StopReason) -> None:
        """Tells the handler to stop. Only of `cancel_requested` a result in time still counts."""
        if not self.kept:
            return
        self.stop_reason = reason
        if reason != "cancel_requested":
            self.lost.set()

    def renewed(self, sent: float, view: Mapping[str, Any]) -> None:
        """Takes the answer to a renewal that was sent at this time."""
        status = view["status"]
        if status in ("renewed", "cancelling"):
            self.renew_at, self.ends = sent + self.ttl / 3, sent + self.ttl
            if view.get("cancel_by") is not None:
                left = (moment(view["cancel_by"]) - moment(view["until"])).total_seconds() + self.ttl
                self.renew_at = min(self.renew_at, sent + max(left, 0.02))
                self.stop("cancel_requested")
        elif status == "unknown":
            self.unanswered()
        else:
            cancelled = status == "cancelled" or self.stop_reason == "cancel_requested"
            self.stop("cancelled" if cancelled else "lease_lost")

    def unanswered(self) -> None:
        """A renewal has no answer: it is sent again soon, until the lease has surely ended."""
        now = asyncio.get_running_loop().time()
        if now < self.ends:
            self.renew_at = now + max(self.ttl / 10, 0.02)
        else:
            self.stop("lease_lost")

    def check(self) -> None:
        """Raises what ends the handler, if nothing that it does counts any more."""
        if self.parked:
            raise Parked
        if self.lost.is_set():
            raise Stopped(self.stop_reason or "lease_lost")

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """A call of the holder, repeated while the lease is kept. A refusal for what it asks is raised."""
        backoff, body = Backoff(), {"fence": self.fence, **body}
        query = {"namespace": self.client.namespace}
        while True:
            self.check()
            try:
                return (await self.client.http.once("POST", self.path + path, body, query=query)).json()
            except FlowFabricError as error:
                if error.code in ENDS:
                    self.stop("cancelled" if error.code == "cancelled" else "lease_lost")
                elif not error.retryable:
                    raise
                else:
                    await pause_unless(self.lost, max(backoff.pause(), error.retry_after or 0.0))

    async def ask(self, path: str, body: Mapping[str, Any]) -> Any:
        """A call of the handler: what is refused now is refused in every later attempt."""
        try:
            return await self.post(path, body)
        except FlowFabricError as error:
            raise PermanentError(str(error), category=error.code) from error

    # Reports.

    async def progress(self, percent: int | None = None, message: str | None = None) -> None:
        """Reports how far the task is."""
        await self.ask("/progress", present(percent=percent, message=message))

    async def report_usage(self, key: str, amounts: Mapping[str, int]) -> dict[str, int]:
        """Adds to what the task has used, and charges it to its budgets; answers all that it has used.

        `key` names this usage: it counts once, however often it is reported.
        """
        used: dict[str, int] = (await self.ask("/usage", {"key": key, "amounts": dict(amounts)}))["used"]
        return used

    async def release_usage(self, key: str, amounts: Mapping[str, int]) -> dict[str, int]:
        """Takes back from what was reported, under a key of its own; answers what is left."""
        body = {"key": key, "amounts": dict(amounts), "release": True}
        used: dict[str, int] = (await self.ask("/usage", body))["used"]
        return used

    async def summarize(self, patch: object) -> None:
        """Changes the summary of the task by a JSON Merge Patch (RFC 7396)."""
        async with self._patching:
            if self._patches is None:
                self._patches = (await self._get("/summary")).json()["patches"]
            # The number makes a repeated patch count once.
            answer = await self.ask("/summary", {"patch": patch, "number": self._patches})
            self._patches = answer["next"]

    # The stream.

    async def open_stream(self) -> Emitter:
        """What sends the frames of the task, from the first one on."""
        if self.emitter is None:
            self.emitter = Emitter(self.post, begins=self.fence["epoch"] == 1)
        return self.emitter

    async def flush(self) -> None:
        """Waits, for a bounded time, until all frames are acknowledged: they need the lease."""
        if self.emitter is not None:
            await self.emitter.flush()

    # The flow.

    async def upstream(self, node: str) -> Any:
        """The result of a node that this one depends on, by its name. One that did not complete has none."""
        answer = await self._get(f"/upstreams/{segment(node)}")
        return payload_of(answer.headers, answer.body).value()

    # The journal.

    def key(self, name: str) -> str:
        """The name of a step for the outside world."""
        digest = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
        return f"{self.id}-{self.assignment.get('generation', 0)}-{digest}"

    async def enter(self, name: str, kind: str) -> Step | None:
        """Uses a name, and gives what earlier attempts have left under it."""
        self.check()
        if name in self._used:
            why = f"the handler used the name {name!r} for two of its steps, sleeps and waits; give each its own"
            raise PermanentError(why, category="step_conflict")
        self._used.add(name)
        async with self._reading:
            if self._found is None:
                self._found = await self._journal() if self.assignment.get("steps") else {}
        found = self._found.get(name)
        if found is not None and found.kind != kind:
            why = f"the journal has a {found.kind} under the name {name!r}, which is now a {kind}; give it another name"
            raise PermanentError(why, category="step_conflict")
        return found

    def leave(self, name: str) -> None:
        """Frees the name of a step that has failed: it may be tried again."""
        self._used.discard(name)

    async def keep(self, name: str, result: object) -> Any:
        """Keeps the result of a step that has run, and gives it as every later attempt will get it."""
        try:
            payload = encode(result)
            await self.post("/steps", {"step": name, **payload.fields("result")})
        except FlowFabricError as error:
            why = f"step {name!r} has run, and its result cannot be kept: {error}; another attempt would run it again"
            raise PermanentError(why, category=error.code) from error
        return payload.value()

    async def sleep(self, name: str, duration: Duration) -> None:
        """Sleeps, for seconds or months, without holding the worker.

        The handler ends here, and runs again from its beginning when the time has come; the sleep is then over, in
        this and every later attempt. So put what comes before it into steps.
        """
        if await self.enter(name, "sleep") is None:
            await self._park("/delay", {"delay_ms": millis(duration), "step": name})

    async def wait_for_signal(
        self,
        name: str,
        wait: Wait | str,
        *,
        timeout: Duration | None = None,
        on_timeout: OnTimeout = "resume",
        reason: Reason = "signal",
        message: str | None = None,
    ) -> Waited:
        """Waits for signals, without holding the worker, as `sleep` does. A text is the key of one waitpoint.

        How it ended is kept under `name`, and returned in every later attempt.
        """
        entry = await self.enter(name, "wait")
        if entry is None:
            wait = Wait.at(wait) if isinstance(wait, str) else wait
            body = present(
                waitpoints=[{"key": key} for key in wait.waitpoints],
                condition=wait.condition,
                timeout_ms=None if timeout is None else millis(timeout),
                on_timeout=on_timeout,
                reason=reason,
                message=message,
                step=name,
                keep_if_satisfied=True,
            )
            await self._park("/suspend", body)
            # What it waits for had come, and the journal has that.
            entry = (await self._journal()).get(name)
            if entry is None:
                raise RetryableError(f"the journal does not show the end of {name!r}")
        numbers = entry.raw.get("signals") or []
        signals = tuple([await self._signal(number) for number in numbers])
        return Waited(signals, timed_out=bool(entry.raw.get("timed_out")))

    async def wait_for_approval(
        self,
        name: str,
        question: str,
        *,
        approvers: int = 1,
        timeout: Duration | None = None,
        waitpoint: str = "approval",
    ) -> Decision:
        """Asks people, and waits for their decision, without holding the worker.

        So many different people must say yes; one no is enough for a no. They answer with `ff approve` and
        `ff reject`, at a link, on the dashboard, or by `Handle.approve`.
        """
        yes = Wait.at(waitpoint, named="approve", sources=approvers)
        wait = Wait.any(yes, Wait.at(waitpoint, named="reject"))
        waited = await self.wait_for_signal(name, wait, timeout=timeout, reason="approval", message=question)
        return Decision.of(waited)

    async def open_waitpoint(self, waitpoint: str, *, timeout: Duration | None = None) -> str | None:
        """Opens a waitpoint before the task waits for it, and gives a token that sends signals there.

        The token is `None` if the server signs none. A waitpoint that is open stays as it is.
        """
        body = {"waitpoint": present(key=waitpoint, timeout_ms=None if timeout is None else millis(timeout))}
        token: str | None = (await self.ask("/waitpoints", body)).get("token")
        return token

    async def close_waitpoint(self, waitpoint: str) -> None:
        """Closes a waitpoint, for ever."""
        await self.ask(f"/waitpoints/{segment(waitpoint)}/close", {})

    async def _park(self, path: str, body: Mapping[str, Any]) -> None:
        """Makes the call that ends the hold, and the handler with it; returns if the hold was kept."""
        await self.flush()
        answer = await self.ask(path, body)
        if "outcome" in answer or answer.get("exit") is not None:
            self.parked = True
            raise Parked

    async def _journal(self) -> dict[str, Step]:
        pages = self.client.pages(f"{self.path}/steps", "steps", {"visible": "true", "limit": 100})
        return {view["step"]: Step.of(view) async for view in pages}

    async def _signal(self, number: int) -> Signal:
        page = (await self._get("/signals", {"cursor": number, "limit": 1})).json()["signals"]
        if not page or page[0]["number"] != number:
            raise RetryableError(f"signal {number} is not there")
        return Signal.of(page[0])

    async def _get(self, path: str, query: Mapping[str, object] | None = None) -> Any:
        return await self.client.call("GET", self.path + path, query=query)
