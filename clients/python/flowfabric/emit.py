"""Sends what a task streams: gathered for a moment, in order, and once.

Frames go under their numbers, so a call whose answer was lost is repeated and adds nothing twice. A handler that
streams faster than the server takes it waits for room.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .errors import FlowFabricError, PermanentError, TaskExit
from .http import pause_unless

__all__ = ["Emitter"]

log = logging.getLogger("flowfabric")

GATHER: Final = 0.02
"""How long frames are gathered for one call, in seconds."""
GATHER_BYTES: Final = 64 << 10
"""How many bytes are, and the most that one frame has."""
GATHER_FRAMES: Final = 1000
ROOM: Final = 1 << 20
"""How many bytes wait to be sent."""
OVERHEAD: Final = 64
LAST_FRAMES: Final = 5.0
"""How long the end of a task waits for its frames."""


@dataclass
class _Frame:
    type: str
    data: bytearray
    grows: bool

    @property
    def size(self) -> int:
        return len(self.data) + OVERHEAD

    def body(self) -> dict[str, str]:
        try:
            return {"type": self.type, "text": self.data.decode()}
        except UnicodeDecodeError:
            return {"type": self.type, "base64": base64.b64encode(self.data).decode()}


class Emitter:
    """Sends the frames of one task, on the loop of its hold. Any thread adds to it."""

    def __init__(self, post: Callable[[str, Mapping[str, Any]], Awaitable[Any]], *, begins: bool) -> None:
        self._post = post
        # The first hold of an execution begins its stream; a later one asks where that ends.
        self._next: int | None = 0 if begins else None
        self._lock = threading.Lock()
        self._waiting: list[_Frame] = []
        self._size = 0
        self._failed: FlowFabricError | TaskExit | None = None
        self._loop = asyncio.get_running_loop()
        self._sending: asyncio.Task[None] | None = None
        self._room = asyncio.Condition()
        self._hurry = asyncio.Event()

    def add(self, type: str, data: bytes, *, grows: bool = False) -> bool:
        """Hands a frame over, if there is room for it. One that grows continues the one before, of its type."""
        if len(data) > GATHER_BYTES:
            raise PermanentError(f"a frame has {len(data)} bytes; give at most {GATHER_BYTES}", category="too_large")
        with self._lock:
            if self._failed is not None:
                raise self._failed
            if self._size and self._size + len(data) + OVERHEAD > ROOM:
                return False
            last = self._waiting[-1] if self._waiting else None
            if grows and last and last.grows and last.type == type and len(last.data) + len(data) <= GATHER_BYTES:
                last.data += data
                self._size += len(data)
                return True
            self._waiting.append(_Frame(type, bytearray(data), grows))
            self._size += len(data) + OVERHEAD
            first = len(self._waiting) == 1
        if first:
            self._loop.call_soon_threadsafe(self._start)
        return True

    async def add_when_room(self, type: str, data: bytes, grows: bool) -> None:
        """Hands a frame over, once there is room for it."""
        async with self._room:
            while not self.add(type, data, grows=grows):
                await self._room.wait()

    async def flush(self) -> None:
        """Waits until what was handed over is acknowledged, or never will be."""
        self._hurry.set()
        self._start()
        if self._sending is not None:
            await asyncio.wait({self._sending}, timeout=LAST_FRAMES)
        self._hurry.clear()

    def _start(self) -> None:
        if self._waiting and (self._sending is None or self._sending.done()):
            self._sending = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        while self._waiting:
            if self._size < GATHER_BYTES:
                await pause_unless(self._hurry, GATHER)
            with self._lock:
                frames, size = self._take()
            try:
                await self._append([frame.body() for frame in frames])
            except (FlowFabricError, TaskExit) as error:
                if isinstance(error, FlowFabricError):
                    log.warning("what the task streams is not kept: %s", error)
                with self._lock:
                    self._failed, self._waiting, self._size = error, [], 0
            async with self._room:
                with self._lock:
                    self._size = max(0, self._size - size)
                self._room.notify_all()

    def _take(self) -> tuple[list[_Frame], int]:
        """The frames of the next call, and their size; always one at least."""
        size = count = 0
        for frame in self._waiting[:GATHER_FRAMES]:
            if count and size + frame.size > GATHER_BYTES + OVERHEAD * count:
                break
            count, size = count + 1, size + frame.size
        frames, self._waiting = self._waiting[:count], self._waiting[count:]
        return frames, size

    async def _append(self, frames: list[dict[str, str]]) -> None:
        for _ in range(2):
            if self._next is None:
                self._next = (await self._post("/frames", {"frames": []}))["next"]
            try:
                self._next = (await self._post("/frames", {"first": self._next, "frames": frames}))["next"]
                return
            except FlowFabricError as error:
                if error.code != "frame_gap":
                    raise
                # Others have sent for this task too: it asks again where the stream ends.
                self._next = None
