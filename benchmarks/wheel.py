#!/usr/bin/env python3
"""A whole wheel of the Python package: made by pip as from a source tree (everything is compiled), what it
weighs; then in a fresh environment, with what the package can use and with Jupyter's nbclient from PyPI: a
frontier is searched, checked and run, a library built by processes, and the notebooks executed by a kernel
of Jupyter.

Usage: benchmarks/wheel.py [--wheel FILE] [--program FILE] [--keep DIR]
  --wheel    take this one instead of making one
  --program  the program `chorale`, which a part of a notebook asks (build/release/bin/chorale)
  --keep     put the wheel there
Needs a network. Prints what results/wheel.log keeps; exit code 1 if anything fails.
"""
import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

source = pathlib.Path(__file__).resolve().parents[1]
parser = argparse.ArgumentParser(description="Makes a wheel, and uses it in a fresh environment.")
parser.add_argument("--wheel", type=pathlib.Path)
parser.add_argument("--program", type=pathlib.Path, default=source / "build/release/bin/chorale")
parser.add_argument("--keep", type=pathlib.Path)
options = parser.parse_args()
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_wheel_"))
clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
if options.program.exists():
    clean["CHORALE_PROGRAM"] = str(options.program.resolve())
    clean["PATH"] = f"{options.program.resolve().parent}:{clean['PATH']}"


def must(*command):
    """What it prints; minutes and CPU minutes that it took."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=work, env=clean)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{command}: exit code {done.returncode}\n{(done.stdout + done.stderr)[-5000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, f"{(time.monotonic() - began) / 60:.1f} minutes, {cpu / 60:.1f} CPU minutes"


def environment(name):
    must(sys.executable, "-m", "venv", work / name)
    return work / name / "bin/python"


commit = subprocess.run(["git", "-C", source, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
print(f"commit {commit}; Python {sys.version.split()[0]}; load before: {os.getloadavg()[0]:.2f}", flush=True)
wheel = options.wheel
if wheel is None:
    _, taken = must(environment("build"), "-m", "pip", "wheel", "-q", "--no-deps", "-w", work / "made", source)
    (wheel,) = (work / "made").glob("chorale-*.whl")
    print(f"pip wheel .: {taken}", flush=True)
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, options.keep)
with zipfile.ZipFile(wheel) as archive:
    members = sorted(archive.infolist(), key=lambda member: -member.compress_size)
print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {len(members)} files, {sum(member.file_size for member in members) / 1e6:.2f} MB when installed")
for member in members[:8]:
    print(f"  {member.compress_size / 1e6:6.2f} MB of {member.file_size / 1e6:6.2f} MB  {member.filename}")

python = environment("fresh")
_, taken = must(python, "-m", "pip", "install", "-q", f"chorale[notebook] @ {wheel.resolve().as_uri()}", "nbclient", "nbformat", "ipykernel")
where, _ = must(python, "-c", "import chorale; print(chorale.__file__)")
assert where.startswith(str(work / "fresh")), where
print(f"installed in a fresh environment, with {len(must(python, '-m', 'pip', 'list', '-q', '--format', 'freeze')[0].splitlines())} packages in all: {taken}", flush=True)
USED = """
import numpy, chorale
result = chorale.frontier("dgx1", "allgather", max_chunks=6)
assert result.complete and result.check().ok
inputs = [numpy.arange(5.0) + 10 * rank for rank in range(8)]
assert all(numpy.array_equal(output, numpy.concatenate(inputs)) for output in result.run(inputs, point=1))
print(f"{len([point for point in result.points if point.on_frontier])} points on the frontier of dgx1's Allgather, proven, checked and run")
"""
print(must(python, "-c", USED)[0].strip())
print("python -m chorale.build:", must(python, "-m", "chorale.build", source / "examples/library.json", "-o", work / "mine.db", "--jobs", "2")[0].strip())
PERFORM = """
import sys, nbclient, nbformat
book = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(book, timeout=1200, kernel_name="python3").execute()
cells = [cell for cell in book.cells if cell.cell_type == "code"]
outputs = [output for cell in cells for output in cell.outputs]
assert cells and not [output for output in outputs if output.output_type == "error"]
rich = [output for output in outputs if {"text/html", "image/png"} & set(output.get("data", {}))]
said = "".join(output.get("text", "") for output in outputs)
print(f"{len(cells)} cells, {len(rich)} pages, tables and pictures" + ("; A PART WAS LEFT OUT" if "left out" in said else ""))
"""
books = sorted((source / "examples/notebooks").glob("*.ipynb"))
assert len(books) == 2, books
for book in books:
    said, taken = must(python, "-c", PERFORM, book)
    print(f"{re.sub(r'.*/', '', str(book))} by nbclient: {said.strip()}; {taken}", flush=True)
shutil.rmtree(work)
