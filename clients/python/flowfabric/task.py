"""A handler's view of its task: `Task` for plain functions, `AsyncTask` for coroutines. Both have the same methods."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from .background import Background
from .emit import GATHER_BYTES
from .errors import Stopped, StopReason
from .hold import Hold
from .payload import decode

__all__ = ["AsyncTask", "AsyncTokenStream", "Task", "TokenStream"]

P = ParamSpec("P")
T = TypeVar("T")


class TaskInfo:
    """What a handler can read about its task."""

    def __init__(self, background: Background, hold: Hold) -> None:
        self._background, self._hold = background, hold
        view = hold.assignment
        self.id: str = view["execution"]
        """The execution."""
        self.kind: str = view["kind"]
        self.lane: str = view["lane"]
        self.namespace: str = view["namespace"]
        self.tags: dict[str, str] = view["tags"]
        self.priority: int = view.get("priority", 0)
        self.run: int = view["run"]
        """0 unless it was replayed."""
        self.attempt: int = view["fence"]["attempt"]
        """0 for the first try."""
        self.max_attempts: int = view.get("max_attempts", 1)
        self.is_last_attempt: bool = view.get("last_attempt", False)
        """Whether a failure of this attempt ends the run."""
        self.used: dict[str, int] = view.get("used", {})
        """What it had used when it was claimed, by dimension."""
        self.last_progress: dict[str, Any] | None = view.get("progress")
        """What an earlier hold of this attempt reported."""
        self.content_type: str = view["content_type"]
        """The media type of the input."""
        self.lease: str = view["fence"]["lease"]
        """Give it to other systems that must distinguish two holders."""

    @property
    def input(self) -> Any:
        """What it was submitted with: a JSON value, or `bytes`."""
        return decode(self._hold.assignment, "input")

    @property
    def stopping(self) -> bool:
        """Whether the handler should stop."""
        return self._hold.stop_reason is not None

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the handler should stop, if it should."""
        return self._hold.stop_reason

    def check(self) -> None:
        """Raises `Stopped` if the handler should stop: call it in loops that make no other call of the task."""
        self._hold.check()
        if self._hold.stop_reason is not None:
            raise Stopped(self._hold.stop_reason)

    def key(self, name: str) -> str:
        """A key that names a step to the outside world. It is the same in every attempt.

        If the process dies after a service has done its work and before the result is kept, the step runs again,
        with the same key: a service with idempotency keys then does its work once.
        """
        return self._hold.key(name)

    def _checked(self, call: Coroutine[Any, Any, Any]) -> None:
        """Ends the handler instead of a call that would not count."""
        try:
            self._hold.check()
        except BaseException:
            call.close()
            raise


