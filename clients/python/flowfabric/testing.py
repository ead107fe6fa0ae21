"""A real server for tests, in memory, on a free port of this machine.

    with flowfabric.testing.Server() as server:
        client = server.client()

or, with unittest, one server for all tests of a class and a namespace of its own for each:

    class Orders(flowfabric.testing.ServerTestCase):
        def test_an_order_is_charged_once(self):
            app = self.app()
            ...
"""

from __future__ import annotations

import os
import subprocess
import unittest
import uuid
from typing import Any, ClassVar

from . import binary
from .app import App
from .plain import Client

__all__ = ["Server", "ServerTestCase"]


class Server:
    """Runs `ff serve`, from `start` to `stop`, or for a `with` block. What is in memory ends with it.

    `store` may name a file instead, such as `sqlite:test.ff`; with a `token`, every call must show it.
    """

    def __init__(self, *, store: str = "memory:", token: str | None = None) -> None:
        self.url = ""
        self.token = token
        self._store = store
        self._listen = "127.0.0.1:0"
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts it, and returns when it serves; after a stop, at the same address."""
        # Nothing of the surroundings decides where a test works.
        env = {name: value for name, value in os.environ.items() if not name.startswith("FF_")}
        if self.token is not None:
            env["FF_TOKEN"] = self.token
        command = [binary.find(), "serve", "--store", self._store, "--listen", self._listen]
        self._process = subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url.startswith("http"):
            self.stop()
            raise RuntimeError(f"{' '.join(command)} does not start; run it to see why")
        self._listen = self.url.split("//")[1]

    def stop(self) -> None:
        """Kills it, without a word to its clients."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None

    def client(self, namespace: str | None = None) -> Client:
        """A client of it, in a namespace of its own unless one is given."""
        return Client(self.url, token=self.token, namespace=namespace or new_namespace())


class ServerTestCase(unittest.TestCase):
    """Tests that share a server. `self.client` is in a namespace that no other test has, and so is `self.app()`."""

    server: ClassVar[Server]
    client: Client

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.server = Server()
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)

    def setUp(self) -> None:
        super().setUp()
        self.client = self.server.client()
        self.addCleanup(self.client.close)

    def app(self, **settings: Any) -> App:
        """An application in the namespace of this test."""
        return App(self.server.url, token=self.server.token, namespace=self.client.namespace, **settings)


def new_namespace() -> str:
    """A name that no other test uses."""
    return f"test-{uuid.uuid4().hex}"
