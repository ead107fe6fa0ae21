"""Answers that are lost: what was asked took effect, and is asked again without a second effect."""

from __future__ import annotations

import asyncio
import contextlib
import os
import warnings
from collections.abc import AsyncIterator

from flowfabric import App, AsyncClient, Client, InvalidRequest, ServerFailed, Task
from flowfabric.http import Answer, Backoff, Http
from flowfabric.testing import ServerTestCase

from .fixture import TIMEOUT, proxy, until


class LostReplies(ServerTestCase):
    def test_a_submit_creates_one_execution(self) -> None:
        with proxy(self.server.url) as between, Client(between.url, namespace=self.client.namespace) as client:
            between.lose("/v1/executions")
            work = client.submit("once", 1)
            self.assertEqual(between.lost, ["/v1/executions"])
        self.assertEqual([one.id for one in self.client.executions()], [work.id])

    def test_every_call_of_a_task_has_one_effect(self) -> None:
        with proxy(self.server.url) as between:
            app = App(between.url, namespace=self.client.namespace)
            charged: list[str] = []

            @app.task("all")
            def everything(task: Task, _: object) -> str:
                task.step("charge", charged.append, task.key("charge"))
                task.report_usage("call", {"tokens": 5})
                task.emit("log", "one")
                task.emit("log", "two")
                task.summarize({"n": 1})
                task.sleep("nap", 0.01)
                waited = task.wait_for_signal("go", "gate")
                return str(waited.signal and waited.signal.payload)

            paths = ["/claim", "/steps", "/usage", "/frames", "/summary", "/delay", "/suspend", "/complete"]
            between.lose(*paths)
            with app.running():
                self.client.set_budget("purse", {"tokens": 100})
                work = self.client.submit("all", lease_ttl=TIMEOUT, budgets=["purse"])
                until(lambda: work.state() == "suspended", "the suspension")
                work.signal("gate", "go", "now")
                self.assertEqual(work.result(TIMEOUT), "now")
            self.assertEqual(sorted(between.lost), sorted(paths))
        self.assertEqual(len(charged), 1)
        self.assertEqual(work.describe().used, {"tokens": 5})
        # The handler begins again after the sleep and after the wait, and emits again.
        self.assertEqual([frame.text for frame in work.tail()], ["one", "two"] * 3)
        self.assertEqual([one.status for one in work.attempts()], ["completed"], "no lease was lost")

    def test_a_failure_is_reported_once(self) -> None:
        with proxy(self.server.url) as between:
            app = App(between.url, namespace=self.client.namespace)

            @app.task("fails")
            def fails(task: Task, _: object) -> int:
                if task.attempt == 0:
                    raise OSError("busy")
                return task.attempt

            between.lose("/fail")
            with app.running():
                work = self.client.submit("fails", backoff=(0.01, 0.02))
                self.assertEqual(work.result(TIMEOUT), 1)
            self.assertEqual(between.lost, ["/fail"])


