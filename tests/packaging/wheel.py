#!/usr/bin/env python3
"""The wheel that packaging/wheel.sh makes of a build: it brings every library that it loads but those of glibc
and of the compiler's runtime, is installed into a fresh environment without an index, and prints its first
table there, from the shell and from Python, within a minute, with no program on the path but its own.

Usage: wheel.py SOURCE_DIRECTORY BUILD
"""
import os
import pathlib
import re
import shutil
import sys
import time
import urllib.request
import zipfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, skip, work  # noqa: E402

source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
if missing := [tool for tool in ("objdump", "readelf", "strip") if not shutil.which(tool)]:
    skip(f"no {' and no '.join(missing)} here (Debian: binutils)")
ours = f"cp{sys.version_info.major}{sys.version_info.minor}"
if not list((build / "python/chorale").glob(f"_chorale.*{ours[2:]}-*.so")):
    skip(f"the build has no extension for Python {ours[2:]}")
try:
    urllib.request.urlopen("https://pypi.org/simple/auditwheel/", timeout=20)
except OSError as error:
    skip(f"auditwheel is on PyPI, which is not reached from here: {error}")
run(source / "packaging/wheel.sh", build, work / "wheel")
(wheel,) = (work / "wheel").glob("*.whl")
assert re.search(rf"^chorale_collectives-[\d.]+-{ours}-{ours}-manylinux_2_\d+_x86_64\.whl$", wheel.name), wheel.name

# What is loaded from outside is on the list of manylinux: what every Linux with this glibc has.
OUTSIDE = {"libc.so.6", "libm.so.6", "libz.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libgcc_s.so.1"}
with zipfile.ZipFile(wheel) as files:
    files.extractall(work / "files")
inside = {path.name: path for path in (work / "files").rglob("*") if path.is_file() and path.open("rb").read(4) == b"\x7fELF"}
assert any(name.startswith("libchorale.so") for name in inside), sorted(inside)
assert {"chorale", "libchorale-z3.so", "libchorale-clp.so", "libchorale-crypto.so", "libchorale-sqlite.so"} <= set(inside), sorted(inside)
needed = 0
for name, path in inside.items():
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", path)):
        needed += 1
        assert library in inside or library in OUTSIDE, f"{name} needs {library}, which is not in {wheel.name}"
        assert "mpi" not in library, (name, library)

for name in ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH"):
    os.environ.pop(name, None)
begin = time.monotonic()
made = run(sys.executable, "-m", "venv", work / "fresh", code=None)
if made.returncode != 0:
    skip(f"no fresh environment can be made (Debian: python3-venv):\n{made}")
run(work / "fresh/bin/python", "-m", "pip", "install", "-q", "--no-index", "--no-deps", wheel)
alone = {"PATH": str(work / "fresh/bin"), "CXX": "", "CC": ""}
machine = source / "examples/h100.txt"
table = run(work / "fresh/bin/chorale", "optimize", machine, "allreduce", env=alone, code=3)
first = time.monotonic() - begin
assert "NVLS Simple" in table and "search: ended, and not all rows are proven" in " ".join(table.split()), table
assert first < 60, f"the first table came {first:.0f} s after the environment was begun"
said = run(work / "fresh/bin/python", "-c", "import chorale, sys; answer = chorale.optimize(sys.argv[1], 'allreduce', sizes='1K:1G:4');"
           "print(len(answer.rows)); print(chorale.__file__)", machine, env=alone)
assert said.startswith("11\n") and str(work / "fresh") in said, said
# Each part is found where it lies: Clp, the hash of a proof, Z3, SQLite.
run(work / "fresh/bin/chorale", "frontier", "ring:4", "allgather", "--proofs", work / "proofs", "--json", work / "f.json", env=alone)
run(work / "fresh/bin/chorale", "synthesize", "ring:4", "allgather", "--engine", "smt", env=alone, code=(0, 20))
run(work / "fresh/bin/chorale", "frontier", "ring:4", "allgather", "--library", work / "a.db", env=alone)
print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.0f} MB, {len(inside)} programs and libraries, {needed} that they need; the first table after {first:.0f} s")
