"""HTTP/1.1 over asyncio streams: one request at a time on each of a few kept-alive connections.

Every call of the API can be repeated, so a call whose answer is lost is sent again, as it was, until its patience
ends: after a pause with jitter, and only if the failure may pass.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from .errors import FlowFabricError, ServerFailed, ServerUnreachable

__all__ = ["Answer", "Backoff", "Http", "pause_unless", "segment"]

TIMEOUT: Final = 10.0
"""How long one call may take, besides the time that it asks the server to wait."""
PATIENCE: Final = 30.0
"""How long a call is repeated."""
MAX_HEAD: Final = 64 << 10
MAX_BODY: Final = 64 << 20
MAX_IDLE: Final = 16
"""How many connections are kept for later calls."""


def segment(text: str) -> str:
    """Text as one segment of a path."""
    return quote(text, safe="")


class Backoff:
    """Pauses that double. Each is between half and the whole of its length, so that clients spread."""

    def __init__(self, first: float = 0.05, longest: float = 2.0) -> None:
        self._first, self._next, self._longest = first, first, longest

    def pause(self) -> float:
        whole, self._next = self._next, min(self._next * 2, self._longest)
        return whole * (0.5 + random.random() / 2)

    def reset(self) -> None:
        self._next = self._first


async def pause_unless(event: asyncio.Event, seconds: float) -> None:
    """Pauses, or returns as soon as the event is set."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


@dataclass(frozen=True)
class Answer:
    """An answer that is a success."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, decoded; `None` if there is none."""
        if not self.body:
            return None
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise ServerFailed("the answer is not JSON", code="protocol_error", status=self.status) from error


@dataclass
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def close(self) -> None:
        self.writer.close()


_INHERITED: list[list[_Connection]] = []
"""Connections of a parent process, which are not even collected here."""


