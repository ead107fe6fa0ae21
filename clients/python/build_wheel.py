#!/usr/bin/env python3
"""Builds the wheel, with the standard library alone: a build backend (PEP 517), and a program.

    FF_BINARY=target/release/ff python3 clients/python/build_wheel.py DIRECTORY

The wheel carries `ff` if FF_BINARY names it, or if this repository has a release build, and is then for this
platform; FF_WHEEL_PLATFORM says otherwise, such as `manylinux_2_17_x86_64`. Without `ff` it is the client alone,
for any platform.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "flowfabric"
# So that the same files make the same wheel, byte for byte.
MOMENT = (1980, 1, 1, 0, 0, 0)


def field(name: str) -> str:
    """A field of pyproject.toml that is text on one line. Python 3.10 has no parser for it."""
    found = re.search(rf'^{name} = "(.*)"$', (HERE / "pyproject.toml").read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"pyproject.toml has no {name}")
    return found[1]


VERSION = field("version")
NAME = f"flowfabric-{VERSION}"


def binary() -> Path | None:
    """The program that the wheel carries."""
    if named := os.environ.get("FF_BINARY"):
        return Path(named)
    built = HERE.parent.parent / "target" / "release" / "ff"
    return built if built.exists() else None


def tag(carries: bool) -> str:
    platform = os.environ.get("FF_WHEEL_PLATFORM") or re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"py3-none-{platform if carries else 'any'}"


def metadata() -> str:
    return "\n".join(
        (
            "Metadata-Version: 2.4",
            "Name: flowfabric",
            f"Version: {VERSION}",
            f"Summary: {field('description')}",
            f"License-Expression: {field('license')}",
            f"Requires-Python: {field('requires-python')}",
            "Classifier: Typing :: Typed",
            "Description-Content-Type: text/markdown",
            "",
            (HERE / "README.md").read_text(),
        )
    )


def sources() -> list[Path]:
    return sorted([*PACKAGE.glob("*.py"), PACKAGE / "py.typed"])


def write(directory: Path) -> str:
    """Writes the wheel, and gives its name."""
    program = binary()
    name = f"{NAME}-{tag(program is not None)}.whl"
    info = f"{NAME}.dist-info"
    files = {f"flowfabric/{path.name}": path.read_bytes() for path in sources()}
    if program is not None:
        files["flowfabric/bin/ff"] = program.read_bytes()
    script = field("flowfabric")
    wheel = f"Wheel-Version: 1.0\nGenerator: build_wheel\nRoot-Is-Purelib: {str(program is None).lower()}\n"
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = f"{wheel}Tag: {tag(program is not None)}\n".encode()
    files[f"{info}/entry_points.txt"] = f"[console_scripts]\nflowfabric = {script}\n".encode()
    files[f"{info}/licenses/LICENSE"] = license_text()
    lines = [f"{path},sha256={digest(data)},{len(data)}\n" for path, data in files.items()]
    files[f"{info}/RECORD"] = "".join((*lines, f"{info}/RECORD,,\n")).encode()
    directory.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(directory / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, MOMENT)
            entry.external_attr = (0o100755 if path.endswith("/bin/ff") else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return name


def license_text() -> bytes:
    """The licence: of the repository, or next to this file in what was made from it."""
    places = [HERE / "LICENSE", HERE.parent.parent / "LICENSE"]
    return next(place for place in places if place.exists()).read_bytes()


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


# The hooks of a build backend.


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: object = None) -> str:
    return write(Path(wheel_directory))


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    name = f"{NAME}.tar.gz"
    files = {f"flowfabric/{path.name}": path.read_bytes() for path in sources()}
    files |= {path: (HERE / path).read_bytes() for path in ("pyproject.toml", "README.md", "build_wheel.py")}
    files |= {"LICENSE": license_text(), "PKG-INFO": metadata().encode()}
    with tarfile.open(Path(sdist_directory) / name, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(f"{NAME}/{path}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return name


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    print(target / write(target))
