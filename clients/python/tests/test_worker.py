"""What a worker does around its handlers: heartbeats, cancels, drains, lanes, its registration."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from flowfabric import AccessDenied, App, AsyncTask, Conflict, ExecutionCancelled, ExecutionFailed, Stopped, Task
from flowfabric.testing import Server, ServerTestCase

from .fixture import TIMEOUT, until

PROGRAMS = Path(__file__).parent / "programs"


def program(name: str, *arguments: str, url: str, namespace: str) -> subprocess.Popen[str]:
    """Starts a worker in a process of its own."""
    paths = [str(PROGRAMS.parent.parent), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"FF_URL": url, "FF_NAMESPACE": namespace, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, str(PROGRAMS / name), *arguments]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


class Workers(ServerTestCase):
    def test_a_handler_that_blocks_keeps_its_lease(self) -> None:
        app = self.app(concurrency=2)

        @app.task("plain")
        def plain(_: object) -> None:
            time.sleep(4)

        @app.task("async")
        async def asynchronous(_: object) -> None:
            time.sleep(4)

        with app.running():
            works = [self.client.submit(kind, lease_ttl=2, max_attempts=1) for kind in ("plain", "async")]
            for work in works:
                work.result(TIMEOUT)
                self.assertEqual([one.status for one in work.attempts()], ["completed"])

    def test_a_cancel_is_raised_in_a_coroutine(self) -> None:
        app = self.app()
        seen: list[object] = []

        @app.task("slow")
        async def slow(task: AsyncTask, _: object) -> None:
            seen.append("started")
            try:
                await asyncio.sleep(TIMEOUT)
            except asyncio.CancelledError:
                seen.append(task.stop_reason)
                raise

        with app.running():
            work = self.client.submit("slow")
            until(lambda: seen)
            work.cancel()
            until(lambda: len(seen) == 2)
        self.assertEqual(seen[1], "cancelled")
        self.assertEqual(work.state(), "cancelled")

    def test_a_cancel_ends_a_plain_function_at_its_next_call(self) -> None:
        app = self.app()
        seen: list[str] = []

        @app.task("slow")
        def slow(task: Task, _: object) -> None:
            seen.append("started")
            try:
                while True:
                    try:
                        task.progress(1, "still here")
                        time.sleep(0.02)
                    except Exception:
                        seen.append("swallowed")
            except Stopped as stopped:
                seen.append(stopped.reason)
                raise

        with app.running():
            work = self.client.submit("slow")
            until(lambda: seen)
            work.cancel()
            until(lambda: len(seen) == 2)
        self.assertEqual(seen[1], "cancelled")

    def test_a_cancel_with_grace_leaves_time_for_a_result(self) -> None:
        app, started = self.app(concurrency=2), threading.Event()

        @app.task("polite")
        def polite(task: Task, _: object) -> str:
            started.set()
            until(lambda: task.stopping)
            return f"done, though {task.stop_reason}"

        @app.task("checks")
        def checks(task: Task, _: object) -> None:
            started.set()
            while True:
                task.check()
                time.sleep(0.02)

        with app.running():
            work = self.client.submit("polite")
            started.wait(TIMEOUT)
            work.cancel(grace=TIMEOUT)
            self.assertEqual(work.result(TIMEOUT), "done, though cancel_requested")
            started.clear()
            work = self.client.submit("checks")
            started.wait(TIMEOUT)
            work.cancel(grace=TIMEOUT)
            with self.assertRaises(ExecutionCancelled):
                work.result(TIMEOUT)

    def test_an_attempt_past_its_timeout_is_stopped_and_tried_again(self) -> None:
        app = self.app()

        @app.task("hangs")
        async def hangs(task: AsyncTask, _: object) -> int:
            if task.attempt == 0:
                await asyncio.sleep(TIMEOUT)
            return task.attempt

        with app.running():
            work = self.client.submit("hangs", attempt_timeout=0.3, backoff=(0.01, 0.02))
            self.assertEqual(work.result(TIMEOUT), 1)
            self.assertEqual([one.status for one in work.attempts()], ["timed_out", "completed"])

    def test_a_revoked_lease_changes_nothing_any_more(self) -> None:
        app, started, go = self.app(), threading.Event(), threading.Event()
        ends: list[str] = []

        @app.task("held")
        def held(task: Task, _: object) -> str:
            if started.is_set():
                return "second"
            started.set()
            go.wait(TIMEOUT)
            try:
                task.step("late", lambda: ends.append("ran"))
            finally:
                ends.append(task.stop_reason or "")
            return "first"

        with app.running():
            work = self.client.submit("held")
            started.wait(TIMEOUT)
            lease = work.describe().raw["lease"]["id"]
            self.client.call("POST", f"/v1/executions/{work.id}/revoke", {"lease": lease})
            until(lambda: work.state() != "active")
            go.set()
            self.assertEqual(work.result(TIMEOUT), "second")
        self.assertEqual([step.name for step in work.steps()], [], "a stale holder keeps nothing")
        self.assertEqual(ends[-1], "lease_lost")

    def test_several_lanes_are_served_and_tasks_run_at_once(self) -> None:
        app, together = self.app(concurrency=4), threading.Barrier(4)

        def meet(_: object) -> int:
            return together.wait(TIMEOUT)

        app.task("a", lane="left")(meet)
        app.task("b", lane="right")(meet)
        with app.running():
            works = [self.client.submit("a", lane="left") for _ in range(2)]
            works += [self.client.submit("b", lane="right") for _ in range(2)]
            self.assertEqual({work.result(TIMEOUT) for work in works}, {0, 1, 2, 3})

    def test_a_worker_registers_and_leaves(self) -> None:
        app = self.app(name="mine", instance="pod-1", capabilities=["gpu"])
        app.task("any", lane="mine")(lambda value: value)
        with app.running():
            (worker,) = self.client.workers()
            told = [worker[name] for name in ("worker", "instance", "lanes", "capabilities")]
            self.assertEqual(told, ["mine", "pod-1", ["mine"], ["gpu"]])
            with self.assertRaises(Conflict) as raised, app.running():
                pass
            self.assertEqual(raised.exception.code, "worker_alive")
            work = self.client.submit("any", 1, lane="mine", requires=["gpu"])
            self.assertEqual(work.result(TIMEOUT), 1)
        self.assertEqual(self.client.workers(), [])

    def test_until_idle_ends_when_there_is_no_work(self) -> None:
        app = self.app()
        app.task("double")(lambda value: value * 2)
        works = [self.client.submit("double", number) for number in range(5)]
        app.run(until_idle=True)
        self.assertEqual([work.state() for work in works], ["completed"] * 5)

    def test_a_refused_worker_ends_with_the_reason(self) -> None:
        with Server(token="0123456789abcdef0123456789abcdef") as server:
            app = App(server.url, token="wrong")
            app.task("any")(lambda value: value)
            with self.assertRaises(AccessDenied):
                app.run()

    def test_serve_is_cancelled_by_its_loop(self) -> None:
        app, started = self.app(drain=0), threading.Event()

        @app.task("slow")
        async def slow(_: object) -> None:
            started.set()
            await asyncio.sleep(TIMEOUT)

        async def main() -> None:
            serving = asyncio.create_task(app.serve())
            await asyncio.to_thread(started.wait, TIMEOUT)
            serving.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await serving

        work = self.client.submit("slow")
        asyncio.run(main())
        self.assertEqual(work.state(), "resumable", "it was handed back")
        self.assertEqual(self.client.workers(), [])

    def test_sigterm_lets_tasks_finish(self) -> None:
        work = self.client.submit("slow", 0.5)
        worker = program("slow.py", "10", url=self.server.url, namespace=self.client.namespace)
        with worker:
            self._starts(worker)
            more = self.client.submit("slow", 0)
            worker.send_signal(signal.SIGTERM)
            self.assertEqual(worker.wait(TIMEOUT), 0)
        self.assertEqual(work.state(), "completed")
        self.assertEqual(more.state(), "waiting", "it claims nothing more")

    def test_what_does_not_finish_in_time_is_handed_back(self) -> None:
        work = self.client.submit("slow", TIMEOUT)
        worker = program("slow.py", "0.1", url=self.server.url, namespace=self.client.namespace)
        with worker:
            self._starts(worker)
            worker.send_signal(signal.SIGTERM)
            self.assertEqual(worker.wait(TIMEOUT), 0, "a thread that blocks does not keep the process")
        self.assertEqual(work.state(), "resumable")
        self.assertEqual([one.status for one in work.attempts()], ["open"], "it costs no attempt")

    def test_a_second_signal_does_not_wait(self) -> None:
        work = self.client.submit("slow", TIMEOUT)
        worker = program("slow.py", str(TIMEOUT), url=self.server.url, namespace=self.client.namespace)
        with worker:
            self._starts(worker)
            worker.send_signal(signal.SIGINT)
            until(lambda: self._gives_up(worker))
        self.assertEqual(work.state(), "resumable")

    def _starts(self, worker: subprocess.Popen[str]) -> None:
        assert worker.stdout
        self.assertEqual(worker.stdout.readline(), "started\n")

    @staticmethod
    def _gives_up(worker: subprocess.Popen[str]) -> bool:
        worker.send_signal(signal.SIGTERM)
        return worker.poll() is not None


class Outages(ServerTestCase):
    def test_a_worker_and_a_producer_survive_a_restart_of_the_server(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            with Server(store=f"sqlite:{directory}/work.ff") as server, server.client() as client:
                app = App(server.url, namespace=client.namespace)
                app.task("echo")(lambda value: value)
                with app.running():
                    self.assertEqual(client.submit("echo", 1).result(TIMEOUT), 1)
                    server.stop()
                    back = threading.Timer(0.3, server.start)
                    back.start()
                    self.assertEqual(client.submit("echo", 2).result(TIMEOUT), 2)
                    back.join()

    def test_a_failure_of_a_handler_names_its_exception(self) -> None:
        app = self.app()

        @app.task("divide")
        def divide(by: int) -> float:
            return 1 / by

        with app.running(), self.assertRaises(ExecutionFailed) as raised:
            self.client.submit("divide", 0, max_attempts=1).result(TIMEOUT)
        self.assertEqual(raised.exception.message, "ZeroDivisionError: division by zero")
