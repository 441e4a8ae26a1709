#!/usr/bin/env python3
"""A small part of benchmarks/sweep.py: nothing is wrong, what was left is done when it runs again, and
failures are seen.

Usage: sweep.py SWEEP CHORALE
"""
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run as run_other, work  # noqa: E402

sweep, chorale = map(lambda a: str(pathlib.Path(a).resolve()), sys.argv[1:3])


def run(state, *arguments, code=0, program=chorale):
    return run_other(sys.executable, sweep, state, "--sizes", "quick", "--chorale", program, *arguments, code=code)


(work / "results").mkdir()
run_other(chorale, "frontier", "ring:3", "allreduce", "--max-chunks", "2", "--json", "results/r.json")
assert "28 results are left" in run("state", "--ranks", "3", "--results", "results", "--minutes", "0", code=3)
text = run("state", "--ranks", "3", "--results", "results")
counts = dict(re.findall(r"(.*): (\d+ schedules, \d+ runs, \d+ wrong, \d+ failed)", text))
assert set(counts) == {f"{kind}, {transport}" for kind in ["hand-written", "synthesized"] for transport in ["threads", "mpi"]}, text
assert counts["hand-written, threads"] == counts["hand-written, mpi"] == "13 schedules, 78 runs, 0 wrong, 0 failed", text
assert all(value.endswith(" 0 wrong, 0 failed") for value in counts.values()), text
# All is done: nothing runs again, not even with a program that does not exist for anything else.
lines = (work / "state").read_text().count("\n")
run("state", "--ranks", "3", "--results", "results")
assert (work / "state").read_text().count("\n") == lines == 28

# A program that reports that elements are wrong, and one that fails.
for body, words in [('sed "s/ 0$/ 7/"; exit 1', "42 wrong"), ("true; exit 2", "exit code 2")]:
    fake = work / "fake"
    fake.write_text(f'#!/bin/bash\nif [ "$1" = run ]; then "{chorale}" "$@" | {body}; fi\nexec "{chorale}" "$@"\n')
    fake.chmod(0o755)
    text = run(f"state_{len(words)}", "--ranks", "2", "--transports", "threads", code=1, program=str(fake))
    assert words in text and "FAILED" in text, text
print("the sweep counts, goes on and sees failures")
