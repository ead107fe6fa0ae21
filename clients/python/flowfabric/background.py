"""An event loop on a thread of its own.

Heartbeats run there, so that a handler which blocks never loses its lease; and plain code makes its calls there.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

__all__ = ["Background"]


class Background:
    """Runs coroutines for other threads. The thread starts with the first one, and again after a fork.

    `last` is called on the loop when it ends, at the latest with the process.
    """

    def __init__(self, name: str, last: Callable[[], None]) -> None:
        self._name, self._last = name, last
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], object] = lambda: None
        self._pid = 0
        self._closed = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, which runs."""
        if self._pid != os.getpid():
            # Threads and locks do not survive a fork.
            self._lock, self._loop, self._pid = threading.Lock(), None, os.getpid()
        with self._lock:
            if self._closed:
                raise RuntimeError(f"{self._name} is closed")
            if self._loop is None:
                loop = self._loop = asyncio.new_event_loop()
                thread = threading.Thread(target=_run, args=(loop, self._last), name=self._name, daemon=True)
                thread.start()
                self._end = weakref.finalize(self, _stop, loop, thread, self._pid)
            return self._loop

    def start(self, call: Coroutine[Any, Any, T]) -> Future[T]:
        """Starts a coroutine; its future says how it ended."""
        try:
            return asyncio.run_coroutine_threadsafe(call, self.loop)
        except RuntimeError:
            call.close()
            raise

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine and waits for it. Interrupting the wait cancels it."""
        future = self.start(call)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancels what runs, and ends the thread, for ever."""
        with self._lock:
            self._closed = True
        self._end()


def _run(loop: asyncio.AbstractEventLoop, last: Callable[[], None]) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        last()
        # Closed connections need a turn of the loop, and TLS another.
        loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread, pid: int) -> None:
    if pid == os.getpid() and thread.is_alive():
        loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join()