class Http:
    """Calls one server. It belongs to one event loop."""

    def __init__(self, url: str, *, token: str | None = None, ca: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{url!r} is not the address of a server; give http:// or https:// and a host")
        self._tls = ssl.create_default_context(cafile=ca) if parts.scheme == "https" else None
        self._host, self._port = parts.hostname, parts.port or (443 if self._tls else 80)
        self._prefix = parts.path.rstrip("/")
        host = f"[{self._host}]" if ":" in self._host else self._host
        head = [f"Host: {host}:{self._port}" if parts.port else f"Host: {host}", "Accept: application/json"]
        if token is not None:
            if not token.isascii() or not token.isprintable() or " " in token:
                raise ValueError("the token has characters that no header can carry")
            head.append(f"Authorization: Bearer {token}")
        self._head = "\r\n".join(head)
        self._idle: list[_Connection] = []
        self._pid = os.getpid()

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, object] | None = None,
        timeout: float = TIMEOUT,
        patience: float = PATIENCE,
    ) -> Answer:
        """Makes a call, and repeats it while it fails in a way that may pass, for as long as `patience`."""
        clock = asyncio.get_running_loop().time
        until, backoff = clock() + patience, Backoff()
        while True:
            try:
                return await self.once(method, path, body, query=query, timeout=timeout)
            except FlowFabricError as error:
                pause = max(backoff.pause(), min(error.retry_after or 0.0, 5.0))
                if not error.retryable or clock() + pause > until:
                    raise
            await asyncio.sleep(pause)

    async def once(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, object] | None = None,
        timeout: float = TIMEOUT,
    ) -> Answer:
        """Makes a call, once. A problem that the server answers is raised."""
        request = self._request(method, path, query, body)
        try:
            answer = await asyncio.wait_for(self._exchange(request), timeout)
        except asyncio.TimeoutError as error:
            raise ServerUnreachable(
                f"{method} {path} was not answered in {timeout:g} s", code="server_no_answer", retryable=True
            ) from error
        if 200 <= answer.status < 300:
            return answer
        try:
            problem = json.loads(answer.body)
        except ValueError:
            problem = {}
        seconds = answer.headers.get("retry-after", "")
        after = float(seconds) if seconds.isascii() and seconds.isdigit() else None
        problem = problem if isinstance(problem, dict) else {}
        # What stands between answers without our problem; it may pass.
        problem.setdefault("retryable", answer.status in (429, 502, 503, 504))
        raise FlowFabricError.of_problem(answer.status, problem, after)

    def close(self) -> None:
        """Closes the connections that wait for a call."""
        self._leave_inherited()
        while self._idle:
            self._idle.pop().close()

    def _request(self, method: str, path: str, query: Mapping[str, object] | None, body: object) -> bytes:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        target = self._prefix + path + (f"?{urlencode(given, doseq=True)}" if given else "")
        head, data = f"{method} {target} HTTP/1.1\r\n{self._head}\r\n", b""
        if body is not None:
            data = json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
            head += "Content-Type: application/json\r\n"
        if body is not None or method != "GET":
            head += f"Content-Length: {len(data)}\r\n"
        return head.encode("ascii") + b"\r\n" + data

    async def _exchange(self, request: bytes) -> Answer:
        """Sends a request on a kept connection, or on a new one. One that breaks is not sent again here: it may have
        taken effect, which a claim that is repeated has to say."""
        connection = self._kept() or await self._connect()
        try:
            answer = await _send(connection, request)
        except (OSError, EOFError) as error:
            connection.close()
            why = f"the connection broke: {'it was closed' if isinstance(error, EOFError) else error}"
            raise ServerUnreachable(why, code="server_no_answer", retryable=True) from error
        except (ValueError, LookupError, asyncio.LimitOverrunError) as error:
            connection.close()
            raise ServerFailed(f"the answer is not HTTP as expected: {error}", code="protocol_error") from error
        except BaseException:
            connection.close()
            raise
        if answer.headers.get("connection", "").lower() == "close" or len(self._idle) >= MAX_IDLE:
            connection.close()
        else:
            self._idle.append(connection)
        return answer

    def _leave_inherited(self) -> None:
        """After a fork, leaves the connections to the parent: they and its event loop share what they wait on, so not
        even closing them here would leave the parent alone."""
        if self._pid != os.getpid():
            _INHERITED.append(self._idle)
            self._idle, self._pid = [], os.getpid()

    def _kept(self) -> _Connection | None:
        self._leave_inherited()
        while self._idle:
            connection = self._idle.pop()
            if not connection.reader.at_eof() and not connection.writer.is_closing():
                return connection
            connection.close()
        return None

    async def _connect(self) -> _Connection:
        try:
            streams = await asyncio.open_connection(self._host, self._port, ssl=self._tls, limit=MAX_HEAD)
        except ssl.SSLCertVerificationError as error:
            raise ServerFailed(f"the server is not trusted: {error}", code="server_not_trusted") from error
        except OSError as error:
            raise ServerUnreachable(
                f"no server answers at {self._host}:{self._port}: {error}", code="server_unreachable", retryable=True
            ) from error
        return _Connection(*streams)


async def _send(connection: _Connection, request: bytes) -> Answer:
    """One request and its answer."""
    reader, writer = connection.reader, connection.writer
    writer.write(request)
    await writer.drain()
    status = 100
    while status < 200:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split(" ", 2)[1])
    headers = {}
    for line in head[1:]:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    if status in (204, 304):
        body = b""
    elif headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _chunks(reader)
    else:
        body = await reader.readexactly(_bounded(int(headers["content-length"])))
    return Answer(status, headers, body)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        body += (await reader.readexactly(_bounded(size + len(body)) - len(body) + 2))[:-2]
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return bytes(body)


def _bounded(length: int) -> int:
    if not 0 <= length <= MAX_BODY:
        raise ValueError(f"the answer has {length} bytes, more than {MAX_BODY}")
    return length
