"""The program `chorale`: in a wheel it is in the package, and pip makes a command of it."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
from typing import NoReturn, Optional

INSIDE = pathlib.Path(__file__).parent / "bin" / "chorale"
BESIDE = pathlib.Path(__file__).parent.parent.parent / "bin" / "chorale"  # in a build tree


def program() -> Optional[str]:
    """The file of the program: $CHORALE, the one of this package or of its build tree, or the one on the path."""
    known = (str(file) for file in (INSIDE, BESIDE) if file.exists())
    return os.environ.get("CHORALE") or next(known, None) or shutil.which("chorale")


def main() -> NoReturn:
    """Becomes the program. A command that pip made is never what it becomes."""
    if not INSIDE.exists():
        sys.exit(
            f"chorale: error: {INSIDE}: is not there: this package was built without the program; build it, "
            f"or install the whole"
        )
    os.execv(INSIDE, ["chorale", *sys.argv[1:]])
