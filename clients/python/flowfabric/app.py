"""An application: handlers, and a worker that runs them."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import signal
import socket
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from .background import Background
from .client import AsyncClient
from .plain import Client
from .task import AsyncTask, Task
from .work import Duration, millis
from .worker import Handler, Settings, Worker

__all__ = ["App"]

F = TypeVar("F", bound=Callable[..., Any])


class App:
    """Handlers of one program, and the server whose work they do.

    >>> app = App("http://127.0.0.1:7272")
    >>> @app.task("greet")
    ... def greet(name: str) -> str:
    ...     return f"hello, {name}"
    >>> app.run()                                        # doctest: +SKIP

    Without arguments it finds the server as `ff` does: by `FF_URL`, `FF_TOKEN`, `FF_NAMESPACE` and `FF_CA`.

    name: what the processes of this program are called; `instance` is this process, by default a new name.
    concurrency: how many tasks run at once. capabilities: what it offers to tasks that require it.
    drain: how long running tasks may take to finish when the worker stops, before they are handed back.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        namespace: str | None = None,
        ca: str | None = None,
        name: str = "python",
        instance: str | None = None,
        concurrency: int = 1,
        capabilities: Iterable[str] = (),
        drain: Duration = 10.0,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}; give at least 1")
        self._at = {"url": url, "token": token, "namespace": namespace, "ca": ca}
        self._name, self._instance = name, instance
        self._concurrency, self._capabilities = concurrency, tuple(capabilities)
        self._drain = millis(drain) / 1000
        self._handlers: dict[str, Handler] = {}
        self._lanes: list[str] = []
        self._workers: set[Worker] = set()
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """A client of the same server."""
        if self._client is None:
            self._client = Client(**self._at)
        return self._client

    def task(self, kind: str, *, lane: str = "default") -> Callable[[F], F]:
        """Handles one kind of work with a function, plain or `async`, and serves its lane.

        The function takes its input, or its task and its input: `def f(input)`, `def f(task, input)`. It stays a
        plain function. What it returns is the result: a JSON value, `bytes` or a `Payload`.
        """

        def register(function: F) -> F:
            if kind in self._handlers:
                raise ValueError(f"{kind} has two handlers; give it one")
            self._handlers[kind] = _handler(function)
            if lane not in self._lanes:
                self._lanes.append(lane)
            return function

        return register

    def run(self, *, until_idle: bool = False) -> None:
        """Works until the process is told to stop (Ctrl-C or SIGTERM); then drains. A second signal does not wait.

        With `until_idle` it also ends when there is no work.
        """
        asyncio.run(self.serve(signals=True, until_idle=until_idle))

    async def serve(self, *, signals: bool = False, until_idle: bool = False) -> None:
        """The same on a running loop, where the handlers that are coroutines run. Cancelling it drains.

        With `signals` it listens for SIGINT and SIGTERM, for which it must be on the main thread.
        """
        await self._serve(signals=signals, until_idle=until_idle)

    def stop(self) -> None:
        """Tells its workers to stop, as a signal does. From any thread."""
        for worker in list(self._workers):
            worker.stop()

    @contextlib.contextmanager
    def running(self) -> Iterator[App]:
        """Works in the background, for as long as the `with` block; then drains."""
        ready, mine, failure = threading.Event(), list[Worker](), list[BaseException]()

        def work() -> None:
            try:
                asyncio.run(self._serve(started=mine.append, connected=ready.set))
            except BaseException as error:
                failure.append(error)
            finally:
                ready.set()

        thread = threading.Thread(target=work, name="flowfabric-worker", daemon=True)
        thread.start()
        ready.wait()
        try:
            if not failure:
                yield self
        finally:
            for worker in mine:
                worker.stop()
            thread.join()
        if failure:
            raise failure[0]

    async def _serve(
        self,
        *,
        signals: bool = False,
        until_idle: bool = False,
        started: Callable[[Worker], None] = lambda _: None,
        connected: Callable[[], None] = lambda: None,
    ) -> None:
        loop = asyncio.get_running_loop()
        client = AsyncClient(**self._at)
        background = Background("flowfabric-heartbeat", client.http.close)
        worker = Worker(self._settings(until_idle), client, background, loop)
        self._workers.add(worker)
        started(worker)
        try:
            with _listening(loop, worker.stop) if signals else contextlib.nullcontext():
                work = asyncio.wrap_future(background.start(worker.work(connected)))
                try:
                    await asyncio.shield(work)
                except asyncio.CancelledError:
                    worker.stop()
                    await work
                    raise
        finally:
            self._workers.discard(worker)
            background.close()

    def _settings(self, until_idle: bool) -> Settings:
        if not self._handlers:
            raise ValueError("the app has no handlers; give it at least one with @app.task(kind)")
        instance = self._instance or f"{socket.gethostname()[:20]}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        return Settings(
            handlers=dict(self._handlers),
            lanes=tuple(self._lanes),
            name=self._name,
            instance=instance,
            capabilities=self._capabilities,
            concurrency=self._concurrency,
            drain=self._drain,
            until_idle=until_idle,
        )


@contextlib.contextmanager
def _listening(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """Calls `stop` for every signal that asks the process to end."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


def _handler(function: Callable[..., Any]) -> Handler:
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    takes = [one for one in inspect.signature(function).parameters.values() if one.kind in kinds]
    takes = [one for one in takes if one.default is one.empty]
    if len(takes) > 2:
        raise TypeError(f"{function!r} takes {len(takes)} arguments; a handler takes its input, or its task and its input")
    alone = len(takes) == 1 and _is_task(takes[0].annotation)
    return Handler(function, is_async, takes_task=len(takes) == 2 or alone, takes_input=bool(takes) and not alone)


def _is_task(annotation: Any) -> bool:
    names = ("Task", "AsyncTask")
    return annotation in (Task, AsyncTask) or (isinstance(annotation, str) and annotation.split(".")[-1] in names)
