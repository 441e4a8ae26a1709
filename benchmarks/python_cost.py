#!/usr/bin/env python3
"""What Python costs: the size of the wheel, and CPU seconds of a frontier from Python and from the command
line, interleaved, medians.

Usage: benchmarks/python_cost.py BUILD [--runs 5]      (with the package on the path, such as PYTHONPATH=BUILD/python)
"""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

arguments = argparse.ArgumentParser()
arguments.add_argument("build", type=pathlib.Path)
arguments.add_argument("--runs", type=int, default=5)
asked = arguments.parse_args()
build = asked.build.resolve()

started = time.process_time()
import chorale  # noqa: E402

imported = time.process_time() - started

QUESTIONS = [("dgx1", "allgather", 6), ("dgx1", "allreduce", 2), ("torus:4x4", "allgather", 4), ("hypercube:3", "alltoall", 2), ("dgx-a100:2", "allgather", 2)]


def by_command(machine, collective, chunks):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([build / "bin/chorale", "frontier", machine, collective, "--max-chunks", str(chunks), "--conflicts", "20000", "--json", "-"],
                          capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, len(chorale.Result.from_json(done.stdout).points)


def by_python(machine, collective, chunks):
    before = time.process_time()
    result = chorale.frontier(machine, collective, max_chunks=chunks, conflicts=20000)
    result.to_json()
    return time.process_time() - before, len(result.points)


print(f"chorale from Python {sys.version.split()[0]}; {os.cpu_count()} processors; import takes {imported:.3f} s; CPU seconds, medians of {asked.runs}")
print(f"{'question':<32} {'points':>6} {'command line':>12} {'Python':>8}")
for question in QUESTIONS:
    times, points = {by_command: [], by_python: []}, set()
    for _ in range(asked.runs):
        for way, taken in times.items():
            seconds, found = way(*question)
            taken.append(seconds)
            points.add(found)
    assert len(points) == 1, f"{question}: not the same points: {points}"
    medians = [statistics.median(taken) for taken in times.values()]
    print(f"{' '.join(map(str, question)):<32} {points.pop():>6} {medians[0]:>12.3f} {medians[1]:>8.3f}")

# What a wheel has: the extension, libchorale and what that loads, stripped as pip has them stripped, and the
# texts.
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_wheel_"))
files = [*build.glob("python/chorale/_chorale*.so"), *(build / f"lib/{name}.so" for name in ("libchorale", "libchorale-clp", "libchorale-crypto", "libchorale-sqlite", "libchorale-z3"))]
texts = [path for path in (build / "python/chorale").iterdir() if path.suffix in (".py", ".pyi", ".typed")]
with zipfile.ZipFile(work / "wheel.zip", "w", zipfile.ZIP_DEFLATED) as wheel:
    unpacked = 0
    for path in files:
        subprocess.run(["strip", "-o", work / path.name, path.resolve()], check=True)
        unpacked += (work / path.name).stat().st_size
        wheel.write(work / path.name, f"chorale/{path.name}")
    for path in texts:
        wheel.write(path.resolve(), f"chorale/{path.name}")
print(f"what a wheel has: {len(files)} libraries and {len(texts)} texts, {(work / 'wheel.zip').stat().st_size / 1e6:.1f} MB, {unpacked / 1e6:.1f} MB unpacked")
