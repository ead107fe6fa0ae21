"""The package: what its wheel has, how it finds `ff`, and that it says the version it is."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

import flowfabric
from flowfabric import binary

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = "#!/bin/sh\necho bundled \"$@\"\n"


class Package(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)

    def build(self, **env: str) -> Path:
        settings = {name: value for name, value in os.environ.items() if not name.startswith("FF_")} | env
        command = [sys.executable, str(ROOT / "build_wheel.py"), str(self.folder / "wheels")]
        printed = subprocess.run(command, env=settings, check=True, capture_output=True, text=True)
        return Path(printed.stdout.strip())

    def test_a_wheel_carries_ff_and_runs_it(self) -> None:
        wheel = self.build(FF_BINARY=str(self.program), FF_WHEEL_PLATFORM="manylinux_2_17_x86_64")
        self.assertEqual(wheel.name, f"flowfabric-{flowfabric.__version__}-py3-none-manylinux_2_17_x86_64.whl")
        again = self.build(FF_BINARY=str(self.program), FF_WHEEL_PLATFORM="manylinux_2_17_x86_64").read_bytes()
        self.assertEqual(wheel.read_bytes(), again, "the same files make the same wheel")
        place = self.folder / "site"
        install = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(place), str(wheel)]
        subprocess.run([sys.executable, *install], check=True, capture_output=True)
        env = {name: value for name, value in os.environ.items() if name != "FF_BINARY"} | {"PYTHONPATH": str(place)}
        command = [sys.executable, "-m", "flowfabric", "dev", "--quiet"]
        ran = subprocess.run(command, env=env, cwd=self.folder, check=True, capture_output=True, text=True)
        self.assertEqual(ran.stdout, "bundled dev --quiet\n")
        script = subprocess.run([place / "bin" / "flowfabric", "version"], env=env, capture_output=True, text=True)
        self.assertEqual(script.stdout, "bundled version\n")

    def test_a_wheel_has_types_a_licence_and_a_record_of_all_files(self) -> None:
        with zipfile.ZipFile(self.build(FF_BINARY=str(self.program))) as wheel:
            names = wheel.namelist()
            (record,) = (name for name in names if name.endswith("RECORD"))
            recorded = [line.split(",")[0] for line in wheel.read(record).decode().splitlines()]
        self.assertEqual(recorded, names)
        self.assertIn("flowfabric/py.typed", names)
        self.assertTrue(any(name.endswith("licenses/LICENSE") for name in names))

    def test_ff_is_found_by_its_variable_and_on_the_path(self) -> None:
        with mock.patch.dict(os.environ, {"FF_BINARY": "/some/ff"}):
            self.assertEqual(binary.find(), "/some/ff")
        self.program.rename(self.folder / "ff")
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            os.environ.pop("FF_BINARY", None)
            self.assertEqual(binary.find(), str(self.folder / "ff"))
        with mock.patch.dict(os.environ, {"PATH": ""}), self.assertRaises(FileNotFoundError):
            os.environ.pop("FF_BINARY", None)
            binary.find()

    def test_one_version_is_named_everywhere(self) -> None:
        versions = [flowfabric.__version__]
        for path, pattern in (
            (ROOT / "pyproject.toml", r'^version = "(.*)"$'),
            (ROOT.parent.parent / "Cargo.toml", r'^version = "(.*)"$'),
        ):
            found = re.search(pattern, path.read_text(), re.MULTILINE)
            versions.append(found[1] if found else f"none in {path.name}")
        self.assertEqual(len(set(versions)), 1, versions)

    def test_examples_in_docstrings_run(self) -> None:
        tried = 0
        for module in pkgutil.iter_modules(flowfabric.__path__):
            if module.name != "__main__":
                result = doctest.testmod(importlib.import_module(f"flowfabric.{module.name}"), verbose=False)
                self.assertEqual(result.failed, 0, module.name)
                tried += result.attempted
        self.assertGreater(tried, 0)

    def test_what_is_exported_is_there_and_in_order(self) -> None:
        self.assertEqual(flowfabric.__all__, sorted(flowfabric.__all__))
        for name in flowfabric.__all__:
            self.assertTrue(hasattr(flowfabric, name), name)

    def test_nothing_but_the_standard_library_is_imported(self) -> None:
        code = "import sys, flowfabric, flowfabric.testing; print(*{name.split('.')[0] for name in sys.modules})"
        env = os.environ | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"]
        printed = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        foreign = set(printed.stdout.split()) - set(sys.stdlib_module_names) - {"flowfabric", "__main__"}
        self.assertEqual(foreign, set())
