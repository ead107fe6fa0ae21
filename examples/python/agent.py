#!/usr/bin/env python3
"""An agent that calls tools, asks a person before it spends money, and survives being killed.

The model is a script, so this runs offline and costs nothing; everything else is as with a real one. Each call of the
model and each booking is a durable step: it is paid for once, however often this process dies. The provider's bill is
a file, one line for each call.

    python3 agent.py BILL              # asks you to run `ff approve`
    python3 agent.py BILL --pause      # waits for Enter after each step: kill it

Start it again after a kill, with the same arguments, and it goes on where it was. It needs a server, such as that of
`flowfabric dev`: FF_URL, by default http://127.0.0.1:7272.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TypedDict

from flowfabric import App, Handle, PermanentError, Task

TURNS = 8
"""How often the model is asked for one answer, at most."""
TOKENS = 1_000
"""How many tokens all questions may use."""

PAUSE = "--pause" in sys.argv
BILL = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "agent.bill")

app = App(name="agent")


class Said(TypedDict):
    """What the model answers: how many tokens it took, and what it wants."""

    tokens: int
    wants: str
    what: str


def charge(what: str, key: str) -> None:
    """Writes a call on the bill. The key is the same if a call is repeated, so that a real provider could tell."""
    with open(BILL, "a") as bill:
        bill.write(f"{what} {key}\n")
        bill.flush()
        os.fsync(bill.fileno())


def ask_model(talk: list[str], key: str) -> Said:
    """The model, by its script."""
    charge("model", key)
    if len(talk) == 1:
        return {"tokens": 120, "wants": "search", "what": "trains to Lyon on Monday"}
    if len(talk) == 2:
        return {"tokens": 210, "wants": "book", "what": "the 9:04 to Lyon, for 42 EUR"}
    if talk[-1].startswith("booked"):
        return {"tokens": 90, "wants": "answer", "what": "You are on the 9:04 to Lyon."}
    return {"tokens": 80, "wants": "answer", "what": "I have booked nothing."}


def done(what: str) -> None:
    """Says what was done and, with `--pause`, waits for Enter: the moment to kill this process."""
    print(what, flush=True)
    if PAUSE:
        sys.stdin.readline()


@app.task("agent", lane="agent")
def agent(task: Task, question: str) -> str:
    """Asks the model until it has an answer, and does what it asks for in between."""
    talk = [question]
    for turn in range(TURNS):
        model = f"model-{turn}"
        said = task.step(model, ask_model, talk, task.key(model))
        task.report_usage(model, {"tokens": said["tokens"]})
        done(model)
        if said["wants"] == "answer":
            return said["what"]
        if said["wants"] == "search":
            talk.append(task.step(f"search-{turn}", lambda: f"found for {said['what']}: 9:04, 11:04"))
        else:
            talk.append(book(task, turn, said["what"]))
    raise PermanentError(f"the model has no answer after {TURNS} turns")


def book(task: Task, turn: int, what: str) -> str:
    """Books if a person agrees. While they think about it, this task holds no worker and no tokens."""
    if not task.wait_for_approval(f"approval-{turn}", f"Book {what}?").approved:
        return "a person said no"
    name = f"book-{turn}"
    task.step(name, charge, "booking", task.key(name))
    done(name)
    return f"booked {what}"


def watch(work: Handle) -> None:
    """Says what a person has to do, until the work has ended."""
    asked = False
    while not (view := work.describe()).ended:
        if view.state == "suspended" and not asked:
            print(f"{work.explain()}\n  ff approve {work.id}", flush=True)
        asked = view.state == "suspended"
        time.sleep(0.05)


def main() -> None:
    client = app.client
    client.set_budget("agent", {"tokens": TOKENS})
    # The same key is the same question: after a kill it is not asked again.
    work = client.submit(
        "agent",
        "Get me to Lyon on Monday.",
        lane="agent",
        key="lyon",
        budgets=["agent"],
        estimate={"tokens": 500},
        lease_ttl=2,
        max_attempts=20,
    )
    with app.running():
        watch(work)
        print(work.result())
    print(f"used {client.budget_used('agent')['tokens']} of {TOKENS} tokens")


if __name__ == "__main__":
    main()
