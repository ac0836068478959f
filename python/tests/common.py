"""What the tests share: the root of the tree, example programs, and the vectors of `testdata`."""

from __future__ import annotations

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def example(name: str) -> str:
    """The path of an example program in Rust, which `cargo xtask python` has built."""
    return f"{os.environ['BOFUSS_BIN_DIR']}/examples/{name}"

OLDER = ["openflow10", "openflow11", "openflow12"]
VECTORS = ["messages", "multiparts", "errors", "rows", "openflow14", "openflow15", *OLDER]
EXTENSIONS = "testdata/extensions/openstate.txt"


def vectors() -> list[tuple[str, bytes]]:
    """Text and bytes of every vector; `testdata/vectors/README.md` says how to read them."""
    files = [f"testdata/vectors/{name}.txt" for name in VECTORS] + [EXTENSIONS]
    found: list[tuple[str, bytes]] = []
    for file in files:
        for line in (ROOT / file).read_text().splitlines():
            if line.startswith("  "):
                text, data = found.pop()
                found.append((text, data + bytes.fromhex(line)))
            elif line and not line.startswith("#"):
                found.append((line, b""))
    return found
