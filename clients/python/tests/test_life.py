"""The life of a task: submitted, run, retried, failed, replayed, read."""

from __future__ import annotations

import json
import unittest

from flowfabric import (
    AccessDenied,
    CancelTask,
    Client,
    Conflict,
    DelayTask,
    ExecutionCancelled,
    ExecutionExpired,
    ExecutionFailed,
    InvalidRequest,
    NotFound,
    Payload,
    PermanentError,
    RetryableError,
    ServerUnreachable,
    Task,
    WaitTimeout,
)
from flowfabric.testing import Server, ServerTestCase

from .fixture import TIMEOUT, until

SOON = (0.01, 0.02)


class Life(ServerTestCase):
    def test_a_plain_function_and_a_coroutine_handle_work(self) -> None:
        app = self.app()

        @app.task("plain")
        def plain(name: str) -> str:
            return f"hello, {name}"

        @app.task("async")
        async def asynchronous(name: str) -> str:
            return f"hi, {name}"

        with app.running():
            self.assertEqual(self.client.submit("plain", "world").result(TIMEOUT), "hello, world")
            self.assertEqual(self.client.submit("async", "world").result(TIMEOUT), "hi, world")
        self.assertEqual(plain("you"), "hello, you", "a handler stays a function")

    def test_a_handler_sees_its_task(self) -> None:
        app = self.app()

        @app.task("see", lane="quick")
        def see(task: Task) -> list[object]:
            return [task.kind, task.lane, task.tags, task.attempt, task.run, task.is_last_attempt, task.input]

        with app.running():
            work = self.client.submit("see", [1], lane="quick", tags={"a": "b"}, max_attempts=1)
            self.assertEqual(work.result(TIMEOUT), ["see", "quick", {"a": "b"}, 0, 0, True, [1]])

    def test_bytes_in_are_bytes_out(self) -> None:
        app = self.app()

        @app.task("reverse")
        def reverse(data: bytes) -> bytes:
            return data[::-1]

        data = bytes(range(256))
        with app.running():
            work = self.client.submit("reverse", data)
            self.assertEqual(work.result(TIMEOUT), data[::-1])
            self.assertEqual(work.input(), Payload(data))

    def test_a_payload_keeps_its_media_type_and_every_byte(self) -> None:
        app = self.app()

        @app.task("picture")
        def picture(task: Task, data: object) -> Payload:
            assert isinstance(data, bytes)
            return Payload(data, task.content_type)

        with app.running():
            image = Payload(b"\x89PNG\r\n\x1a\n\xff", "image/png")
            self.assertEqual(self.client.submit("picture", image).payload(TIMEOUT), image)
            exact = Payload(b'{"a" :  [1, 2.50,9007199254740993]}', "application/json")
            self.assertEqual(self.client.submit("picture", exact).input(), exact)

    def test_json_is_decoded_whatever_its_text(self) -> None:
        app = self.app()
        app.task("same")(lambda value: value)
        values: list[object] = [None, True, 1.5, "\u00e4\u6f22\U0001f600 \u0000", {"a": [1, {"b": None}]}, 2**60, [], ""]
        with app.running():
            for value in values:
                self.assertEqual(self.client.submit("same", value).result(TIMEOUT), value)

    def test_an_exception_is_retried_and_a_permanent_one_is_not(self) -> None:
        app, tries = self.app(), {"retry": 0, "never": 0}

        @app.task("retry")
        def retry(task: Task, _: object) -> int:
            tries["retry"] += 1
            if task.attempt == 0:
                raise OSError("the line is busy")
            if task.attempt == 1:
                raise RetryableError("again", category="busy")
            return task.attempt

        @app.task("never")
        def never(_: object) -> None:
            tries["never"] += 1
            raise PermanentError("there is nothing to do", category="empty")

        with app.running():
            work = self.client.submit("retry", backoff=SOON)
            self.assertEqual(work.result(TIMEOUT), 2)
            attempts = [(one.status, one.message) for one in work.attempts()]
            failed = [("failed", "OSError: the line is busy"), ("failed", "again"), ("completed", None)]
            self.assertEqual(attempts, failed)
            with self.assertRaises(ExecutionFailed) as raised:
                self.client.submit("never", backoff=SOON).result(TIMEOUT)
        self.assertEqual((raised.exception.message, raised.exception.category), ("there is nothing to do", "empty"))
        self.assertEqual(tries, {"retry": 3, "never": 1})

    def test_a_failure_says_what_happened_whatever_it_says(self) -> None:
        app = self.app()

        @app.task("fail")
        def fail(length: int) -> None:
            raise PermanentError("\u00e4" * length, category="no such category!")

        with app.running():
            for length in (10, 5000):
                with self.assertRaises(ExecutionFailed) as raised:
                    self.client.submit("fail", length).result(TIMEOUT)
                self.assertIn("\u00e4" * 10, raised.exception.message)

    def test_a_result_that_cannot_be_kept_fails_for_good(self) -> None:
        app, runs = self.app(), []
        results = {"large": "x" * (1 << 20), "set": {1}, "nan": float("nan")}

        @app.task("odd")
        def odd(which: str) -> object:
            runs.append(which)
            return results[which]

        with app.running():
            for which, category in (("large", "too_large"), ("set", "bad_payload"), ("nan", "bad_payload")):
                with self.assertRaises(ExecutionFailed) as raised:
                    self.client.submit("odd", which).result(TIMEOUT)
                self.assertEqual(raised.exception.category, category)
        self.assertEqual(runs, ["large", "set", "nan"], "no run is repeated")

    def test_an_input_that_does_not_decode_fails_for_good(self) -> None:
        app = self.app()
        app.task("same")(lambda value: value)
        with app.running(), self.assertRaises(ExecutionFailed) as raised:
            self.client.submit("same", Payload(b"{half", "application/json")).result(TIMEOUT)
        self.assertEqual(raised.exception.category, "bad_payload")

    def test_work_without_a_handler_fails_with_the_kinds_there_are(self) -> None:
        app = self.app()
        app.task("known")(lambda value: value)
        with app.running(), self.assertRaises(ExecutionFailed) as raised:
            self.client.submit("other", max_attempts=1).result(TIMEOUT)
        self.assertEqual(raised.exception.category, "no_handler")
        self.assertIn("this worker has known", raised.exception.message)

    def test_a_handler_delays_and_cancels_its_task(self) -> None:
        app = self.app()
        delayed: list[int] = []

        @app.task("later")
        def later(task: Task, _: object) -> int:
            if not delayed:
                delayed.append(task.attempt)
                raise DelayTask(0.05)
            return task.attempt

        @app.task("enough")
        def enough(_: object) -> None:
            raise CancelTask("nobody needs it")

        with app.running():
            self.assertEqual(self.client.submit("later").result(TIMEOUT), 0, "a delay costs no attempt")
            with self.assertRaises(ExecutionCancelled) as raised:
                self.client.submit("enough").result(TIMEOUT)
        self.assertIn("nobody needs it", raised.exception.message)

    def test_system_exit_in_a_handler_is_a_failed_attempt(self) -> None:
        app = self.app()

        @app.task("exit")
        def plain(_: object) -> None:
            raise SystemExit(3)

        @app.task("async-exit")
        async def asynchronous(_: object) -> None:
            raise KeyboardInterrupt

        with app.running():
            for kind in ("exit", "async-exit"):
                with self.assertRaises(ExecutionFailed) as raised:
                    self.client.submit(kind, max_attempts=1).result(TIMEOUT)
                self.assertEqual(raised.exception.category, "panic")

    def test_the_same_key_is_the_same_work(self) -> None:
        first = self.client.submit("once", {"n": 1}, key="a")
        self.assertEqual(self.client.submit("once", {"n": 1}, key="a").id, first.id)
        with self.assertRaises(Conflict) as raised:
            self.client.submit("once", {"n": 2}, key="a")
        self.assertEqual((raised.exception.code, raised.exception.status), ("idempotency_conflict", 409))
        self.assertNotEqual(self.client.submit("once", {"n": 1}).id, self.client.submit("once", {"n": 1}).id)

    def test_a_wait_has_an_end_and_the_work_goes_on(self) -> None:
        work = self.client.submit("nobody")
        with self.assertRaises(WaitTimeout):
            work.result(timeout=0.05)
        with self.assertRaises(TimeoutError):
            work.wait(timeout=0)
        self.assertEqual(work.state(), "waiting")

    def test_an_end_without_a_result_is_raised(self) -> None:
        work = self.client.submit("nobody")
        work.cancel(reason="not needed")
        with self.assertRaises(ExecutionCancelled) as cancelled:
            work.result(TIMEOUT)
        self.assertEqual((cancelled.exception.execution, cancelled.exception.message), (work.id, "not needed"))
        with self.assertRaises(ExecutionExpired):
            self.client.submit("nobody", deadline=0.05).result(TIMEOUT)

    def test_a_replay_runs_again(self) -> None:
        app = self.app()
        app.task("count")(_run_number)
        with app.running():
            work = self.client.submit("count")
            self.assertEqual(work.result(TIMEOUT), 0)
            self.assertEqual(work.replay(), 1)
            self.assertEqual(work.result(TIMEOUT), 1)
        with self.assertRaises(Conflict) as raised:
            work.replay(run=5)
        self.assertEqual(raised.exception.code, "run_mismatch")

    def test_executions_are_listed_page_by_page(self) -> None:
        ids = {self.client.submit("listed", tags={"n": str(number % 2)}).id for number in range(120)}
        listed = list(self.client.executions(kind="listed"))
        self.assertEqual({one.id for one in listed}, ids)
        self.assertEqual(len(list(self.client.executions(tags={"n": "1"}))), 60)
        self.assertEqual(list(self.client.executions(state=["completed", "failed"])), [])

    def test_explain_says_what_is_waited_for(self) -> None:
        why = self.client.submit("nobody", lane="empty").explain()
        self.assertIn("no live worker serves lane empty", str(why))
        self.assertEqual(why.reasons[0]["reason"], "no_worker_on_lane")

    def test_a_budget_is_charged_once_for_each_key(self) -> None:
        app = self.app()

        @app.task("spend")
        def spend(task: Task, _: object) -> dict[str, int]:
            task.report_usage("call-1", {"tokens": 30})
            task.report_usage("call-1", {"tokens": 30})
            return task.release_usage("refund", {"tokens": 10})

        self.client.set_budget("purse", {"tokens": 100})
        self.client.set_quota("calls", requests=10, active=2)
        with app.running():
            work = self.client.submit("spend", budgets=["purse"], quotas=["calls"], estimate={"tokens": 50})
            self.assertEqual(work.result(TIMEOUT), {"tokens": 20})
        until(lambda: self.client.budget_used("purse") == {"tokens": 20})

    def test_a_finished_execution_can_be_deleted(self) -> None:
        work = self.client.submit("nobody")
        with self.assertRaises(Conflict):
            work.delete()
        work.cancel()
        work.delete()
        with self.assertRaises(NotFound):
            work.describe()

    def test_errors_have_a_code_and_say_whether_to_repeat(self) -> None:
        with self.assertRaises(InvalidRequest) as raised:
            self.client.submit("known", max_attempts=0)
        error = raised.exception
        self.assertEqual((error.code, error.status, error.retryable), ("invalid_argument", 400, False))
        self.assertEqual(error.field, "max_attempts")
        with self.assertRaises(InvalidRequest) as large:
            self.client.submit("large", b"x" * (1 << 20) + b"x")
        self.assertEqual(large.exception.code, "too_large")

    def test_a_handler_has_one_kind_and_a_fitting_signature(self) -> None:
        app = self.app()
        app.task("one")(lambda value: value)
        with self.assertRaises(ValueError):
            app.task("one")(lambda value: value)
        with self.assertRaises(TypeError):
            app.task("three")(lambda task, value, more: value)
        with self.assertRaises(ValueError):
            self.app().run()