def _waits(method: Callable[Concatenate[Hold, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Task, P], T]:
    @functools.wraps(method)
    def call(self: Task, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._do(method(self._hold, *args, **kwargs))

    return call


def _awaits(
    method: Callable[Concatenate[Hold, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[AsyncTask, P], Coroutine[Any, Any, T]]:
    @functools.wraps(method)
    async def call(self: AsyncTask, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._do(method(self._hold, *args, **kwargs))

    return call


class Task(TaskInfo):
    """The task of a plain function, which runs on a thread of its own."""

    def _do(self, call: Coroutine[Any, Any, T]) -> T:
        self._checked(call)
        try:
            return self._background.run(call)
        except CancelledError:
            raise Stopped("handed_back") from None

    def step(self, name: str, run: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Does something once: calls `run` unless an earlier attempt has, and keeps its result for every later one.

        Names are unique within a handler; loops number them. A failed step is not kept. The result is a JSON value
        or `bytes`, at most 1 MiB; what is returned is always what was kept, so a tuple comes back as a list.
        """
        found = self._do(self._hold.enter(name, "step"))
        if found is not None:
            kept: T = found.result
            return kept
        try:
            result = run(*args, **kwargs)
        except BaseException:
            self._hold.leave(name)
            raise
        kept = self._do(self._hold.keep(name, result))
        return kept

    def emit(self, type: str, data: str | bytes) -> None:
        """Adds a frame to what the task streams. Frames are gathered for up to 20 ms and sent together."""
        self._add(type, _bytes(data), False)

    def stream(self, type: str = "token") -> TokenStream:
        """For what a model says: what is written within a moment becomes one frame."""
        return TokenStream(self, type)

    def _add(self, type: str, data: bytes, grows: bool) -> None:
        emitter = self._hold.emitter
        if emitter is None:
            emitter = self._do(self._hold.open_stream())
        if not emitter.add(type, data, grows=grows):
            self._do(emitter.add_when_room(type, data, grows))

    progress = _waits(Hold.progress)
    report_usage = _waits(Hold.report_usage)
    release_usage = _waits(Hold.release_usage)
    summarize = _waits(Hold.summarize)
    sleep = _waits(Hold.sleep)
    wait_for_signal = _waits(Hold.wait_for_signal)
    wait_for_approval = _waits(Hold.wait_for_approval)
    open_waitpoint = _waits(Hold.open_waitpoint)
    close_waitpoint = _waits(Hold.close_waitpoint)
    upstream = _waits(Hold.upstream)


class AsyncTask(TaskInfo):
    """The task of a coroutine, which runs on the loop that serves."""

    async def _do(self, call: Coroutine[Any, Any, T]) -> T:
        self._checked(call)
        return await asyncio.wrap_future(self._background.start(call))

    @overload
    async def step(
        self, name: str, run: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> T: ...
    @overload
    async def step(self, name: str, run: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...
    async def step(self, name: str, run: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Does something once: see `Task.step`. What is called may be a coroutine."""
        found = await self._do(self._hold.enter(name, "step"))
        if found is not None:
            return found.result
        try:
            result = run(*args, **kwargs)
            if inspect.isawaitable(result):
                result = await result
        except BaseException:
            self._hold.leave(name)
            raise
        return await self._do(self._hold.keep(name, result))

    async def emit(self, type: str, data: str | bytes) -> None:
        """Adds a frame to what the task streams: see `Task.emit`."""
        await self._add(type, _bytes(data), False)

    def stream(self, type: str = "token") -> AsyncTokenStream:
        """For what a model says: what is written within a moment becomes one frame."""
        return AsyncTokenStream(self, type)

    async def _add(self, type: str, data: bytes, grows: bool) -> None:
        emitter = self._hold.emitter
        if emitter is None:
            emitter = await self._do(self._hold.open_stream())
        if not emitter.add(type, data, grows=grows):
            await self._do(emitter.add_when_room(type, data, grows))

    progress = _awaits(Hold.progress)
    report_usage = _awaits(Hold.report_usage)
    release_usage = _awaits(Hold.release_usage)
    summarize = _awaits(Hold.summarize)
    sleep = _awaits(Hold.sleep)
    wait_for_signal = _awaits(Hold.wait_for_signal)
    wait_for_approval = _awaits(Hold.wait_for_approval)
    open_waitpoint = _awaits(Hold.open_waitpoint)
    close_waitpoint = _awaits(Hold.close_waitpoint)
    upstream = _awaits(Hold.upstream)


class TokenStream:
    """What is written within a moment becomes one frame."""

    def __init__(self, task: Task, type: str) -> None:
        self._task, self._type = task, type

    def write(self, text: str | bytes) -> None:
        """Adds to the stream."""
        for part in _parts(_bytes(text)):
            self._task._add(self._type, part, True)


class AsyncTokenStream:
    """What is written within a moment becomes one frame."""

    def __init__(self, task: AsyncTask, type: str) -> None:
        self._task, self._type = task, type

    async def write(self, text: str | bytes) -> None:
        """Adds to the stream."""
        for part in _parts(_bytes(text)):
            await self._task._add(self._type, part, True)


def _bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data


def _parts(data: bytes) -> list[bytes]:
    return [data[at : at + GATHER_BYTES] for at in range(0, len(data), GATHER_BYTES)]
