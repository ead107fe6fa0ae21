"""What is kept over attempts and kills: steps, sleeps, waits for signals and people."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from pathlib import Path

from flowfabric import AsyncTask, ExecutionFailed, Handle, RetryableError, Task, Wait
from flowfabric.testing import ServerTestCase

from .fixture import TIMEOUT, until
from .test_worker import program

SOON = (0.01, 0.02)


def suspended(work: Handle) -> None:
    until(lambda: work.state() == "suspended", "the suspension")


class Steps(ServerTestCase):
    def test_a_step_runs_once_over_all_attempts(self) -> None:
        app = self.app()
        calls: list[str] = []

        @app.task("order")
        def order(task: Task, cents: int) -> list[object]:
            def charge() -> int:
                calls.append(key)
                return cents

            key = task.key("charge")
            receipt = task.step("charge", charge)
            if task.attempt < 2:
                raise RetryableError("not yet")
            return [receipt, key]

        @app.task("async")
        async def asynchronous(task: AsyncTask, cents: int) -> list[object]:
            async def charge(cents: int, *, key: str) -> int:
                calls.append(key)
                return cents

            key = task.key("charge")
            receipt = await task.step("charge", charge, cents, key=key)
            if task.attempt < 2:
                raise RetryableError("not yet")
            return [receipt, key]

        with app.running():
            for kind in ("order", "async"):
                calls.clear()
                work = self.client.submit(kind, 500, backoff=SOON)
                receipt, key = work.result(TIMEOUT)
                self.assertEqual((receipt, calls), (500, [key]))
                self.assertTrue(key.startswith(work.id))
                self.assertEqual([(step.name, step.result) for step in work.steps()], [("charge", 500)])

    def test_what_a_step_returns_is_what_was_kept(self) -> None:
        app = self.app()

        @app.task("kinds")
        def kinds(task: Task, _: object) -> list[object]:
            pair: object = task.step("pair", lambda: (1, {2: "b"}))
            data = task.step("data", lambda: b"\xff\x00")
            none = task.step("none", lambda: None)
            if task.attempt == 0:
                raise RetryableError("once more")
            return [pair, data.hex(), none]

        with app.running():
            work = self.client.submit("kinds", backoff=SOON)
            self.assertEqual(work.result(TIMEOUT), [[1, {"2": "b"}], "ff00", None])

    def test_a_failed_step_is_not_kept_and_may_be_tried_again(self) -> None:
        app = self.app()
        tries: list[int] = []

        @app.task("flaky")
        def flaky(task: Task, _: object) -> int:
            def call() -> int:
                tries.append(1)
                if len(tries) == 1:
                    raise OSError("busy")
                return len(tries)

            try:
                return task.step("call", call)
            except OSError:
                return task.step("call", call)

        with app.running():
            self.assertEqual(self.client.submit("flaky").result(TIMEOUT), 2)

    def test_a_name_is_used_once(self) -> None:
        app = self.app()

        @app.task("twice")
        def twice(task: Task, _: object) -> None:
            task.step("same", lambda: 1)
            task.step("same", lambda: 2)

        @app.task("changed")
        def changed(task: Task, _: object) -> None:
            if task.attempt:
                task.sleep("same", 1)
            task.step("same", lambda: 1)
            raise RetryableError("once more")

        with app.running():
            for kind in ("twice", "changed"):
                with self.assertRaises(ExecutionFailed) as raised:
                    self.client.submit(kind, backoff=SOON).result(TIMEOUT)
                self.assertEqual(raised.exception.category, "step_conflict")

    def test_a_result_that_cannot_be_kept_fails_the_task_for_good(self) -> None:
        app = self.app()
        runs: list[int] = []

        @app.task("large")
        def large(task: Task, _: object) -> None:
            runs.append(1)
            task.step("read", lambda: "x" * (1 << 20))

        with app.running(), self.assertRaises(ExecutionFailed) as raised:
            self.client.submit("large", backoff=SOON).result(TIMEOUT)
        self.assertEqual((raised.exception.category, runs), ("too_large", [1]))

    def test_a_replay_repeats_what_its_journal_hides(self) -> None:
        app = self.app()
        calls: list[str] = []

        @app.task("pair")
        def pair(task: Task, _: object) -> int:
            for name in ("first", "second"):
                task.step(name, lambda: calls.append(task.key(name)))
            return task.run

        with app.running():
            work = self.client.submit("pair")
            work.wait(TIMEOUT)
            work.replay()
            work.wait(TIMEOUT)
            self.assertEqual(len(calls), 2, "a replay finds the journal")
            work.replay(up_to="first")
            self.assertEqual(work.result(TIMEOUT), 2)
        self.assertEqual(len(set(calls)), 3, "what is repeated has a new key")

    def test_a_worker_killed_in_a_step_repeats_no_paid_call(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            bill = Path(directory) / "bill"
            work = self.client.submit("order", 500, lease_ttl=1)
            place = {"url": self.server.url, "namespace": self.client.namespace}
            with program("order.py", str(bill), **place) as first:
                assert first.stdout is not None
                self.assertEqual(first.stdout.readline(), "shipping\n")
                first.kill()
            with program("order.py", str(bill), **place) as second:
                self.assertEqual(work.result(TIMEOUT), ["charge-500 done", "ship done"])
                second.terminate()
            calls = [line.split() for line in bill.read_text().splitlines()]
        self.assertEqual([what for what, _ in calls], ["charge-500", "ship", "ship"])
        self.assertEqual(calls[1], calls[2], "the step that was cut runs again under the same key")
        self.assertEqual([one.status for one in work.attempts()], ["lease_lost", "completed"])


class Waits(ServerTestCase):
    def test_a_sleep_leaves_the_worker(self) -> None:
        app = self.app()
        runs: list[str] = []

        @app.task("nap")
        def nap(task: Task, seconds: float) -> int:
            runs.append("began")
            try:
                task.sleep("nap", seconds)
            except Exception:
                runs.append("swallowed")
            task.sleep("other nap", 0.01)
            return task.attempt

        @app.task("async-nap")
        async def async_nap(task: AsyncTask, seconds: float) -> int:
            runs.append("began")
            try:
                await task.sleep("nap", seconds)
            except Exception:
                runs.append("swallowed")
            return task.attempt

        @app.task("quick")
        def quick(_: object) -> None:
            runs.append("quick")

        with app.running():
            long = self.client.submit("nap", 3600)
            until(lambda: long.state() == "delayed")
            self.client.submit("quick").wait(TIMEOUT)
            runs.clear()
            self.assertEqual(self.client.submit("nap", 0.05).result(TIMEOUT), 0, "a sleep costs no attempt")
            self.assertEqual(runs, ["began", "began", "began"])
            runs.clear()
            self.assertEqual(self.client.submit("async-nap", 0.05).result(TIMEOUT), 0)
            self.assertEqual(runs, ["began", "began"])
            long.cancel()

    def test_a_handler_that_catches_everything_still_parks(self) -> None:
        app = self.app()
        runs: list[str] = []

        @app.task("stubborn")
        def stubborn(task: Task, _: object) -> str:
            try:
                task.sleep("nap", 0.05)
            except BaseException as parked:
                runs.append(type(parked).__name__)
                return "it must not count"
            return "slept"

        with app.running():
            self.assertEqual(self.client.submit("stubborn").result(TIMEOUT), "slept")
        self.assertEqual(runs, ["Parked"])

    def test_a_signal_ends_a_wait_and_its_payload_is_returned(self) -> None:
        app = self.app()

        @app.task("paid")
        async def paid(task: AsyncTask, _: object) -> list[object]:
            waited = await task.wait_for_signal("paid", Wait.at("payment", named="paid"))
            assert waited.signal is not None
            return [waited.signal.payload, waited.signal.name, waited.timed_out]

        with app.running():
            work = self.client.submit("paid")
            suspended(work)
            self.assertEqual(work.signal("payment", "other"), "recorded")
            self.assertEqual(work.signal("payment", "paid", {"cents": 500}), "resumed")
            self.assertEqual(work.result(TIMEOUT), [{"cents": 500}, "paid", False])

    def test_bytes_come_with_a_signal(self) -> None:
        app = self.app()

        @app.task("bytes")
        def data(task: Task, _: object) -> bytes:
            waited = task.wait_for_signal("data", "door")
            assert waited.signal is not None and isinstance(waited.signal.payload, bytes)
            return waited.signal.payload

        with app.running():
            work = self.client.submit("bytes")
            suspended(work)
            self.assertEqual(work.signal("door", "data", b"\xff\x00", key="k"), "resumed")
            self.assertEqual(work.result(TIMEOUT), b"\xff\x00")

    def test_a_signal_that_came_early_is_not_missed(self) -> None:
        app, opened, go = self.app(), threading.Event(), threading.Event()

        @app.task("early")
        def early(task: Task, _: object) -> object:
            if not opened.is_set():
                task.open_waitpoint("door")
                opened.set()
                go.wait(TIMEOUT)
            waited = task.wait_for_signal("knock", "door")
            return waited.signal and waited.signal.payload

        with app.running():
            work = self.client.submit("early")
            opened.wait(TIMEOUT)
            self.assertEqual(work.waitpoints(), ["door"])
            self.assertEqual(work.signal("door", "knock", 7), "recorded")
            go.set()
            self.assertEqual(work.result(TIMEOUT), 7)

    def test_a_callback_answers_by_token(self) -> None:
        app = self.app()
        tokens: list[str] = []

        @app.task("callback")
        def callback(task: Task, _: object) -> object:
            token = task.open_waitpoint("done")
            if token is not None:
                tokens.append(token)
            waited = task.wait_for_signal("answer", "done", reason="callback")
            return waited.signal and waited.signal.payload

        with app.running():
            work = self.client.submit("callback")
            suspended(work)
            self.assertEqual(self.client.deliver_signal(tokens[0], "done", "42"), "resumed")
            self.assertEqual(work.result(TIMEOUT), "42")

    def test_a_wait_ends_with_its_time_and_by_an_operator(self) -> None:
        app = self.app()

        @app.task("wait")
        def wait(task: Task, seconds: float) -> list[object]:
            waited = task.wait_for_signal("never", Wait.all(Wait.at("a"), Wait.at("b")), timeout=seconds)
            return [waited.timed_out, len(waited.signals)]

        @app.task("fails")
        def fails(task: Task, _: object) -> None:
            task.wait_for_signal("never", "a", timeout=0.05, on_timeout="fail")

        with app.running():
            self.assertEqual(self.client.submit("wait", 0.05).result(TIMEOUT), [True, 0])
            work = self.client.submit("wait", 3600)
            suspended(work)
            self.assertTrue(work.resume())
            self.assertEqual(work.result(TIMEOUT), [False, 0])
            with self.assertRaises(ExecutionFailed):
                self.client.submit("fails").result(TIMEOUT)

    def test_people_approve_and_reject(self) -> None:
        app = self.app()

        @app.task("deploy")
        def deploy(task: Task, version: str) -> list[object]:
            decision = task.wait_for_approval("gate", f"Deploy {version}?", approvers=2)
            return [decision.outcome, [[vote.by, vote.comment] for vote in decision.votes]]

        with app.running():
            work = self.client.submit("deploy", "1.4")
            suspended(work)
            self.assertIn("Deploy 1.4?", str(work.explain()))
            (listed,) = self.client.executions(state=["suspended"], reason="approval")
            self.assertEqual(listed.id, work.id)
            ann = work.token("approval", "ann")
            self.assertEqual(self.client.deliver_signal(ann, "approve", {"comment": "fine"}), "recorded")
            self.assertEqual(self.client.deliver_signal(ann, "approve", {"comment": "really"}), "recorded")
            self.assertEqual(work.state(), "suspended", "one person does not count twice")
            self.assertIn("/approve/", work.approval_link("approval", "bo"))
            self.assertEqual(work.approve(comment="go"), "resumed")
            outcome, votes = work.result(TIMEOUT)
            self.assertEqual((outcome, votes[0], votes[-1]), ("approved", ["ann", "fine"], ["local", "go"]))
            work = self.client.submit("deploy", "1.5")
            suspended(work)
            self.assertEqual(work.reject(comment="not on a Friday"), "resumed")
            self.assertEqual(work.result(TIMEOUT), ["rejected", [["local", "not on a Friday"]]])

    def test_an_approval_that_nobody_gives_times_out(self) -> None:
        app = self.app()

        @app.task("ask")
        async def ask(task: AsyncTask, _: object) -> str:
            decision = await task.wait_for_approval("gate", "Well?", timeout=0.05)
            return decision.outcome

        with app.running():
            self.assertEqual(self.client.submit("ask").result(TIMEOUT), "timed_out")

    def test_steps_run_at_once_in_a_coroutine(self) -> None:
        app = self.app()

        @app.task("both")
        async def both(task: AsyncTask, _: object) -> list[int]:
            async def double(n: int) -> int:
                await asyncio.sleep(0)
                return n * 2

            steps = [asyncio.create_task(task.step(f"double-{n}", double, n)) for n in range(20)]
            await asyncio.create_task(task.progress(1, "all of them have begun"))
            return list(await asyncio.gather(*steps))

        with app.running():
            work = self.client.submit("both")
            self.assertEqual(work.result(TIMEOUT), [n * 2 for n in range(20)])
            self.assertEqual(len(work.steps()), 20)

    def test_what_is_parked_by_one_task_of_a_handler_ends_all_of_it(self) -> None:
        app = self.app()
        began = time.monotonic()

        @app.task("gather")
        async def gather(task: AsyncTask, _: object) -> str:
            await asyncio.gather(task.sleep("nap", 0.05), asyncio.sleep(0))
            return "slept"

        with app.running():
            self.assertEqual(self.client.submit("gather").result(TIMEOUT), "slept")
        self.assertGreaterEqual(time.monotonic() - began, 0.05)
