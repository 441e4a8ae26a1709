#!/usr/bin/env python3
"""A small part of benchmarks/sweep.py: nothing is wrong, what was left is done when it runs again, and
failures are seen.

Usage: sweep.py SWEEP CHORALE
"""
import pathlib
import re
import subprocess
import sys
import tempfile

sweep, chorale = map(lambda a: str(pathlib.Path(a).resolve()), sys.argv[1:3])
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_sweep_"))


def run(state, *arguments, code=0, program=chorale):
    command = [sys.executable, sweep, state, "--sizes", "quick", "--chorale", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=work, timeout=250)
    assert done.returncode == code, f"{command}: exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}"
    return done.stdout


(work / "results").mkdir()
made = subprocess.run([chorale, "frontier", "ring:3", "allreduce", "--max-chunks", "2", "--json", "results/r.json"], cwd=work,
                      capture_output=True, text=True)
assert made.returncode == 0, made.stderr
assert "24 results are left" in run("state", "--ranks", "3", "--results", "results", "--minutes", "0", code=3)
text = run("state", "--ranks", "3", "--results", "results")
counts = dict(re.findall(r"(.*): (\d+ schedules, \d+ runs, \d+ wrong, \d+ failed)", text))
assert set(counts) == {f"{kind}, {transport}" for kind in ["hand-written", "synthesized"] for transport in ["threads", "mpi"]}, text
assert counts["hand-written, threads"] == counts["hand-written, mpi"] == "11 schedules, 66 runs, 0 wrong, 0 failed", text
assert all(value.endswith(" 0 wrong, 0 failed") for value in counts.values()), text
# All is done: nothing runs again, not even with a program that does not exist for anything else.
lines = (work / "state").read_text().count("\n")
run("state", "--ranks", "3", "--results", "results")
assert (work / "state").read_text().count("\n") == lines == 24

# A program that reports that elements are wrong, and one that fails.
for body, words in [('sed "s/ 0$/ 7/"; exit 1', "42 wrong"), ("true; exit 2", "exit code 2")]:
    fake = work / "fake"
    fake.write_text(f'#!/bin/bash\nif [ "$1" = run ]; then "{chorale}" "$@" | {body}; fi\nexec "{chorale}" "$@"\n')
    fake.chmod(0o755)
    text = run(f"state_{len(words)}", "--ranks", "2", "--transports", "threads", code=1, program=str(fake))
    assert words in text and "FAILED" in text, text
print("the sweep counts, goes on and sees failures")
