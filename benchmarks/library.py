#!/usr/bin/env python3
"""A library for a cluster: how long it takes, how large it is, what it costs to ask for it again; and that a
build that is killed at random moments and resumed comes to the same answers.

Usage: library.py [--machine NAME] [--jobs N] [--chunks N] [--conflicts N] [--kills N] [--seed S] [--chorale PROGRAM] [--keep FILE]

All collectives on the whole machine, each node and each rail, with times predicted from 1 KiB to 1 GiB; then
a smaller library, killed by SIGKILL as often as is reported. Exit code 1: answers differ, or one is not
verified. What it prints is kept in benchmarks/results/library.log.
"""
import argparse
import json
import os
import pathlib
import platform
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(root / "tests"))
from kit.stored import contents  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--machine", default="dgx-a100:4")
parser.add_argument("--jobs", type=int, default=2)
parser.add_argument("--chunks", type=int, default=2)
parser.add_argument("--conflicts", type=int, default=100)
parser.add_argument("--kills", type=int, default=100)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--chorale", type=pathlib.Path, default=root / "build/release/bin/chorale")
parser.add_argument("--keep", type=pathlib.Path, help="keep the library there")
options = parser.parse_args()
chorale = str(options.chorale.resolve())
COLLECTIVES = ["allgather", "reducescatter", "allreduce", "broadcast", "reduce", "gather", "scatter", "alltoall"]
SIZES = [1 << shift for shift in range(10, 31, 2)]


def run(*arguments):
    """What it prints, and the seconds that it took."""
    began = time.monotonic()
    done = subprocess.run([chorale, *map(str, arguments)], capture_output=True, text=True)
    took = time.monotonic() - began
    if done.returncode != 0:
        sys.exit(f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip(), took


cpu = next((line.split(": ")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
commit = subprocess.run(["git", "-C", root, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
print(f"{cpu}, {os.cpu_count()} cores; commit {commit}; {options.jobs} jobs, up to {options.chunks} chunks, {options.conflicts} conflicts a question")
with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    os.environ["TMPDIR"] = folder
    spec = {"machines": [options.machine], "collectives": COLLECTIVES, "groups": ["all", "node", "rank"], "roots": [0, 1],
            "bytes": SIZES, "max_chunks": options.chunks, "conflicts": options.conflicts}
    (work / "spec.json").write_text(json.dumps(spec))
    library = options.keep or work / "cluster.db"
    said, took = run("library", "build", work / "spec.json", "-o", library, "--jobs", options.jobs)
    print(f"built in {took:.1f} s: {said}; {library.stat().st_size / 1024:.0f} KiB")
    said, took = run("library", "build", work / "spec.json", "-o", library, "--jobs", options.jobs)
    print(f"again in {took:.2f} s: {said}")
    said, took = run("library", "verify", library)
    print(f"verified in {took:.1f} s: {said}")
    said, took = run("library", "select", library, options.machine, "allreduce", "--bytes", "1K:1G:32")
    print(f"asked in {took:.2f} s for the allreduce of the whole machine:\n{said}")
    with sqlite3.connect(library) as file:
        far = file.execute("SELECT max(us / least_us), avg(us / least_us), sum(us < 1.05 * least_us), count(*) FROM predicted WHERE least_us > 0").fetchone()
    print(f"predicted times over their bounds: {far[1]:.2f} on average, {far[0]:.2f} at most; {far[2]} of {far[3]} within 5 %")

    small = {**spec, "machines": ["dgx1", "torus:2x3", "dgx-a100:2"], "groups": ["all"], "collectives": COLLECTIVES[:4], "bytes": SIZES[::5], "max_chunks": 1}
    (work / "small.json").write_text(json.dumps(small))
    said, took = run("library", "build", work / "small.json", "-o", work / "whole.db", "--jobs", options.jobs)
    whole = contents(work / "whole.db")
    dice, kills, builds = random.Random(options.seed), 0, 0
    while kills < options.kills:
        builds += 1
        killed = work / f"killed{builds}.db"
        while True:
            process = subprocess.Popen([chorale, "library", "build", str(work / "small.json"), "-o", str(killed), "--jobs", str(options.jobs)],
                                       stdout=subprocess.DEVNULL)
            try:
                process.wait(timeout=dice.uniform(0, took / 2) if kills < options.kills else None)
                break
            except subprocess.TimeoutExpired:
                kills += 1
                process.kill()
                process.wait()
        assert process.returncode == 0, process.returncode
        assert contents(killed) == whole, f"other answers after {kills} kills"
        assert re.match(r"\d+ answers: ", run("library", "verify", killed)[0])
    print(f"killed {kills} times at random moments within {took / 2:.2f} s, and resumed, in {builds} libraries of {len(whole[0])} answers: "
          "identical answers, all verified")
