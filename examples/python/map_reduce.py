#!/usr/bin/env python3
"""A hundred mappers and one reducer, which reads what they have found.

    python3 map_reduce.py

It needs a server, such as that of `flowfabric dev`: FF_URL, by default http://127.0.0.1:7272.
"""

from __future__ import annotations

from flowfabric import App, Flow, Task, work

PARTS = 100
"""How many parts there are."""

app = App(concurrency=8)


@app.task("count", lane="map-reduce")
def count(text: str) -> int:
    """Counts the words of one part."""
    return len(text.split())


@app.task("sum", lane="map-reduce")
def total(task: Task, parts: int) -> int:
    """Adds up what the others have found."""
    return sum(task.upstream(f"part-{part}") for part in range(parts))


def main() -> None:
    flow, parts = Flow(lane="map-reduce"), [f"part-{part}" for part in range(PARTS)]
    for number, part in enumerate(parts):
        flow.add(part, work("count", "word " * number))
    flow.add("sum", work("sum", PARTS), after=parts)
    with app.running():
        print(app.client.submit_flow(flow).result("sum"), "words")


if __name__ == "__main__":
    main()
