"""Runs the cells of a notebook, and compares their outputs with those in the file: `notebook.py FILE`.

With `--write`, the outputs are written into the file. This supports printed text, and the last value of a
cell as text and, if it has `_repr_svg_`, as a picture.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import pathlib
import sys
from typing import Any


def lines(text: str) -> list[str]:
    """A text as a list of lines, as notebooks have it."""
    return text.splitlines(keepends=True)


def run_cell(source: str, names: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Runs a cell with the variables `names`, which it may change; returns its outputs."""
    body = ast.parse(source, f"cell {number}")
    last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(body, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = lines(printed.getvalue())
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_svg_"):
            data = {"image/svg+xml": lines(value._repr_svg_()), **data}
        result = {"data": data, "execution_count": number, "metadata": {}}
        outputs.append({**result, "output_type": "execute_result"})
    return outputs


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its cells."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            outputs = run_cell("".join(cell["source"]), names, number)
            cell = {**cell, "execution_count": number, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def main() -> int:
    path = pathlib.Path(sys.argv[1])
    notebook = json.loads(path.read_text())
    ran = run(notebook)
    if "--write" in sys.argv:
        path.write_text(json.dumps(ran, indent=1, ensure_ascii=False) + "\n")
        return 0
    for old, new in zip(notebook["cells"], ran["cells"]):
        if old != new:
            print(f"{path}: a cell shows something else:\n{''.join(new['source'])}", file=sys.stderr)
            for output in new["outputs"]:
                text = output.get("text") or output["data"]["text/plain"]
                print("".join(text), file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
