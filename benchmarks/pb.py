#!/usr/bin/env python3
"""What share of the bounds of results has a proof for a verified checker: 'chorale check --pb'.

Usage: pb.py CHORALE RESULTS [--most-bytes N] [--only WORD ...]
RESULTS is a folder of result files, as 'build/release/benchmarks/synthesis --grid --results RESULTS' keeps them.

A bound counts as written if all of its proofs are (one for each number of chunks on the frontier), and as accepted if a
checker accepts them all: that of tests/kit/pb.py, which does not judge larger pairs of files than --most-bytes, and
veripb if it is in PATH. Refutations are those of benchmarks/lrat.py, and are only counted.
"""
import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests"))
from kit import pb  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("chorale")
parser.add_argument("results", type=pathlib.Path)
parser.add_argument("--most-bytes", type=int, default=1_000_000)
parser.add_argument("--only", nargs="*", default=[])
asked = parser.parse_args()
chorale = os.path.abspath(asked.chorale)
veripb = shutil.which("veripb")
if not veripb:
    print("SKIPPED: veripb is not in PATH; the checker in Python alone judges")

claims, written, accepted, unjudged = (collections.Counter() for _ in range(4))
why, bytes_of, refutations = collections.Counter(), 0, 0
for file in sorted(asked.results.glob("*.json")):
    if not all(word in file.name for word in asked.only):
        continue
    of_file = json.loads(file.read_text())["claims"]
    with tempfile.TemporaryDirectory(prefix="chorale_pb_") as there:
        there = pathlib.Path(there)
        done = subprocess.run([chorale, "check", file, "--pb", there, "--plain-conflicts", "0", "--conflicts", "0"],
                              capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(f"{file}: {done.stderr}")
        state = {}  # by claim: 2 accepted, 1 written, 0 not
        index = json.loads((there / "pb.json").read_text())
        for row in index["proofs"]:
            paths = [there / row[name] for name in ("opb", "pbp")]
            size = sum(path.stat().st_size for path in paths)
            bytes_of += size
            now = 1
            if size <= asked.most_bytes:
                now = 2 if pb.accepts(*(path.read_text() for path in paths)) else -1
            if veripb:
                done = subprocess.run([veripb, *paths], capture_output=True, text=True)
                now = 2 if "Verification succeeded" in done.stdout else -1
            if now < 0:
                sys.exit(f"{file}: claim {row['claim']}: {paths[1].name} is refused")
            state[row["claim"]] = min(state.get(row["claim"], 2), now)
        for row in index["left_out"]:
            state[row["claim"]] = 0
            why[of_file[row["claim"]]["certificate"]["kind"], row["why"].split(": ")[-1]] += 1
    for at, claim in enumerate(of_file):
        kind = claim["certificate"]["kind"]
        if kind == "refutation":
            refutations += 1
            continue
        claims[kind] += 1
        written[kind] += state[at] > 0
        accepted[kind] += state[at] == 2
        unjudged[kind] += state[at] == 1

print(f"{'certificate':<12} {'claims':>7} {'written':>8} {'accepted':>9} {'not judged':>11}")
for kind in sorted(claims):
    print(f"{kind:<12} {claims[kind]:>7} {written[kind]:>8} {accepted[kind]:>9} {unjudged[kind]:>11}")
total, done, judged = sum(claims.values()), sum(written.values()), sum(accepted.values())
print(f"{done} of {total} bounds have proofs ({100 * done / total:.1f} %); {judged} are accepted, none is refused, {done - judged} have files "
      f"larger than {asked.most_bytes} bytes, which were not judged; {bytes_of / 1e6:.0f} MB")
print(f"with {refutations} refutations in LRAT (benchmarks/lrat.py): {done + refutations} of {total + refutations} claims "
      f"({100 * (done + refutations) / (total + refutations):.1f} %)")
for (kind, reason), times in sorted(why.items()):
    print(f"left out: {kind}: {reason}: {times}")
