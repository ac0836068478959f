"""Pictures, which notebooks show where they are a cell's value."""

from __future__ import annotations


class Svg(str):
    """A picture as SVG: a text, to be written to a file or shown."""

    def __repr__(self) -> str:
        return f"<Svg of {len(self)} characters>"

    def _repr_svg_(self) -> str:
        return str(self)
