"""The examples do what they say, also when they are killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from flowfabric.testing import ServerTestCase

from .fixture import TIMEOUT

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT.parent.parent / "examples" / "python"


class Examples(ServerTestCase):
    def start(self, name: str, *arguments: str) -> subprocess.Popen[str]:
        place = {"FF_URL": self.server.url, "FF_NAMESPACE": self.client.namespace, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-u", str(EXAMPLES / name), *arguments]
        env, pipe = os.environ | place, subprocess.PIPE
        return subprocess.Popen(command, env=env, text=True, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)

    def test_two_people_approve_and_one_rejects(self) -> None:
        with self.start("approval.py") as example:
            printed, _ = example.communicate(timeout=TIMEOUT)
        self.assertEqual(example.returncode, 0)
        waits = "The execution waits for an approval, and continues in 1d without one"
        self.assertEqual(
            printed.splitlines(),
            [
                f"1.4: {waits}: Deploy 1.4 to production?",
                "ann approves: recorded",
                "ann approves once more: recorded",
                "bo approves: resumed",
                "1.4 is out, approved by ann and bo",
                f"1.5: {waits}: Deploy 1.5 to production?",
                "bo rejects: resumed",
                "bo said no: not on a Friday",
            ],
        )

    def test_people_decide_at_their_links(self) -> None:
        with self.start("approval.py", "--links") as example:
            assert example.stdout is not None
            example.stdout.readline()
            for person in ("ann", "bo"):
                line = example.stdout.readline()
                self.assertTrue(line.startswith(f"for {person}: "), line)
                with urllib.request.urlopen(line.split()[-1], data=b"decision=approve", timeout=TIMEOUT):
                    pass
            self.assertEqual(example.stdout.readline(), "1.6 is out, approved by ann and bo\n")

    def test_a_hundred_mappers_and_a_reducer(self) -> None:
        with self.start("map_reduce.py") as example:
            printed, _ = example.communicate(timeout=TIMEOUT)
        self.assertEqual((printed, example.returncode), ("4950 words\n", 0))

    def test_a_killed_agent_repeats_no_paid_call(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            bill = str(Path(directory) / "bill")
            for last in ("model-0", "model-1"):
                with self.start("agent.py", bill, "--pause") as example:
                    assert example.stdout is not None and example.stdin is not None
                    while example.stdout.readline() != f"{last}\n":
                        example.stdin.write("\n")
                        example.stdin.flush()
                    example.kill()
            with self.start("agent.py", bill) as example:
                assert example.stdout is not None
                asked = next(line for line in example.stdout if line.startswith("  ff approve "))
                work = self.client.handle(asked.split()[-1])
                self.assertEqual(work.approve(), "resumed")
                printed, _ = example.communicate(timeout=TIMEOUT)
            calls = [line.split()[0] for line in Path(bill).read_text().splitlines()]
        self.assertEqual(calls, ["model", "model", "booking", "model"])
        self.assertEqual(work.state(), "completed")
        self.assertEqual(printed.splitlines()[-2:], ["You are on the 9:04 to Lyon.", "used 420 of 1000 tokens"])
