"""The producer for asyncio: submits work, and watches, answers and steers it. `plain.py` has the same for plain code."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from typing import Any, Concatenate, Final, Literal, ParamSpec

from .errors import ExecutionCancelled, ExecutionExpired, ExecutionFailed, ExecutionSkipped, FlowFabricError, WaitTimeout
from .flow import AsyncFlowHandle, Flow
from .http import TIMEOUT, Answer, Http, segment
from .payload import Payload, encode
from .views import Attempt, Execution, Explanation, Frame, Signal, State, Step, payload_of
from .work import Duration, Work, millis, new_id, present
from .work import work as describe_work

__all__ = ["AsyncClient", "AsyncHandle", "Effect"]

P = ParamSpec("P")

Effect = Literal["resumed", "recorded", "duplicate", "too_late"]
"""What a signal did."""

WAIT: Final = 30.0
"""The longest that one call asks the server to wait."""
PAGE: Final = 100


def _submits(
    describe: Callable[P, Work],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, AsyncHandle]]:
    """A method that describes work and submits it."""

    @functools.wraps(describe)
    async def submit(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncHandle:
        work = describe(*args, **kwargs)
        # Without a key of the caller's, the id makes a repeated call find what the first one has created.
        named = {"idempotency_key": work.key} if work.key else {"id": new_id()}
        answer = await self.call("POST", "/v1/executions", {**work.body, **named})
        return self.handle(answer.json()["id"])

    submit.__doc__ = f"""Submits work. Once this returns, it is kept and offered to workers until it ends.

        {describe.__doc__}"""
    return submit


class AsyncClient:
    """Calls a server, from one event loop.

    Without arguments it finds the server as `ff` does: by `FF_URL`, `FF_TOKEN`, `FF_NAMESPACE` and `FF_CA`.
    """

    def __init__(
        self, url: str | None = None, *, token: str | None = None, namespace: str | None = None, ca: str | None = None
    ) -> None:
        self.url = (url or os.environ.get("FF_URL") or "http://127.0.0.1:7272").rstrip("/")
        self.namespace = namespace or os.environ.get("FF_NAMESPACE") or "default"
        token = token or os.environ.get("FF_TOKEN") or None
        self.http = Http(self.url, token=token, ca=ca or os.environ.get("FF_CA") or None)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        self.http.close()

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, object] | None = None,
        timeout: float = TIMEOUT,
    ) -> Answer:
        """Any call of the API, in this namespace. It is repeated while it fails in a way that may pass."""
        query = {"namespace": self.namespace, **(query or {})}
        return await self.http.call(method, path, body, query=query, timeout=timeout)

    submit = _submits(describe_work)

    async def submit_flow(self, flow: Flow) -> AsyncFlowHandle:
        """Submits a graph as a whole: all of it is accepted, or nothing. A lost answer creates no second one."""
        answer = await self.call("POST", "/v1/flows", flow.body())
        return self.flow(answer.json()["id"])

    def flow(self, id: str) -> AsyncFlowHandle:
        """The flow of this id; nothing is called."""
        return AsyncFlowHandle(self, id)

    def handle(self, id: str) -> AsyncHandle:
        """The execution of this id; nothing is called."""
        return AsyncHandle(self, id)

    async def executions(
        self,
        *,
        state: Iterable[State] = (),
        lane: str | None = None,
        kind: str | None = None,
        reason: str | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Execution]:
        """The executions that match, newest first, page by page."""
        labels = [f"{name}={value}" for name, value in (tags or {}).items()]
        query = {"state": list(state), "lane": lane, "kind": kind, "reason": reason, "tags": labels, "limit": PAGE}
        async for view in self.pages("/v1/executions", "executions", query):
            yield Execution.of(view)

    async def workers(self) -> list[dict[str, Any]]:
        """The registered workers."""
        return [view async for view in self.pages("/v1/workers", "workers", {"limit": PAGE})]

    async def deliver_signal(self, token: str, name: str, payload: object = None) -> Effect:
        """Sends a signal by the token of a waitpoint, as the one whom the token was made for."""
        body = {"token": token, "name": name} | encode(payload).fields("payload")
        effect: Effect = (await self.http.call("POST", "/v1/signals", body)).json()["effect"]
        return effect

    async def set_budget(
        self, name: str, limits: Mapping[str, int], *, period: Duration | None = None, cancel_on_breach: bool = False
    ) -> None:
        """Makes a budget, or changes its hard limits, by dimension."""
        dimensions = {dimension: {"hard": limit} for dimension, limit in limits.items()}
        on_breach = "cancel" if cancel_on_breach else "block"
        period_ms = None if period is None else millis(period)
        body = present(dimensions=dimensions, on_breach=on_breach, period_ms=period_ms)
        await self.call("PUT", f"/v1/budgets/{segment(name)}", body)

    async def budget_used(self, name: str) -> dict[str, int]:
        """What was used of a budget in this period, by dimension."""
        view = (await self.call("GET", f"/v1/budgets/{segment(name)}")).json()
        return {dimension: of["used"] for dimension, of in view["dimensions"].items()}

    async def set_quota(
        self, name: str, *, requests: int | None = None, window: Duration = 60, active: int | None = None
    ) -> None:
        """Makes a quota, or changes it: how many start in any window, and how many run at once."""
        body = present(max_requests=requests, window_ms=millis(window), max_active=active)
        await self.call("PUT", f"/v1/quotas/{segment(name)}", body)

    async def pages(self, path: str, name: str, query: Mapping[str, object]) -> AsyncIterator[dict[str, Any]]:
        cursor = None
        while True:
            page = (await self.call("GET", path, query={**query, "cursor": cursor})).json()
            for view in page[name]:
                yield view
            cursor = page.get("next")
            if cursor is None:
                return


class AsyncHandle:
    """One execution."""

    def __init__(self, client: AsyncClient, id: str) -> None:
        self.id = id
        self._client = client
        self._path = f"/v1/executions/{segment(id)}"

    def __repr__(self) -> str:
        return f"<execution {self.id}>"

    async def describe(self) -> Execution:
        """All that is known of it."""
        return Execution.of((await self._get()).json())

    async def state(self) -> State:
        """Its state, in a word."""
        return (await self.describe()).state

    async def wait(self, timeout: Duration | None = None) -> Execution:
        """Waits for its end, however it ends, or raises `WaitTimeout`."""
        clock = asyncio.get_running_loop().time
        until = None if timeout is None else clock() + millis(timeout) / 1000
        while True:
            wait = WAIT if until is None else max(0.0, min(WAIT, until - clock()))
            view = Execution.of((await self._get(query={"wait_ms": millis(wait)}, timeout=TIMEOUT + wait)).json())
            if view.ended:
                return view
            if until is not None and clock() >= until:
                why = f"{self.id} is {view.state} after {timeout}: it keeps running"
                raise WaitTimeout(why, code="wait_timeout", retryable=True)

    async def result(self, timeout: Duration | None = None) -> Any:
        """Waits for its end and gives its result: a JSON value, or `bytes`. An end without one is raised."""
        return (await self.payload(timeout)).value()

    async def payload(self, timeout: Duration | None = None) -> Payload:
        """The same, undecoded."""
        view = await self.wait(timeout)
        why = view.reason or view.state
        if view.state == "failed":
            category = (view.raw.get("failure") or {}).get("category")
            raise ExecutionFailed(self.id, why, category=category)
        if view.state == "cancelled":
            raise ExecutionCancelled(self.id, why, code="cancelled")
        if view.state == "expired":
            raise ExecutionExpired(self.id, why, code="expired")
        if view.state == "skipped":
            raise ExecutionSkipped(self.id, why, code="skipped")
        answer = await self._get("/result", query={"run": view.run})
        return payload_of(answer.headers, answer.body)

    async def input(self) -> Payload:
        """What it was submitted with, byte for byte."""
        answer = await self._get("/input")
        return payload_of(answer.headers, answer.body)

    async def explain(self) -> Explanation:
        """Why it is in its state, and what it waits for."""
        view = (await self._get("/explain")).json()
        return Explanation(view["id"], view["state"], view["explanation"], view["reasons"])

    async def cancel(self, *, grace: Duration | None = None, reason: str | None = None) -> None:
        """Cancels it: at once, or after a grace period in which a result still counts."""
        await self._post("/cancel", present(grace_ms=None if grace is None else millis(grace), reason=reason))

    async def replay(
        self, *, run: int | None = None, journal: Literal["keep", "drop"] | None = None, up_to: str | None = None
    ) -> int:
        """Runs it again after its end, and gives the number of the new run.

        Steps with a result are not repeated, unless the journal is dropped, or kept only up to a step. `run` is the
        run that has ended; by default the present one.
        """
        if run is None:
            run = (await self.describe()).run
        new: int = (await self._post("/replay", present(run=run, journal=journal, up_to=up_to)))["run"]
        return new

    async def signal(self, waitpoint: str, name: str, payload: object = None, *, key: str | None = None) -> Effect:
        """Sends a signal to an open waitpoint, as this caller. The same signal, or key, again changes nothing."""
        body = present(waitpoint=waitpoint, name=name, idempotency_key=key) | encode(payload).fields("payload")
        effect: Effect = (await self._post("/signals", body))["effect"]
        return effect

    async def approve(self, *, comment: str | None = None, waitpoint: str | None = None) -> Effect:
        """Approves what it asks. The first decision of a person stands."""
        return await self._decide("approve", comment, waitpoint)

    async def reject(self, *, comment: str | None = None, waitpoint: str | None = None) -> Effect:
        """Rejects what it asks."""
        return await self._decide("reject", comment, waitpoint)

    async def _decide(self, decision: str, comment: str | None, waitpoint: str | None) -> Effect:
        if waitpoint is None:
            waitpoint = await self._asked_at()
        said = present(approved=decision == "approve", comment=comment)
        body = {"waitpoint": waitpoint, "name": decision, "category": "approval"} | encode(said).fields("payload")
        effect: Effect = (await self._post("/signals", body))["effect"]
        return effect

    async def _asked_at(self) -> str:
        """The one waitpoint at which it waits for an approval."""
        suspension = (await self.describe()).raw.get("suspension")
        if suspension is None or suspension["reason"] != "approval":
            raise FlowFabricError(f"{self.id} waits for no approval", code="wrong_state")
        view = (await self._get("/waitpoints")).json()
        keys = [point["key"] for point in view["waitpoints"] if point.get("suspension") == suspension["number"]]
        if len(keys) != 1:
            raise FlowFabricError(f"{self.id} waits at {len(keys)} waitpoints: name one", code="wrong_state")
        return str(keys[0])

    async def resume(self) -> bool:
        """Ends its wait without what it waits for; `False` if it does not wait."""
        return bool((await self._post("/resume", {}))["resumed"])

    async def waitpoints(self) -> list[str]:
        """The keys of its open waitpoints."""
        return [view["key"] for view in (await self._get("/waitpoints")).json()["waitpoints"]]

    async def token(self, waitpoint: str, subject: str, *, expires: Duration | None = None) -> str:
        """A token by which `subject`, and nobody else, answers at an open waitpoint."""
        return str((await self._token(waitpoint, subject, "signal", expires))["token"])

    async def approval_link(self, waitpoint: str, subject: str, *, expires: Duration | None = None) -> str:
        """The address of a page on which `subject` approves or rejects."""
        return self._client.url + str((await self._token(waitpoint, subject, "approval_link", expires))["path"])

    async def _token(self, waitpoint: str, subject: str, purpose: str, expires: Duration | None) -> Any:
        expires_ms = None if expires is None else millis(expires)
        body = present(subject=subject, purpose=purpose, expires_ms=expires_ms)
        return await self._post(f"/waitpoints/{segment(waitpoint)}/token", body)

    async def signals(self) -> list[Signal]:
        """All signals that it has received, oldest first."""
        return [Signal.of(view) async for view in self.pages("/signals", "signals")]

    async def attempts(self) -> list[Attempt]:
        """Its attempts, oldest first."""
        return [Attempt.of(view) async for view in self.pages("/attempts", "attempts")]

    async def steps(self) -> list[Step]:
        """Its journal, oldest entry first."""
        return [Step.of(view) async for view in self.pages("/steps", "steps")]

    async def summary(self) -> Any:
        """The document by which it says how it is doing; `None` if there is none."""
        return (await self._get("/summary")).json().get("summary")

    async def tail(self, *, after: int = 0, follow: bool = True) -> AsyncIterator[Frame]:
        """What it streams, from a number on: until it has ended or, without `follow`, what is there.

        A server that comes back within half a minute costs nothing but time. Frames that are not kept are skipped.
        """
        at, wait = after, WAIT if follow else 0.0
        while True:
            query = {"from": at, "wait_ms": millis(wait)}
            page = (await self._get("/stream", query=query, timeout=TIMEOUT + wait)).json()
            for view in page["frames"]:
                yield Frame.of(view)
            at = page["next"]
            if not page["frames"] and (not follow or page.get("end") is not None):
                return

    async def delete(self) -> None:
        """Removes it, after its end, before its retention is over."""
        await self._client.call("DELETE", self._path)

    async def _get(
        self, path: str = "", *, query: Mapping[str, object] | None = None, timeout: float = TIMEOUT
    ) -> Answer:
        return await self._client.call("GET", self._path + path, query=query, timeout=timeout)

    async def _post(self, path: str, body: object) -> Any:
        return (await self._client.call("POST", self._path + path, body)).json()

    def pages(self, path: str, name: str) -> AsyncIterator[dict[str, Any]]:
        return self._client.pages(self._path + path, name, {"limit": PAGE})
