"""Flows: graphs of work that are submitted as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .errors import NotFound
from .views import Execution
from .work import Duration, Work, millis, new_id, present

if TYPE_CHECKING:
    from .client import AsyncClient, AsyncHandle

__all__ = ["AsyncFlowHandle", "Flow", "FlowNode"]


class Flow:
    """A graph that is being described.

    >>> from flowfabric import work
    >>> flow = Flow(lane="words")
    >>> for name in ("left", "right"):
    ...     flow.add(name, work("count", "some words"))
    >>> flow.add("sum", work("sum"), after=["left", "right"])

    The nodes inherit its lane, priority and tags, and have its budgets and quotas besides their own. The same `key`
    with the same graph is the same flow.
    """

    def __init__(
        self,
        *,
        lane: str | None = None,
        key: str | None = None,
        priority: int | None = None,
        tags: Mapping[str, str] | None = None,
        budgets: Iterable[str] = (),
        quotas: Iterable[str] = (),
        deadline: Duration | None = None,
        retention: Duration | None = None,
    ) -> None:
        self._nodes: list[dict[str, Any]] = []
        self._body = present(
            id=None if key else new_id(),
            idempotency_key=key,
            lane=lane,
            priority=priority,
            tags=dict(tags or {}),
            limits={"budgets": list(budgets), "quotas": list(quotas)},
            deadline_ms=None if deadline is None else millis(deadline),
            retention_ms=None if retention is None else millis(retention),
        )

    def add(
        self,
        name: str,
        work: Work,
        *,
        after: Iterable[str] = (),
        need: int | Literal["all", "any"] = "all",
        on_failure: Literal["skip", "continue", "fail_flow"] = "skip",
        cancel_rest: bool = False,
    ) -> None:
        """Adds a node: work under a name that is unique in the flow.

        It runs when all of the nodes that it is `after` have completed, or any of them, or so many. When too few can,
        it is skipped, runs all the same, or fails the flow. With `cancel_rest`, what it does not need any more is
        cancelled.
        """
        if work.key is not None:
            raise ValueError(f"node {name} has a key; give it to the flow")
        node = present(
            name=name,
            after=list(after),
            join=need if isinstance(need, str) else None,
            quorum=need if isinstance(need, int) else None,
            on_failure=on_failure,
            rest="cancel" if cancel_rest else None,
        )
        self._nodes.append({**work.body, **node})

    def body(self) -> dict[str, Any]:
        """The request that submits it."""
        return {**self._body, "nodes": self._nodes}


@dataclass(frozen=True)
class FlowNode:
    """A node of a flow that was submitted."""

    name: str
    after: tuple[int, ...]
    """The numbers of the nodes that it depends on."""
    execution: Execution | None
    """`None` if it cannot be read."""


class AsyncFlowHandle:
    """A flow that was submitted."""

    def __init__(self, client: AsyncClient, id: str) -> None:
        self.id = id
        self._client = client
        self._path = f"/v1/flows/{id}"

    def __repr__(self) -> str:
        return f"<flow {self.id}>"

    async def describe(self) -> Execution:
        """The flow itself."""
        return await self._client.handle(self.id).describe()

    async def wait(self, timeout: Duration | None = None) -> Execution:
        """Waits until all its nodes have ended, however it ends, or raises `WaitTimeout`."""
        return await self._client.handle(self.id).wait(timeout)

    async def nodes(self) -> list[FlowNode]:
        """Its nodes, in the order in which they were added."""
        views = [view async for view in self._client.pages(self._path, "members", {"limit": 100})]
        return [
            FlowNode(view["name"], tuple(view["after"]), Execution.of(view["execution"]) if view["execution"] else None)
            for view in views
        ]

    async def result(self, node: str, timeout: Duration | None = None) -> Any:
        """Waits for the end of a node, and gives its result, as `AsyncHandle.result` does."""
        return await (await self._node(node)).result(timeout)

    async def node_id(self, node: str) -> str:
        """The id of the execution that a node is."""
        return (await self._node(node)).id

    async def _node(self, name: str) -> AsyncHandle:
        async for view in self._client.pages(self._path, "members", {"limit": 100}):
            if view["name"] == name and view["execution"]:
                return self._client.handle(view["execution"]["id"])
        raise NotFound(f"flow {self.id} has no node {name}", code="not_found")

    async def cancel(
        self, *, grace: Duration | None = None, finish: bool = False, reason: str | None = None
    ) -> int:
        """Cancels it: no worker gets a node any more. Gives how many nodes have not ended.

        What runs is stopped at once, after a grace period, or, with `finish`, not at all.
        """
        held = "finish" if finish else "cancel" if grace is None else None
        body = present(held=held, grace_ms=None if grace is None else millis(grace), reason=reason)
        left: int = (await self._client.call("POST", f"{self._path}/cancel", body)).json()["left"]
        return left

    async def replay(self) -> int:
        """Runs again, after its end, what did not complete; gives the number of the new run."""
        run = (await self.describe()).run
        new: int = (await self._client.call("POST", f"{self._path}/replay", {"run": run})).json()["run"]
        return new
