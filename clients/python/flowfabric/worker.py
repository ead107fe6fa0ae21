"""The loop of a worker: claims for its free slots, runs handlers, reports how they ended, and drains.

All of it runs on a thread of its own, with the heartbeats. Plain handlers run on a thread each, coroutines on the
loop that serves. A handler that blocks therefore costs nobody a lease.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from .background import Background
from .client import AsyncClient
from .errors import (
    CancelTask,
    DelayTask,
    FlowFabricError,
    InvalidRequest,
    PermanentError,
    RetryableError,
    ServerFailed,
    Stopped,
)
from .heartbeat import Heartbeat
from .hold import MESSAGE_BYTES, Hold
from .http import TIMEOUT, Backoff, pause_unless, segment
from .payload import encode
from .task import AsyncTask, Task
from .work import millis

__all__ = ["Handler", "Settings", "Worker"]

T = TypeVar("T")
log = logging.getLogger("flowfabric")

POLL: Final = 20.0
"""How long a claim waits for work in the only lane."""
POLL_SEVERAL: Final = 1.0
"""How long it waits in one lane of several; then it scans the others again."""
POLL_IDLE: Final = 0.5
CLAIM: Final = 256
REGISTRATION: Final = 60.0
"""How long a registered worker may be silent."""
UNWIND: Final = 2.0
"""How long handlers have to end once their tasks were handed back."""


@dataclass(frozen=True)
class Handler:
    """A function that handles one kind of work."""

    call: Callable[..., Any]
    is_async: bool
    takes_task: bool
    takes_input: bool

    def arguments(self, task: Task | AsyncTask) -> list[Any]:
        """What it is called with. An input that does not decode now will not decode at the next try either."""
        try:
            return ([task] if self.takes_task else []) + ([task.input] if self.takes_input else [])
        except InvalidRequest as error:
            raise PermanentError(f"the input does not decode: {error.message}", category=error.code) from error


@dataclass(frozen=True)
class Settings:
    """How a worker works."""

    handlers: dict[str, Handler]
    lanes: tuple[str, ...]
    name: str
    instance: str
    capabilities: tuple[str, ...]
    concurrency: int
    drain: float
    until_idle: bool


@dataclass(frozen=True)
class _Ended:
    """How a handler ended: with a value, or by an exception."""

    value: Any = None
    error: BaseException | None = None


class Worker:
    """One run of a worker. `work` runs on the background's loop, and coroutines on the one that serves."""

    def __init__(
        self, settings: Settings, client: AsyncClient, background: Background, serving: asyncio.AbstractEventLoop
    ) -> None:
        self._settings, self._client, self._background, self._serving = settings, client, background, serving
        self._path = f"/v1/workers/{segment(settings.name)}"
        self._who = {"instance": settings.instance, "session": str(uuid.uuid4())}
        self._heartbeat = Heartbeat(client, settings.name, settings.instance)
        self._running: dict[asyncio.Task[None], Hold] = {}
        self._turn = 0
        self._ended, self._draining, self._at_once = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def stop(self) -> None:
        """Claims nothing more, and lets tasks finish for the drain time; called again, hands them back at once.

        It may be called from any thread, also after its end.
        """
        with contextlib.suppress(RuntimeError):
            self._background.loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        (self._at_once if self._draining.is_set() else self._draining).set()

    async def work(self, connected: Callable[[], None]) -> None:
        """Works until it is told to stop, or a claim is refused in a way that repeating does not change."""
        registered = await self._register()
        kept = [self._stay_registered(registered), self._heartbeat.beat(), self._heartbeat.listen()]
        services = [asyncio.create_task(service) for service in kept]
        connected()
        try:
            await self._dispatch()
        finally:
            await self._drain()
            for service in services:
                service.cancel()
            await asyncio.gather(*services, return_exceptions=True)
            await self._call_gently("/disconnect", self._who)

    # Registration: for people and `ff explain`; claims do not need it.

    async def _register(self) -> bool:
        try:
            await self._post("/register", self._registration())
            return True
        except FlowFabricError as error:
            if not error.retryable:
                raise
            log.warning("the worker is not registered; trying again: %s", error)
            return False

    def _registration(self) -> dict[str, Any]:
        settings = self._settings
        lanes, capabilities = list(settings.lanes), list(settings.capabilities)
        return {**self._who, "lanes": lanes, "capabilities": capabilities, "ttl_ms": millis(REGISTRATION)}

    async def _stay_registered(self, registered: bool) -> None:
        while True:
            await asyncio.sleep(REGISTRATION / 3 if registered else 2.0)
            try:
                if registered:
                    await self._post("/heartbeat", self._who)
                else:
                    await self._post("/register", self._registration())
                registered = True
            except FlowFabricError as error:
                log.warning("the worker is not registered; trying again: %s", error)
                registered = registered and error.retryable

    # Claims.

    async def _dispatch(self) -> None:
        while not self._draining.is_set():
            free = self._settings.concurrency - len(self._running)
            if free <= 0:
                self._ended.clear()
                await self._unless_draining(self._ended.wait())
                continue
            idle = not self._running
            claimed = await self._unless_draining(self._claim(min(free, CLAIM)))
            for hold in claimed or []:
                self._start(hold)
            if self._settings.until_idle and idle and not claimed:
                return

    async def _unless_draining(self, call: Coroutine[Any, Any, T]) -> T | None:
        """What the call answers; `None` if the worker is to stop first, which ends the call."""
        task, draining = asyncio.create_task(call), asyncio.create_task(self._draining.wait())
        try:
            await asyncio.wait({task, draining}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            # The server hands back what it claims for a connection that is closed.
            return None
        finally:
            draining.cancel()
            task.cancel()
            await asyncio.gather(task, draining, return_exceptions=True)

    async def _claim(self, most: int) -> list[Hold]:
        """Scans every lane once, beginning with the next in turn, then waits in that one."""
        lanes = self._settings.lanes
        first = self._turn = (self._turn + 1) % len(lanes)
        if len(lanes) > 1:
            for place in range(len(lanes)):
                if claimed := await self._claim_lane(lanes[(first + place) % len(lanes)], most, 0.0):
                    return claimed
        wait = POLL_IDLE if self._settings.until_idle else POLL if len(lanes) == 1 else POLL_SEVERAL
        return await self._claim_lane(lanes[first], most, wait)

    async def _claim_lane(self, lane: str, most: int, wait: float) -> list[Hold]:
        """Claims. A claim whose outcome is unknown is sent again under the same `request`, and gets what it took."""
        body = {"instance": self._settings.instance, "lane": lane, "max": most, "wait_ms": millis(wait)}
        body |= {"capabilities": list(self._settings.capabilities), "request": str(uuid.uuid4()), "retry": False}
        backoff = Backoff(longest=5.0)
        while True:
            try:
                answer = (await self._post("/claim", body, timeout=TIMEOUT + wait)) or {}
                again = bool(body["retry"])
                return [Hold(self._client, view, found_again=again) for view in answer.get("assignments", [])]
            except FlowFabricError as error:
                if _is_final(error):
                    raise
                pause = max(backoff.pause(), error.retry_after or 0.0)
                log.warning("cannot claim; trying again: %s", error)
            body["retry"] = True
            await asyncio.sleep(pause)

    # Tasks.

    def _start(self, hold: Hold) -> None:
        self._heartbeat.add(hold)
        task = asyncio.create_task(self._run(hold))
        self._running[task] = hold
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._heartbeat.remove(self._running.pop(task))
        self._ended.set()

    async def _run(self, hold: Hold) -> None:
        try:
            ended = await self._handle(hold)
            await hold.flush()
            if hold.kept:
                await self._report(hold, ended)
            elif not hold.parked:
                log.warning("%s was stopped: %s", hold.id, hold.stop_reason)
        except Stopped as stopped:
            log.warning("%s was stopped: %s", hold.id, stopped.reason)
        except FlowFabricError as error:
            log.error("%s: its end cannot be reported: %s", hold.id, error)
        except Exception:
            log.exception("%s: its lease is left to expire", hold.id)

    async def _handle(self, hold: Hold) -> _Ended:
        """Runs the handler to its end. One whose task is lost is told so; a coroutine is cancelled."""
        handler = self._settings.handlers.get(hold.assignment["kind"])
        if handler is None:
            kinds = ", ".join(sorted(self._settings.handlers))
            why = f"no handler for kind {hold.assignment['kind']}; this worker has {kinds}"
            return _Ended(error=RetryableError(why, category="no_handler"))
        started = self._start_async(handler, hold) if handler.is_async else self._start_plain(handler, hold)
        running = asyncio.ensure_future(asyncio.wrap_future(started))
        lost = asyncio.create_task(hold.lost.wait())
        try:
            await asyncio.wait((running, lost), return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                self._serving.call_soon_threadsafe(lambda: hold.cancel_handler())
            return await asyncio.shield(running)
        finally:
            lost.cancel()

    def _start_plain(self, handler: Handler, hold: Hold) -> concurrent.futures.Future[_Ended]:
        ended: concurrent.futures.Future[_Ended] = concurrent.futures.Future()

        def run() -> None:
            try:
                value = handler.call(*handler.arguments(Task(self._background, hold)))
                ended.set_result(_Ended(value))
            except BaseException as error:
                ended.set_result(_Ended(error=error))

        # A daemon: a handler that never ends does not keep the process.
        threading.Thread(target=run, name=f"flowfabric-{hold.id}", daemon=True).start()
        return ended

    def _start_async(self, handler: Handler, hold: Hold) -> concurrent.futures.Future[_Ended]:
        async def run() -> _Ended:
            task = asyncio.current_task()
            assert task is not None
            hold.cancel_handler = task.cancel
            try:
                hold.check()
                return _Ended(await handler.call(*handler.arguments(AsyncTask(self._background, hold))))
            except BaseException as error:
                return _Ended(error=error)

        return asyncio.run_coroutine_threadsafe(run(), self._serving)

    async def _report(self, hold: Hold, ended: _Ended) -> None:
        """Says how a task ended. The heartbeat keeps its lease until that is acknowledged."""
        error = ended.error
        if error is None:
            try:
                outcome = await hold.post("/complete", encode(ended.value).fields("result"))
            except FlowFabricError as refused:
                # It is refused for what it is; running it again would produce the same.
                why = f"the result was refused: {refused}"
                outcome = await self._fail(hold, why, refused.code, retryable=False)
        elif isinstance(error, DelayTask):
            outcome = await hold.post("/delay", {"delay_ms": millis(error.seconds)})
        elif isinstance(error, CancelTask):
            outcome = await hold.post("/cancel-held", {"reason": _shortened(str(error))})
        elif hold.stop_reason is not None and isinstance(error, (Stopped, asyncio.CancelledError)):
            await self._hand_back([hold])
            return
        elif isinstance(error, (PermanentError, RetryableError)):
            outcome = await self._fail(hold, str(error), error.category, retryable=isinstance(error, RetryableError))
        else:
            log.warning("%s failed", hold.id, exc_info=error)
            category = "error" if isinstance(error, Exception) else "panic"
            outcome = await self._fail(hold, f"{type(error).__name__}: {error}", category, retryable=True)
        log.info("%s %s", hold.id, outcome["outcome"])

    async def _fail(self, hold: Hold, message: str, category: str, *, retryable: bool) -> Any:
        body = {"message": _shortened(message), "category": category, "retryable": retryable}
        try:
            return await hold.post("/fail", body)
        except FlowFabricError as refused:
            log.warning("%s: the failure %r was refused: %s", hold.id, category, refused)
            return await hold.post("/fail", {"message": repr(body["message"])[:1000], "retryable": retryable})

    async def _hand_back(self, holds: list[Hold]) -> None:
        """Ends these leases; the executions return to their queue, which costs no attempt."""
        leases = [{"execution": hold.id, "fence": hold.fence} for hold in holds]
        await self._call_gently("/disconnect", {"leases": leases})
        for hold in holds:
            hold.stop("handed_back")

    # The end.

    async def _drain(self) -> None:
        """Lets running tasks finish; once the worker is told to stop, for the drain time. Hands back the rest."""
        await self._unless_draining(self._all_ended())
        hurry = asyncio.create_task(pause_unless(self._at_once, self._settings.drain))
        ended = asyncio.create_task(self._all_ended())
        await asyncio.wait({ended, hurry}, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        if left := list(self._running.values()):
            await self._hand_back(left)
            await asyncio.wait({ended}, timeout=UNWIND)
        ended.cancel()

    async def _all_ended(self) -> None:
        while self._running:
            await asyncio.wait(set(self._running))

    # Calls.

    async def _post(self, path: str, body: object, *, timeout: float = TIMEOUT) -> Any:
        query = {"namespace": self._client.namespace}
        return (await self._client.http.once("POST", self._path + path, body, query=query, timeout=timeout)).json()

    async def _call_gently(self, path: str, body: object) -> None:
        """A call whose failure only costs time: what it would end expires."""
        query = {"namespace": self._client.namespace}
        try:
            await self._client.http.call("POST", self._path + path, body, query=query, timeout=2.0, patience=2.0)
        except FlowFabricError as error:
            log.warning("%s failed: %s", path, error)


def _is_final(error: FlowFabricError) -> bool:
    """Whether repeating a claim cannot change this. Failures of the store may pass while the worker waits."""
    if isinstance(error, ServerFailed):
        return error.code in ("store_denied", "server_not_trusted")
    return not error.retryable


def _shortened(message: str) -> str:
    return message.encode(errors="replace")[:MESSAGE_BYTES].decode(errors="ignore") or "no message"
