#!/usr/bin/env python3
"""What share of the bounds of results has a proof for other checkers, and who accepts it: 'chorale check --pb'.

Usage: pb.py CHORALE RESULTS [--veripb PROGRAM] [--format 1.2|2.0] [--most-bytes N] [--veripb-bytes N] [--only WORD ...]
RESULTS is a folder of result files, as 'build/release/benchmarks/synthesis --grid --results RESULTS' keeps them.

A bound counts as written if all of its proofs are (one, or one for each number of chunks on the frontier), and as accepted
by a checker if it accepts them all. Checkers: VeriPB, --veripb or 'veripb' in PATH (its version of 2022 reads --format 1.2,
later ones 2.0), on pairs of files of --veripb-bytes and less (all); and that of tests/kit/pb.py, of --most-bytes. VeriPB is
also given each formula with one round more, of which the proof is none unless less was claimed than it shows. Refutations
are those of benchmarks/lrat.py, and are only counted.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests"))
from kit import pb  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("chorale")
parser.add_argument("results", type=pathlib.Path)
parser.add_argument("--veripb", default="veripb")
parser.add_argument("--format", default="2.0", choices=["1.2", "2.0"])
parser.add_argument("--most-bytes", type=int, default=1_000_000)
parser.add_argument("--veripb-bytes", type=float, default=float("inf"))
parser.add_argument("--only", nargs="*", default=[])
asked = parser.parse_args()
chorale, veripb = os.path.abspath(asked.chorale), shutil.which(asked.veripb)
if not veripb:
    print(f"SKIPPED: there is no {asked.veripb}; the checker in Python alone judges")
CHECKERS = ("veripb", "Python")


def accepted_by_veripb(opb, pbp):
    return "Verification succeeded" in subprocess.run([veripb, opb, pbp], capture_output=True, text=True).stdout


claims, written, refutations, bytes_of, why = collections.Counter(), collections.Counter(), 0, 0, collections.Counter()
accepted = {checker: collections.Counter() for checker in CHECKERS}
proofs, seen, weaker, refused = 0, 0, 0, 0
for file in sorted(asked.results.glob("*.json")):
    if not all(word in file.name for word in asked.only):
        continue
    of_file = json.loads(file.read_text())["claims"]
    with tempfile.TemporaryDirectory(prefix="chorale_pb_") as there:
        there = pathlib.Path(there)
        done = subprocess.run([chorale, "check", file, "--pb", there, "--pb-format", asked.format, "--plain-conflicts", "0", "--conflicts", "0"],
                              capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(f"{file}: {done.stderr}")
        judged = {checker: collections.defaultdict(list) for checker in CHECKERS}  # by claim: of each of its proofs
        index = json.loads((there / "pb.json").read_text())
        for row in index["proofs"]:
            opb, pbp = (there / row[name] for name in ("opb", "pbp"))
            size = opb.stat().st_size + pbp.stat().st_size
            bytes_of += size
            proofs += 1
            by = {"veripb": accepted_by_veripb(opb, pbp) if veripb and size <= asked.veripb_bytes else None,
                  "Python": pb.accepts(opb.read_text(), pbp.read_text()) if size <= asked.most_bytes else None}
            seen += by["veripb"] is not None
            for checker, verdict in by.items():
                if verdict is False:
                    sys.exit(f"{file}: claim {row['claim']}: {checker} refuses {pbp.name}")
                judged[checker][row["claim"]].append(bool(verdict))
            # The rule of the rounds has one more; that of the payments, the last, has what a round is paid.
            text = opb.read_text()
            at = re.search(r"^(-.*>= -)(\d+) ;$", text.splitlines()[-1] if row["per_round"] else text, re.M)
            if by["veripb"] and row["cuts"] and at:
                opb.write_text(text.replace(at[0], f"{at[1]}{int(at[2]) + (row['per_round'] or 1)} ;"))
                weaker += 1
                refused += not accepted_by_veripb(opb, pbp)
        not_all = {row["claim"] for row in index["left_out"]}
        for row in index["left_out"]:
            why[of_file[row["claim"]]["certificate"]["kind"], row["why"].split(": ")[-1]] += 1
    for at, claim in enumerate(of_file):
        kind = claim["certificate"]["kind"]
        if kind == "refutation":
            refutations += 1
            continue
        claims[kind] += 1
        if at in not_all:
            continue
        written[kind] += 1
        for checker in CHECKERS:
            accepted[checker][kind] += all(judged[checker][at])

print(f"{'certificate':<12} {'claims':>7} {'written':>8} " + " ".join(f"{checker:>7}" for checker in CHECKERS))
for kind in sorted(claims):
    print(f"{kind:<12} {claims[kind]:>7} {written[kind]:>8} " + " ".join(f"{accepted[checker][kind]:>7}" for checker in CHECKERS))
total, done = sum(claims.values()), sum(written.values())
print(f"{done} of {total} bounds have proofs ({100 * done / total:.1f} %), {proofs} of format {asked.format}, {bytes_of / 1e6:.0f} MB; none is refused")
if veripb:
    print(f"VeriPB accepts those of {sum(accepted['veripb'].values())} bounds, {seen} proofs; of {weaker} formulas with one round more it refuses {refused}")
print(f"the checker in Python accepts those of {sum(accepted['Python'].values())}; the others have files larger than {asked.most_bytes} bytes")
print(f"with {refutations} refutations in LRAT (benchmarks/lrat.py): {done + refutations} of {total + refutations} claims "
      f"({100 * (done + refutations) / (total + refutations):.1f} %)")
for (kind, reason), times in sorted(why.items()):
    print(f"left out: {kind}: {reason}: {times}")
