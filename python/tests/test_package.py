"""Tests the package as a whole: its stubs, the examples in its documentation, and its bench."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import pkgutil
import pydoc
import subprocess
import sys
import tempfile
import tomllib
import unittest

import bofuss
from bofuss import oflib

from common import ROOT

# Modules that need Mininet.
WITHOUT_EXAMPLES = {"bofuss.mininet"}
GUIDES = ["docs/python.md"]


class Printed(unittest.TestCase):
    def is_in(self, file: str, program: str) -> None:
        printed = subprocess.run(
            [sys.executable, program], cwd=ROOT, check=True, capture_output=True
        )
        text = (ROOT / file).read_text()
        self.assertEqual(text, printed.stdout.decode(), "run `cargo xtask python --write`")

    def test_the_documentation_is_that_of_the_sources(self) -> None:
        self.is_in("python/bofuss/_docs.py", "python/tools/docs.py")

    def test_stubs_are_what_the_classes_are(self) -> None:
        self.is_in("python/bofuss/oflib.pyi", "python/tools/stubs.py")

    def test_the_picture_of_a_trace_shows_the_wrong_digit(self) -> None:
        self.is_in("docs/trace.svg", "python/tools/picture.py")
        self.assertIn("1 bit differs", (ROOT / "docs/trace.svg").read_text())

    def test_the_package_and_its_users_pass_mypy_strict(self) -> None:
        folder = os.path.dirname(bofuss.__path__[0])
        with tempfile.TemporaryDirectory() as cache:
            checked = subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache]
                + ["--exclude", "bofuss/(mininet|machine).py", folder + "/bofuss"]
                + [str(ROOT / "python/tests/typed.py")],
                cwd=folder,
                capture_output=True,
                text=True,
            )
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


class Documentation(unittest.TestCase):
    def test_help_shows_the_fields_of_a_class_with_their_types(self) -> None:
        shown = pydoc.render_doc(oflib.FlowMod, renderer=pydoc.plaintext)
        self.assertIn("FlowMod(cookie: 'int' = 0, ", shown)
        self.assertIn("match: 'Match | str | Mapping[str, Any]' = Match('')", shown)
        self.assertIn("hard_timeout (int): Seconds until the entry goes; 0 is never.", shown)
        self.assertNotIn("*values: Any", shown)
        self.assertEqual(str(inspect.signature(oflib.ActionGroup)), "(group_id: 'int | str')")
        self.assertEqual(inspect.signature(oflib.decode(oflib.Hello().encode()).__class__).parameters.keys(),
                         {"bitmap", "xid", "version"})

    def test_all_names_of_oflib_have_documentation_and_types(self) -> None:
        self.assertGreater(len(oflib.__all__), 190)
        for name in oflib.__all__:
            one = getattr(oflib, name)
            if name in ("ERRORS", "FIELDS"):
                continue
            self.assertTrue((one.__doc__ or "").strip(), name)
            if inspect.isclass(one) and issubclass(one, oflib.Record) and one.__match_args__:
                self.assertIn("__doc__", vars(one), name)
                for parameter in inspect.signature(one).parameters.values():
                    self.assertIsNot(parameter.annotation, parameter.empty, f"{name}.{parameter.name}")
            elif not inspect.isclass(one):
                self.assertIn(" -> ", one.__doc__, name)

    def test_examples_of_modules_and_guides_are_true(self) -> None:
        examples = 0
        for module in pkgutil.iter_modules(bofuss.__path__, "bofuss."):
            if module.name in WITHOUT_EXAMPLES or module.name == "bofuss._native":
                continue
            ran = doctest.testmod(importlib.import_module(module.name))
            self.assertEqual(ran.failed, 0, module.name)
            examples += ran.attempted
        for guide in GUIDES:
            ran = doctest.testfile(str(ROOT / guide), module_relative=False)
            self.assertEqual(ran.failed, 0, guide)
            examples += ran.attempted
        self.assertGreater(examples, 10)


    def test_the_cells_of_notebooks_show_what_is_in_them(self) -> None:
        for file in ("docs/lecture.ipynb", "docs/simulator.ipynb"):
            notebook = [sys.executable, "python/tools/notebook.py", file]
            ran = subprocess.run(notebook, cwd=ROOT, capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr + "run `cargo xtask python --write`")


class Project(unittest.TestCase):
    def test_pip_finds_all_that_the_package_has(self) -> None:
        text = (ROOT / "pyproject.toml").read_text()
        described = tomllib.loads(text)
        for needed in ("description", "readme", "requires-python", "license", "classifiers", "keywords"):
            self.assertIn(needed, described["project"])
        # The package in the tree has all modules of the one that is tested.
        here = {file.name for file in (ROOT / "python/bofuss").iterdir() if file.exists()}
        built = {file for file in os.listdir(bofuss.__path__[0])}
        self.assertEqual(built - here, {"_native.abi3.so"})


class Bench(unittest.TestCase):
    def test_the_bench_finds_all_values_equal_to_those_of_os_ken(self) -> None:
        # The Python of the end-to-end tests has os-ken.
        python = os.environ["BOFUSS_PYTHON"]
        subprocess.run([python, "python/benches/decode.py", "1"], cwd=ROOT, check=True)


if __name__ == "__main__":
    unittest.main()
