"""Flows: graphs of work that are submitted as a whole."""

from __future__ import annotations

import asyncio

from flowfabric import (
    AsyncClient,
    AsyncTask,
    Client,
    ExecutionFailed,
    ExecutionSkipped,
    Flow,
    InvalidRequest,
    NotFound,
    PermanentError,
    Task,
    work,
)
from flowfabric.testing import ServerTestCase

from .fixture import TIMEOUT, proxy


class Flows(ServerTestCase):
    def test_a_node_reads_what_those_before_it_have_found(self) -> None:
        app = self.app(concurrency=4)
        app.task("count")(lambda text: len(text.split()))

        @app.task("sum")
        def total(task: Task, names: list[str]) -> int:
            return sum(task.upstream(name) for name in names)

        flow, parts = Flow(tags={"of": "words"}), [f"part-{n}" for n in range(10)]
        for number, part in enumerate(parts):
            flow.add(part, work("count", "word " * number))
        flow.add("sum", work("sum", parts), after=parts)
        with app.running():
            submitted = self.client.submit_flow(flow)
            self.assertEqual(submitted.result("sum", TIMEOUT), 45)
            self.assertEqual(submitted.wait(TIMEOUT).state, "completed")
        nodes = submitted.nodes()
        self.assertEqual([node.name for node in nodes], [*parts, "sum"])
        self.assertEqual(nodes[-1].after, tuple(range(10)))
        self.assertEqual(submitted.node("sum").describe().tags, {"of": "words"})
        with self.assertRaises(NotFound):
            submitted.result("none")

    def test_a_failure_skips_what_depends_on_it_and_a_replay_runs_that_again(self) -> None:
        app = self.app()

        @app.task("fails")
        def fails(task: Task, _: object) -> str:
            if task.run == 0:
                raise PermanentError("not the first time")
            return "done"

        app.task("after")(lambda _: "after")
        flow = Flow()
        flow.add("a", work("fails"))
        flow.add("b", work("after"), after=["a"])
        with app.running():
            submitted = self.client.submit_flow(flow)
            self.assertEqual(submitted.wait(TIMEOUT).state, "failed")
            with self.assertRaises(ExecutionFailed):
                submitted.result("a", TIMEOUT)
            with self.assertRaises(ExecutionSkipped):
                submitted.result("b", TIMEOUT)
            self.assertEqual(submitted.replay(), 1)
            self.assertEqual(submitted.result("b", TIMEOUT), "after")

    def test_the_first_of_a_race_wins_and_the_rest_is_cancelled(self) -> None:
        app = self.app(concurrency=2)

        @app.task("runner")
        async def runner(seconds: float) -> float:
            await asyncio.sleep(seconds)
            return seconds

        @app.task("winner")
        async def winner(task: AsyncTask, names: list[str]) -> list[object]:
            found: list[object] = []
            for name in names:
                try:
                    found.append(await task.upstream(name))
                except NotFound:
                    found.append(None)
            return found

        flow = Flow()
        flow.add("slow", work("runner", TIMEOUT))
        flow.add("quick", work("runner", 0))
        flow.add("winner", work("winner", ["quick"]), after=["slow", "quick"], need="any", cancel_rest=True)
        with app.running():
            submitted = self.client.submit_flow(flow)
            self.assertEqual(submitted.result("winner", TIMEOUT), [0])
            self.assertEqual(submitted.wait(TIMEOUT).state, "completed")
            self.assertEqual(submitted.node("slow").state(), "cancelled")

    def test_a_graph_is_accepted_once_or_not_at_all(self) -> None:
        flow = Flow(key="once")
        flow.add("a", work("nobody"))
        with proxy(self.server.url) as between, Client(between.url, namespace=self.client.namespace) as client:
            between.lose("/v1/flows")
            submitted = client.submit_flow(flow)
            self.assertEqual(between.lost, ["/v1/flows"])
        self.assertEqual(self.client.submit_flow(flow).id, submitted.id)
        self.assertEqual(len(self.client.flow(submitted.id).nodes()), 1)
        circle = Flow()
        circle.add("a", work("nobody"), after=["b"])
        circle.add("b", work("nobody"), after=["a"])
        with self.assertRaises(InvalidRequest):
            self.client.submit_flow(circle)
        with self.assertRaises(ValueError):
            flow.add("keyed", work("nobody", key="k"))

    def test_a_cancelled_flow_starts_nothing_more(self) -> None:
        async def main() -> None:
            async with AsyncClient(self.server.url, namespace=self.client.namespace) as client:
                flow = Flow()
                flow.add("a", work("nobody"))
                flow.add("b", work("nobody"), after=["a"], need=1)
                submitted = await client.submit_flow(flow)
                await submitted.cancel(reason="not needed")
                self.assertEqual((await submitted.wait(TIMEOUT)).state, "cancelled")
                states = [node.execution and node.execution.state for node in await submitted.nodes()]
                self.assertEqual(states, ["cancelled", "cancelled"])

        asyncio.run(main())
