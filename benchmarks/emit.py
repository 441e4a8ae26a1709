#!/usr/bin/env python3
"""Emits every schedule of every result in a directory for other runtimes, and checks what was written: MSCCL
XML is read back and verified by `chorale program`, MSCCL++ plans run in the simulator of
tests/cli/mscclpp.py.

Usage: benchmarks/emit.py DIRECTORY, where DIRECTORY is what `synthesis --results` wrote. Exit code 1 if anything was wrong.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(root / "tests/cli"))
import mscclpp

chorale = root / "build/release/bin/chorale"
right, wrong, refused = collections.Counter(), collections.Counter(), collections.Counter()
reasons = collections.Counter()
for result in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    for target in ["msccl-xml", "mscclpp"]:
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run([chorale, "emit", result, "--target", target, "-o", directory], capture_output=True, text=True)
            for line in (done.stdout + done.stderr).splitlines():
                if "not written" in line or "error:" in line:
                    refused[target] += 1
                    reasons[target, re.sub(r"\d+", "N", line.split(": ")[-1].split("; ")[0])] += 1
            for path in pathlib.Path(directory).iterdir():
                if target == "mscclpp":
                    try:
                        mscclpp.simulate(json.loads(path.read_text()), 1)
                        right[target] += 1
                    except AssertionError as error:
                        wrong[target] += 1
                        print(path.name, error)
                else:
                    judged = subprocess.run([chorale, "program", path], capture_output=True, text=True)
                    (right if judged.returncode == 0 else wrong)[target] += 1
                    print(judged.stderr, end="")
for target in ["msccl-xml", "mscclpp"]:
    print(f"{target}: {right[target]} written and right, {wrong[target]} wrong, {refused[target]} refused")
for (target, reason), count in reasons.items():
    print(f"  {target}, {count} times: {reason}")
sys.exit(1 if wrong else 0)
