"""What the readers in Python share."""

import traceback


def each(path):
    """The messages of a file."""
    with open(path, "rb") as file:
        data = file.read()
    while data:
        length = int.from_bytes(data[2:4], "big")
        yield data[:length]
        data = data[length:]


def told(error):
    """An error in one line, with its place."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {error} at {place.filename.split('/')[-1]}:{place.lineno}"
    return " ".join(text.split())
