"""The former name of bofuss_mininet.py, for `mn --custom`; a program that imports `mininet` gets the package."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(sys._getframe().f_code.co_filename))

if __name__ == 'mininet':  # found in this folder in place of the package, to which it gives way
    del sys.modules['mininet']
    PATH = sys.path[:]
    sys.path[:] = [folder for folder in PATH if os.path.abspath(folder) != HERE]
    try:
        import mininet  # noqa: F401
    finally:
        sys.path[:] = PATH
else:
    with open(os.path.join(HERE, 'bofuss_mininet.py')) as file:
        exec(compile(file.read(), file.name, 'exec'))
