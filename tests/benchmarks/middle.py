#!/usr/bin/env python3
"""benchmarks/middle.py: its bound is the least time that the claims leave, its ratio is never below 1, and
its log is taken up again.

Usage: middle.py SCRIPT CHORALE
"""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile

script, chorale = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
spec = importlib.util.spec_from_file_location("middle", script)
middle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(middle)


def claim(steps, rounds, chunks=1, any_chunks=True):
    return {"collective": "x", "any_chunks": any_chunks, "steps": steps, "rounds": rounds, "chunks": chunks}


# Fewer than 2 steps are impossible; 2 steps cost at least 4 per byte, 3 cost 3/2, more 1.
claims = [claim(1, None), claim(2, 4), claim(3, 3, 2), claim(None, 1), claim(9, 99, any_chunks=False)]
# 2 + 4, 3 + 1.5, 4 + 1; then 20 + 40, 30 + 15, 40 + 10; and with a slow rate the last.
assert middle.bound(claims, "x", 1, 1, 1) == (4.5, 3)
assert middle.bound(claims, "x", 1, 10, 1) == (24, 2)
assert middle.bound(claims, "x", 100, 1, 1) == (104, 4)
assert middle.bound([], "x", 1, 1, 1) == (1, 1)  # nothing is known but that there is a step
assert middle.fastest([{"steps": 2, "rounds": 4, "chunks": 1}, {"steps": 4, "rounds": 3, "chunks": 3}], 1, 1, 1) == (5, 4)

with tempfile.TemporaryDirectory() as folder:
    log = pathlib.Path(folder) / "log"
    command = [script, "run", log, "--chorale", chorale, "--sample", "1", "--families", "tree", "--seconds", "1"]
    first = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=True)
    rows = middle.read(log)
    assert [row["collective"] for row in rows] == middle.COLLECTIVES
    for row in rows:
        for size in middle.SIZES.values():
            us, _ = middle.fastest(row["points"], size, 3, 4e-5)
            least, _ = middle.bound(row["claims"], row["collective"], size, 3, 4e-5)
            assert us >= least * (1 - 1e-9), (row, size)
    again = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=True)
    assert again.stdout == first.stdout and "CPU s" not in again.stderr
    assert len(middle.read(log)) == len(rows)
    beside = subprocess.run([sys.executable, str(script), "report", str(log), str(log)], capture_output=True, text=True)
    assert beside.returncode == 0 and len(beside.stdout.splitlines()) == 2 * len(first.stdout.splitlines()) - 1
