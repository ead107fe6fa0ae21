"""The tests run against a real server: `python3 -m unittest discover -t . -s tests`, with `ff` in FF_BINARY or on the PATH."""

import logging

# What handlers do wrong on purpose is not printed.
logging.getLogger("flowfabric").addHandler(logging.NullHandler())
logging.getLogger("flowfabric").propagate = False
