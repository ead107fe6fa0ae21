#!/usr/bin/env python3
"""A worker in Python with nothing but the standard library.

It needs only a URL: FF_URL, by default http://127.0.0.1:7272 (and FF_TOKEN, if the server asks
for one). It takes work of one lane, keeps its lease alive while it runs, and reports how it ended.

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
INSTANCE = f"python-{uuid.uuid4()}"


def call(path, body, timeout=10):
    """One call of the worker protocol. An empty answer is None; a refusal is an HTTPError."""
    headers = {"content-type": "application/json"}
    if TOKEN:
        headers["authorization"] = f"Bearer {TOKEN}"
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def handle(kind, value):
    """The work itself: the words of a text, counted."""
    if not isinstance(value, str):
        raise ValueError(f"{kind} takes a text, not {type(value).__name__}")
    return {"words": len(value.split()), "characters": len(value)}


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


def main():
    lane = sys.argv[1] if len(sys.argv) > 1 else "python"
    once = "--once" in sys.argv
    request = str(uuid.uuid4())
    while True:
        claim = {"instance": INSTANCE, "lane": lane, "wait_ms": 20_000, "request": request}
        try:
            claimed = call(f"/v1/workers/{WORKER}/claim", claim, timeout=30)
        except OSError as error:
            # The outcome is unknown. The same request is the same claim: it gets what it took.
            print("cannot claim:", error, file=sys.stderr)
            threading.Event().wait(1)
            continue
        request = str(uuid.uuid4())
        for task in (claimed or {}).get("assignments", []):
            run(task)
            if once:
                return


if __name__ == "__main__":
    main()