class Repeats(ServerTestCase):
    def test_only_what_may_pass_is_repeated(self) -> None:
        async def main() -> None:
            busy = _problem(503, "store_busy", True, "Retry-After: 0\r\n")
            async with _server([busy, busy, _answer(200, b"{}")]) as (url, served):
                self.assertEqual((await _call(url, "GET", "/x")).json(), {})
                self.assertEqual(len(served), 3)
            async with _server([_problem(400, "invalid_argument", False)]) as (url, served):
                with self.assertRaises(InvalidRequest):
                    await _call(url, "GET", "/x")
                self.assertEqual(len(served), 1)
            async with _server([_problem(500, "internal", False)]) as (url, served):
                with self.assertRaises(ServerFailed):
                    await _call(url, "POST", "/x", {})
                self.assertEqual(len(served), 1)

        asyncio.run(main())

    def test_a_repetition_ends_with_its_patience(self) -> None:
        async def main() -> None:
            async with _server([_problem(503, "store_busy", True)] * 50) as (url, served):
                with self.assertRaises(ServerFailed):
                    await _call(url, "GET", "/x", patience=0.2)
                self.assertGreater(len(served), 1)

        asyncio.run(main())

    def test_answers_in_chunks_and_on_a_kept_connection_are_read(self) -> None:
        async def main() -> None:
            chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n[1,\r\n3;x=y\r\n 2]\r\n0\r\n\r\n"
            interim = b"HTTP/1.1 100 Continue\r\n\r\n" + _answer(200, b"[3]")
            async with _server([chunked, interim, _answer(204, b"")]) as (url, served):
                http = Http(url + "/prefix")
                self.assertEqual((await http.call("GET", "/a", query={"b": [1, 2], "c": None})).json(), [1, 2])
                self.assertEqual((await http.call("GET", "/a")).json(), [3])
                self.assertIsNone((await http.call("POST", "/a", {"d": 1})).json())
                self.assertEqual(len({peer for peer, _ in served}), 1, "one connection was kept")
                self.assertTrue(served[0][1].startswith(b"GET /prefix/a?b=1&b=2 HTTP/1.1\r\n"))
                http.close()

        asyncio.run(main())

    def test_an_answer_that_is_no_http_is_an_error(self) -> None:
        async def main() -> None:
            for answer in (b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"):
                async with _server([answer]) as (url, _):
                    with self.assertRaises(ServerFailed) as raised:
                        await _call(url, "GET", "/x")
                    self.assertEqual(raised.exception.code, "protocol_error")

        asyncio.run(main())

    def test_pauses_grow_to_a_bound_and_spread(self) -> None:
        backoff = Backoff(0.1, 0.4)
        for whole in (0.1, 0.2, 0.4, 0.4):
            self.assertTrue(whole / 2 <= backoff.pause() <= whole)
        backoff.reset()
        self.assertLessEqual(backoff.pause(), 0.1)

    def test_what_is_no_address_is_refused(self) -> None:
        for url in ("ftp://host", "http://", "host:80", "http://host/?q=1"):
            with self.assertRaises(ValueError):
                Http(url)
        with self.assertRaises(ValueError):
            Http("http://host", token="a\r\nX-Other: b")


class Forks(ServerTestCase):
    def test_a_client_works_in_a_forked_process_and_in_its_parent(self) -> None:
        self.client.submit("parent")
        with warnings.catch_warnings():
            # Newer versions of Python warn of forks while threads run.
            warnings.simplefilter("ignore")
            child = os.fork()
        if child == 0:
            try:
                self.client.submit("child")
                os._exit(0)
            finally:
                os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.client.submit("parent")
        kinds = sorted(execution.kind for execution in self.client.executions())
        self.assertEqual(kinds, ["child", "parent", "parent"])


class Asyncio(ServerTestCase):
    def test_the_async_client_does_the_same(self) -> None:
        app = self.app(concurrency=8)

        @app.task("greet")
        async def greet(name: str) -> str:
            return f"hello, {name}"

        async def main() -> None:
            async with AsyncClient(self.server.url, namespace=self.client.namespace) as client:
                serving = asyncio.create_task(app.serve())
                works = await asyncio.gather(*(client.submit("greet", str(n)) for n in range(40)))
                results = await asyncio.gather(*(work.result(TIMEOUT) for work in works))
                self.assertEqual(results, [f"hello, {n}" for n in range(40)])
                listed = [one.id async for one in client.executions(state=["completed"])]
                self.assertEqual(len(listed), 40)
                self.assertEqual([frame async for frame in works[0].tail()], [])
                app.stop()
                await serving

        asyncio.run(main())


async def _call(url: str, method: str, path: str, body: object = None, *, patience: float = TIMEOUT) -> Answer:
    """One call on connections of its own."""
    http = Http(url)
    try:
        return await http.call(method, path, body, patience=patience)
    finally:
        http.close()
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def _server(answers: list[bytes]) -> AsyncIterator[tuple[str, list[tuple[object, bytes]]]]:
    """A server that gives these answers, one after the other, and what it was asked."""
    left, served = list(answers), list[tuple[object, bytes]]()

    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while left:
                head = await reader.readuntil(b"\r\n\r\n")
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        head += await reader.readexactly(int(line.split(b":")[1]))
                served.append((writer.get_extra_info("peername"), head))
                writer.write(left.pop(0))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", served
    finally:
        server.close()
        for writer in writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


def _answer(status: int, body: bytes, headers: str = "") -> bytes:
    length = f"content-length: {len(body)}\r\n" if status != 204 else ""
    return f"HTTP/1.1 {status} It is\r\n{headers}{length}\r\n".encode() + body


def _problem(status: int, code: str, retryable: bool, headers: str = "") -> bytes:
    body = f'{{"code": "{code}", "retryable": {str(retryable).lower()}, "detail": "no"}}'
    return _answer(status, body.encode(), headers)
