#!/usr/bin/env python3
"""A worker in Python with nothing but the standard library.

It needs only a URL: FF_URL, by default http://127.0.0.1:7272 (and FF_TOKEN, if the server asks
for one). It registers, takes work of one lane, keeps its lease alive while it runs, and reports
how it ended.

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


def call(path, body, timeout=10):
    """One call of the worker protocol. An empty answer is None; a refusal is an HTTPError."""
    headers = {"content-type": "application/json"}
    if TOKEN:
        headers["authorization"] = f"Bearer {TOKEN}"
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def is_final(error):
    """Whether the same call would be refused again."""
    return isinstance(error, urllib.error.HTTPError) and error.code < 500 and error.code != 429


def handle(kind, value):
    """The work itself: the words of a text, counted."""
    if not isinstance(value, str):
        raise ValueError(f"{kind} takes a text, not {type(value).__name__}")
    return {"words": len(value.split()), "characters": len(value)}


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
        result = handle(task["kind"], task["input"])
        end, body = "complete", {"result": result}
    except ValueError as error:
        end, body = "fail", {"retryable": False, "message": str(error)}
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
