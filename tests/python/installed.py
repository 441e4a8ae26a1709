#!/usr/bin/env python3
"""`pip install` into a fresh environment, with what the package can use (numpy, networkx, matplotlib,
pandas), and the tests of the package there. Against libchorale as installed: without that, pip compiles
the whole tree first.

Usage: installed.py CMAKE BUILD CHORALE SOURCE_DIRECTORY
"""
import os
import pathlib
import subprocess
import sys
import tempfile

cmake, (build, chorale, source) = sys.argv[1], map(os.path.abspath, sys.argv[2:5])
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_pip_"))
clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, cwd=work, timeout=900, env=clean, **options)
    return done.returncode, done.stdout + done.stderr


def must(*command):
    code, text = run(*command)
    assert code == 0, f"{command}: exit code {code}\n{text}"
    return text


code, text = run(sys.executable, "-m", "venv", str(work / "fresh"))
if code != 0:
    print(f"LEFT OUT: no fresh environment can be made (Debian: python3-venv):\n{text}")
    sys.exit(77)
python = str(work / "fresh/bin/python")
code, text = run(python, "-m", "pip", "download", "-q", "--no-deps", "-d", str(work / "reached"), "scikit-build-core")
if code != 0:
    print(f"LEFT OUT: pip reaches no package index:\n{text[-1000:]}")
    sys.exit(77)
for component in ("libchorale", "chorale-clp", "chorale-crypto", "chorale-z3", "chorale-sqlite"):
    must(cmake, "--install", build, "--prefix", str(work / "usr"), "--component", component)
(config,) = work.glob("usr/lib*/**/choraleConfig.cmake")
must(python, "-m", "pip", "install", "-q", "--no-compile", f"{source}[notebook]", "-C", f"cmake.define.chorale_DIR={config.parent}")
where = must(python, "-c", "import chorale; print(chorale.__file__)").strip()
assert where.startswith(str(work / "fresh")), where
text = must(python, f"{source}/tests/python/package.py", chorale, source)
assert "left out" not in text and "skipped" not in text, text  # all that it can use is there
print(text)
# The notebooks, with the program beside the package.
clean["PATH"] = f"{os.path.dirname(chorale)}:{clean['PATH']}"
clean["CHORALE_PROGRAM"] = chorale
print(must(python, f"{source}/tests/python/notebooks.py", source))
