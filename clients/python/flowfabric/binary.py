"""Where the program `ff` is: `FF_BINARY`, the one that the wheel carries, or the one on the PATH."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

__all__ = ["find"]


def find() -> str:
    """The path of `ff`."""
    if named := os.environ.get("FF_BINARY"):
        return named
    bundled = Path(__file__).parent / "bin" / ("ff.exe" if sys.platform == "win32" else "ff")
    if bundled.exists():
        return str(bundled)
    if found := shutil.which("ff"):
        return found
    raise FileNotFoundError("there is no ff: this package carries none; put one on the PATH, or name it in FF_BINARY")
