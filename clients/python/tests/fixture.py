"""What the tests share: waiting for a condition, and a proxy that loses answers."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

TIMEOUT = 60.0
"""How long anything may take before a test gives up on it."""


def until(condition: Callable[[], T | None], what: str = "the condition") -> T:
    """Waits until a condition holds, and gives what it answered."""
    ends = time.monotonic() + TIMEOUT
    while True:
        if answer := condition():
            return answer
        if time.monotonic() > ends:
            raise AssertionError(f"{what} did not come")
        time.sleep(0.02)


class Proxy:
    """Stands before a server, and loses the answer to some requests: they took effect, and nobody knows."""

    def __init__(self, url: str) -> None:
        host, port = url.split("//")[1].split(":")
        self._server = (host, int(port))
        self._lose: list[bytes] = []
        self.lost: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, *paths: str) -> None:
        """Loses the answer to the next request whose path has this, once for each."""
        self._lose += [path.encode() for path in paths]

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._server) as server, contextlib.suppress(OSError):
            silent = threading.Event()
            answers = threading.Thread(target=_pump, args=(server, client, silent), daemon=True)
            answers.start()
            while data := client.recv(1 << 16):
                if found := self._cuts(data):
                    # The answer comes, so it took effect; it does not arrive.
                    silent.set()
                    server.sendall(data)
                    answers.join(TIMEOUT)
                    self.lost.append(found.decode())
                    return
                server.sendall(data)

    def _cuts(self, data: bytes) -> bytes | None:
        head = data.split(b"\r\n", 1)[0]
        found = next((path for path in self._lose if path in head), None)
        if found:
            self._lose.remove(found)
        return found


def _pump(server: socket.socket, client: socket.socket, silent: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while (data := server.recv(1 << 16)) and not silent.is_set():
            client.sendall(data)


@contextlib.contextmanager
def proxy(url: str) -> Iterator[Proxy]:
    """A proxy before this server."""
    made = Proxy(url)
    try:
        yield made
    finally:
        made.close()
