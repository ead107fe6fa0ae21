"""A worker whose tasks take as many seconds as their input says. It prints when one starts. Its argument is the
drain time."""

import sys
import time

from flowfabric import App

app = App(drain=float(sys.argv[1]))


@app.task("slow")
def slow(seconds: float) -> None:
    print("started", flush=True)
    time.sleep(seconds)


app.run()
