#!/usr/bin/env python3
"""A worker in Python with nothing but the standard library.

It needs only a URL: FF_URL, by default http://127.0.0.1:7272 (and FF_TOKEN, if the server asks
for one). It registers, takes work of one lane, keeps its lease alive while it runs, and reports
how it ended. Work of kind `review` has a durable step and waits for a person.

    python3 worker.py LANE [--once]
"""

import json
import os
import sys
import threading
import urllib.error
import urllib.request
import uuid

URL = os.environ.get("FF_URL", "http://127.0.0.1:7272")
TOKEN = os.environ.get("FF_TOKEN")
WORKER = "python"
# One process: its name, and what tells it apart from another one of that name.
SELF = {"instance": f"python-{uuid.uuid4()}", "session": str(uuid.uuid4())}
SILENCE_MS = 60_000


def call(path, body=None, timeout=10):
    """One call of the worker protocol: a POST, or a GET without a body. An empty answer is None; a
    refusal is an HTTPError."""
    headers = {"content-type": "application/json"}
    if TOKEN:
        headers["authorization"] = f"Bearer {TOKEN}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, headers)
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def is_final(error):
    """Whether the same call would be refused again."""
    return isinstance(error, urllib.error.HTTPError) and error.code < 500 and error.code != 429


class Parked(Exception):
    """The task has left this worker. It continues, from its beginning, when it is claimed again."""


class Journal:
    """What the steps and waits of a task have come to, in this attempt and before it."""

    def __init__(self, task):
        self.path = f"/v1/executions/{task['execution']}"
        self.fence = task["fence"]
        self.kept = self.read() if task["steps"] else {}

    def read(self):
        kept, cursor = {}, ""
        while cursor is not None:
            page = call(f"{self.path}/steps?visible=true{cursor}")
            kept.update((entry["step"], entry) for entry in page["steps"])
            cursor = page["next"] and f"&cursor={page['next']}"
        return kept

    def step(self, name, do):
        """Does something once: its result is kept for every later attempt."""
        if name in self.kept:
            return self.kept[name]["result"]
        result = do()
        call(f"{self.path}/steps", {"fence": self.fence, "step": name, "result": result})
        return result

    def ask(self, name, question):
        """Waits for the decision of a person, without this worker: `ff approve` or `ff reject`.
        Gives the signal."""
        if name not in self.kept:
            parked = call(f"{self.path}/suspend", {
                "fence": self.fence, "step": name, "waitpoints": [{"key": "approval"}],
                "reason": "approval", "message": question, "keep_if_satisfied": True,
                "condition": {"any": [{"signal": {"waitpoint": "approval", "name": "approve"}},
                                      {"signal": {"waitpoint": "approval", "name": "reject"}}]},
            })
            if parked["exit"]:
                raise Parked
            self.kept = self.read()
        number = self.kept[name]["signals"][0]
        return call(f"{self.path}/signals?cursor={number}&limit=1")["signals"][0]


def handle(task):
    """The work itself: the words of a text, counted and, for a review, shown to a person."""
    kind, value = task["kind"], task["input"]
    if not isinstance(value, str):
        raise ValueError(f"{kind} takes a text, not {type(value).__name__}")
    counted = {"words": len(value.split()), "characters": len(value)}
    if kind != "review":
        return counted
    journal = Journal(task)
    counted = journal.step("count", lambda: counted)
    signal = journal.ask("decision", f"Publish {counted['words']} words?")
    return {**counted, "decision": signal["name"], "by": signal["source"]}


def stay_registered(lane, leave):
    """Says that this process is there, so that `ff workers` and `ff explain` know it. Claims do not
    need it: a call that fails is tried again at the next beat."""
    registered = False
    while True:
        try:
            if registered:
                call(f"/v1/workers/{WORKER}/heartbeat", SELF)
            else:
                register = {**SELF, "lanes": [lane], "ttl_ms": SILENCE_MS}
                call(f"/v1/workers/{WORKER}/register", register)
            registered = True
        except OSError as error:
            registered = registered and not is_final(error)
        if leave.wait(SILENCE_MS / 3000 if registered else 1):
            break
    if registered:
        call(f"/v1/workers/{WORKER}/disconnect", SELF)


def keep_alive(task, done):
    """Renews the lease at a third of its length until the task is done or lost."""
    lease = {"execution": task["execution"], "fence": task["fence"]}
    while not done.wait(task["lease_ttl_ms"] / 3000):
        try:
            answer = call(f"/v1/workers/{WORKER}/heartbeat", {"leases": [lease]})
        except OSError:
            continue  # The outcome is unknown; the next beat tells.
        if answer["leases"][0]["status"] in ("cancelled", "lost"):
            return


def run(task):
    """Runs one task and reports how it ended."""
    done = threading.Event()
    beat = threading.Thread(target=keep_alive, args=(task, done), daemon=True)
    beat.start()
    path = f"/v1/executions/{task['execution']}"
    try:
        end, body = "complete", {"result": handle(task)}
    except ValueError as error:
        end, body = "fail", {"retryable": False, "message": str(error)}
    except OSError as error:
        end, body = "fail", {"retryable": True, "message": f"a call failed: {error}"}
    except Parked:
        print(task["execution"], "parked", flush=True)
        done.set()
        beat.join()
        return
    try:
        # Repeating a call whose reply was lost is safe: it gets the first answer.
        outcome = call(f"{path}/{end}", {"fence": task["fence"], **body})
        print(task["execution"], outcome["outcome"], flush=True)
    except urllib.error.HTTPError as refused:
        print(task["execution"], json.load(refused)["code"], file=sys.stderr)
    finally:
        done.set()
        beat.join()


def claim(lane):
    """Waits for work and takes it. A claim whose outcome is unknown is sent again under the same
    `request`: it is the same claim, and gets what it took."""
    body = {"instance": SELF["instance"], "lane": lane, "wait_ms": 20_000}
    body.update(request=str(uuid.uuid4()), retry=False)
    while True:
        try:
            claimed = call(f"/v1/workers/{WORKER}/claim", body, timeout=30)
            return (claimed or {}).get("assignments", [])
        except OSError as error:
            if is_final(error):
                sys.exit(f"the claim is refused: {error}")
            print("cannot claim:", error, file=sys.stderr)
            body["retry"] = True
            threading.Event().wait(1)


def main():
    lane = sys.argv[1] if len(sys.argv) > 1 else "python"
    once = "--once" in sys.argv
    leave = threading.Event()
    presence = threading.Thread(target=stay_registered, args=(lane, leave), daemon=True)
    presence.start()
    while True:
        for task in claim(lane):
            run(task)
            if once:
                leave.set()
                presence.join()
                return


if __name__ == "__main__":
    main()
