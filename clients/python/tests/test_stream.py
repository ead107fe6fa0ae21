"""What a task streams while it runs, and its summary."""

from __future__ import annotations

from flowfabric import AsyncTask, ExecutionFailed, RetryableError, Task
from flowfabric.testing import ServerTestCase

from .fixture import TIMEOUT


class Streams(ServerTestCase):
    def test_frames_come_once_and_in_order_over_all_attempts(self) -> None:
        app = self.app()

        @app.task("talk")
        def talk(task: Task, _: object) -> None:
            for number in range(50):
                task.emit("log", f"{task.attempt}-{number}")
            task.emit("raw", b"\xff\x00")
            if task.attempt == 0:
                raise RetryableError("once more")

        with app.running():
            work = self.client.submit("talk", backoff=(0.01, 0.02))
            frames = list(work.tail())
        said = [frame.text for frame in frames if frame.type == "log"]
        self.assertEqual(said, [f"{attempt}-{number}" for attempt in (0, 1) for number in range(50)])
        self.assertEqual([frame.data for frame in frames if frame.type == "raw"], [b"\xff\x00"] * 2)
        self.assertEqual([frame.number for frame in frames], list(range(102)))
        self.assertEqual([frame.number for frame in work.tail(after=100, follow=False)], [100, 101])

    def test_tokens_of_a_moment_are_one_frame(self) -> None:
        app = self.app()

        @app.task("plain")
        def plain(task: Task, _: object) -> None:
            tokens = task.stream()
            for number in range(500):
                tokens.write(f"{number} ")

        @app.task("async")
        async def asynchronous(task: AsyncTask, _: object) -> None:
            await task.emit("status", "thinking")
            tokens = task.stream("said")
            for number in range(500):
                await tokens.write(f"{number} ")

        with app.running():
            for kind, type in (("plain", "token"), ("async", "said")):
                frames = [frame for frame in self.client.submit(kind).tail() if frame.type == type]
                self.assertEqual("".join(frame.text for frame in frames), "".join(f"{n} " for n in range(500)))
                self.assertLess(len(frames), 500, "they were gathered")

    def test_a_handler_that_streams_too_fast_waits_for_room(self) -> None:
        app, part = self.app(), 60_000

        @app.task("flood")
        def flood(task: Task, count: int) -> int:
            for number in range(count):
                task.emit("data", bytes([number]) * part)
            task.stream("long").write(b"x" * 200_000)
            return count

        with app.running():
            work = self.client.submit("flood", 40)
            self.assertEqual(work.result(TIMEOUT), 40)
        frames = list(work.tail())
        sent = [frame.data[0] for frame in frames if frame.type == "data"]
        self.assertEqual(sent, list(range(40)), "3 MB in frames, and room for one")
        self.assertEqual(sum(len(frame.data) for frame in frames if frame.type == "long"), 200_000)

    def test_a_frame_has_a_bound(self) -> None:
        app = self.app()

        @app.task("large")
        def large(task: Task, _: object) -> None:
            task.emit("data", b"x" * ((64 << 10) + 1))

        with app.running(), self.assertRaises(ExecutionFailed) as raised:
            self.client.submit("large").result(TIMEOUT)
        self.assertEqual(raised.exception.category, "too_large")

    def test_frames_are_kept_before_a_task_parks(self) -> None:
        app = self.app()

        @app.task("parks")
        def parks(task: Task, _: object) -> None:
            if task.last_progress is None:
                task.progress(50)
                task.emit("log", "before")
                task.sleep("nap", 0.01)
            task.sleep("nap", 0.01)
            task.emit("log", "after")

        with app.running():
            work = self.client.submit("parks")
            self.assertEqual([frame.text for frame in work.tail()], ["before", "after"])

    def test_a_summary_is_patched(self) -> None:
        app = self.app()

        @app.task("sums")
        async def sums(task: AsyncTask, _: object) -> None:
            await task.summarize({"done": task.attempt, "rows": [1]})
            if task.attempt == 0:
                raise RetryableError("once more")
            await task.summarize({"rows": None, "end": True})

        with app.running():
            work = self.client.submit("sums", backoff=(0.01, 0.02))
            work.wait(TIMEOUT)
            self.assertEqual(work.summary(), {"done": 1, "end": True})
        self.assertIsNone(self.client.submit("nobody").summary())
