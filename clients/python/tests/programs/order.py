"""A worker that charges and then ships. It writes each paid call to the file of its argument, and stops in the
middle of shipping the first time: the moment to kill it."""

import sys
import time
from pathlib import Path

from flowfabric import App, Task

bill = Path(sys.argv[1])
app = App()


def paid(what: str, key: str) -> str:
    """Calls a provider that is paid for each call."""
    with bill.open("a") as lines:
        lines.write(f"{what} {key}\n")
    return f"{what} done"


def ship(task: Task) -> str:
    first = bill.read_text().count("ship") == 0
    done = paid("ship", task.key("ship"))
    if first:
        print("shipping", flush=True)
        time.sleep(600)
    return done


@app.task("order")
def order(task: Task, cents: int) -> list[str]:
    charged = task.step("charge", paid, f"charge-{cents}", key=task.key("charge"))
    shipped = task.step("ship", ship, task)
    return [charged, shipped]


app.run()
