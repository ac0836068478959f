"""For `mn --custom`: the former name of bofuss_mininet.py; `import mininet` gives the package."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(sys._getframe().f_code.co_filename))

if __name__ == 'mininet':  # imported from this folder instead of the package: load that
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
