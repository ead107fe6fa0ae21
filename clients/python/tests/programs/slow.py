"""A worker whose tasks take as many seconds as their input says. Its argument is the drain time."""

import sys
import time

from flowfabric import App

app = App(drain=float(sys.argv[1]))


@app.task("slow")
def slow(seconds: float) -> None:
    time.sleep(seconds)


app.run()
