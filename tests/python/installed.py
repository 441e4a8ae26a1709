#!/usr/bin/env python3
"""`pip install` into a fresh environment, with what the package can use (numpy, networkx, matplotlib,
pandas), and the tests of the package there. Against libchorale as installed: without that, pip compiles
the whole tree first.

Usage: installed.py CMAKE BUILD CHORALE SOURCE_DIRECTORY
"""
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, skip, work  # noqa: E402

cmake, (build, chorale, source) = sys.argv[1], map(os.path.abspath, sys.argv[2:5])
for name in ("PYTHONPATH", "PYTHONHOME"):
    os.environ.pop(name, None)
made = run(sys.executable, "-m", "venv", work / "fresh", code=None)
if made.returncode != 0:
    skip(f"no fresh environment can be made (Debian: python3-venv):\n{made}")
python = work / "fresh/bin/python"
reached = run(python, "-m", "pip", "download", "-q", "--no-deps", "-d", work / "reached", "scikit-build-core", code=None)
if reached.returncode != 0:
    skip(f"pip reaches no package index:\n{reached[-1000:]}")
for component in ("libchorale", "chorale-clp", "chorale-crypto", "chorale-z3", "chorale-sqlite"):
    run(cmake, "--install", build, "--prefix", work / "usr", "--component", component)
(config,) = work.glob("usr/lib*/**/choraleConfig.cmake")
run(python, "-m", "pip", "install", "-q", "--no-compile", f"{source}[notebook]", "-C", f"cmake.define.chorale_DIR={config.parent}", timeout=900)
where = run(python, "-c", "import chorale; print(chorale.__file__)").strip()
assert where.startswith(str(work / "fresh")), where
# The program is beside the package: jobs and conversions ask it.
os.environ.update(PATH=f"{os.path.dirname(chorale)}:{os.environ['PATH']}", CHORALE_PROGRAM=chorale)
tested = run(python, f"{source}/tests/python/package.py", chorale, source, timeout=900)
text = tested.stdout + tested.stderr
assert "left out" not in text and "skipped" not in text, text  # all that it can use is there
print(text)
# The notebooks.
print(run(python, f"{source}/tests/python/notebooks.py", source, timeout=900))
