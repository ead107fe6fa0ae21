"""`flowfabric` and `python -m flowfabric` run the program `ff`: `flowfabric dev` starts everything."""

from __future__ import annotations

import os
import subprocess
import sys

from .binary import find


def main() -> None:
    """Becomes `ff`, with the same arguments."""
    try:
        program = find()
    except FileNotFoundError as error:
        sys.exit(f"error: {error}")
    if sys.platform == "win32":
        sys.exit(subprocess.call([program, *sys.argv[1:]]))
    os.execv(program, ["ff", *sys.argv[1:]])


if __name__ == "__main__":
    main()
