"""Pictures, which a notebook shows if they are the value of a cell."""

from __future__ import annotations


class Svg(str):
    """A picture: the text of an SVG, to be written to a file or shown."""

    def __repr__(self) -> str:
        return f"<Svg of {len(self)} characters>"

    def _repr_svg_(self) -> str:
        return str(self)
