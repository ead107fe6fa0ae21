"""The producer for plain code: the methods of `client.py`, which wait for their answer."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from .background import Background
from .client import AsyncClient, AsyncHandle
from .flow import AsyncFlowHandle, Flow

__all__ = ["Client", "FlowHandle", "Handle"]

A = TypeVar("A")
P = ParamSpec("P")
T = TypeVar("T")


class _Plain(Generic[A]):
    """Something whose methods run on a thread of their own."""

    def __init__(self, background: Background, target: A) -> None:
        self._background, self._target = background, target


def _waits(method: Callable[Concatenate[A, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[_Plain[A], P], T]:
    """The same method, which waits for its answer."""

    @functools.wraps(method)
    def call(self: _Plain[A], /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._background.run(method(self._target, *args, **kwargs))

    return call


def _iterates(method: Callable[Concatenate[A, P], AsyncIterator[T]]) -> Callable[Concatenate[_Plain[A], P], Iterator[T]]:
    """The same method, which waits for each item."""

    @functools.wraps(method)
    def call(self: _Plain[A], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        items = method(self._target, *args, **kwargs)

        async def following() -> T:
            return await items.__anext__()

        while True:
            try:
                item = self._background.run(following())
            except StopAsyncIteration:
                return
            yield item

    return call


def _hands(
    method: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, AsyncHandle]],
) -> Callable[Concatenate[Client, P], Handle]:
    """The same method, whose answer is a plain handle."""

    @functools.wraps(method)
    def call(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Handle:
        return self.handle(self._background.run(method(self._target, *args, **kwargs)).id)

    return call


class Client(_Plain[AsyncClient]):
    """Calls a server. It may be used from any thread.

    Without arguments it finds the server as `ff` does: by `FF_URL`, `FF_TOKEN`, `FF_NAMESPACE` and `FF_CA`.
    """

    def __init__(
        self, url: str | None = None, *, token: str | None = None, namespace: str | None = None, ca: str | None = None
    ) -> None:
        target = AsyncClient(url, token=token, namespace=namespace, ca=ca)
        super().__init__(Background("flowfabric-client", target.http.close), target)

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._target.url

    @property
    def namespace(self) -> str:
        """The tenant."""
        return self._target.namespace

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections, and ends the thread that made the calls."""
        self._background.close()

    def handle(self, id: str) -> Handle:
        """The execution of this id; nothing is called."""
        return Handle(self._background, self._target.handle(id))

    def flow(self, id: str) -> FlowHandle:
        """The flow of this id; nothing is called."""
        return FlowHandle(self._background, self._target.flow(id))

    def submit_flow(self, flow: Flow) -> FlowHandle:
        """Submits a graph as a whole: all of it is accepted, or nothing. A lost answer creates no second one."""
        return self.flow(self._background.run(self._target.submit_flow(flow)).id)

    submit = _hands(AsyncClient.submit)
    executions = _iterates(AsyncClient.executions)
    workers = _waits(AsyncClient.workers)
    deliver_signal = _waits(AsyncClient.deliver_signal)
    set_budget = _waits(AsyncClient.set_budget)
    budget_used = _waits(AsyncClient.budget_used)
    set_quota = _waits(AsyncClient.set_quota)
    call = _waits(AsyncClient.call)


class Handle(_Plain[AsyncHandle]):
    """One execution."""

    @property
    def id(self) -> str:
        """Its id. Keep it to find the execution again with `Client.handle`."""
        return self._target.id

    def __repr__(self) -> str:
        return repr(self._target)

    describe = _waits(AsyncHandle.describe)
    state = _waits(AsyncHandle.state)
    wait = _waits(AsyncHandle.wait)
    result = _waits(AsyncHandle.result)
    payload = _waits(AsyncHandle.payload)
    input = _waits(AsyncHandle.input)
    explain = _waits(AsyncHandle.explain)
    cancel = _waits(AsyncHandle.cancel)
    replay = _waits(AsyncHandle.replay)
    signal = _waits(AsyncHandle.signal)
    approve = _waits(AsyncHandle.approve)
    reject = _waits(AsyncHandle.reject)
    resume = _waits(AsyncHandle.resume)
    waitpoints = _waits(AsyncHandle.waitpoints)
    token = _waits(AsyncHandle.token)
    approval_link = _waits(AsyncHandle.approval_link)
    signals = _waits(AsyncHandle.signals)
    attempts = _waits(AsyncHandle.attempts)
    steps = _waits(AsyncHandle.steps)
    summary = _waits(AsyncHandle.summary)
    tail = _iterates(AsyncHandle.tail)
    delete = _waits(AsyncHandle.delete)


class FlowHandle(_Plain[AsyncFlowHandle]):
    """A flow that was submitted."""

    @property
    def id(self) -> str:
        """Its id. Keep it to find the flow again with `Client.flow`."""
        return self._target.id

    def __repr__(self) -> str:
        return repr(self._target)

    def node(self, name: str) -> Handle:
        """The execution that a node is."""
        id = self._background.run(self._target.node_id(name))
        return Handle(self._background, self._target._client.handle(id))

    describe = _waits(AsyncFlowHandle.describe)
    wait = _waits(AsyncFlowHandle.wait)
    nodes = _waits(AsyncFlowHandle.nodes)
    result = _waits(AsyncFlowHandle.result)
    node_id = _waits(AsyncFlowHandle.node_id)
    cancel = _waits(AsyncFlowHandle.cancel)
    replay = _waits(AsyncFlowHandle.replay)