class Tokens(unittest.TestCase):
    def test_a_server_with_a_token_wants_it(self) -> None:
        token = "0123456789abcdef0123456789abcdef"
        with Server(token=token) as server:
            with Client(server.url, namespace="n") as stranger, self.assertRaises(AccessDenied) as raised:
                stranger.submit("greet")
            self.assertEqual((raised.exception.code, raised.exception.status), ("unauthenticated", 401))
            with server.client("default") as client:
                self.assertEqual(client.submit("greet").state(), "waiting")
                secret = _named(client, "reader")
            with Client(server.url, token=secret) as reader:
                self.assertEqual(len(list(reader.executions())), 1)
                with self.assertRaises(AccessDenied) as forbidden:
                    reader.submit("greet")
            self.assertEqual(forbidden.exception.code, "forbidden")

    def test_no_server_is_an_error_that_may_pass(self) -> None:
        with Server() as server:
            client = server.client()
        with client, self.assertRaises(ServerUnreachable) as raised:
            client._background.run(client._target.http.once("GET", "/readyz"))
        self.assertEqual((raised.exception.code, raised.exception.retryable), ("server_unreachable", True))


def _run_number(task: Task, _: object) -> int:
    return task.run


def _named(client: Client, role: str) -> str:
    body = {"name": role, "role": role, "namespaces": ["default"]}
    secret: str = json.loads(client.call("POST", "/v1/tokens", body).body)["secret"]
    return secret


if __name__ == "__main__":
    unittest.main()
