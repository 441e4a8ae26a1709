#!/usr/bin/env python3
"""The refutations of results by checkers that are not ours: LRAT proofs that 'chorale check --lrat' writes.

Usage: lrat.py CHORALE RESULTS [--plain-conflicts N] [--only WORD ...]
RESULTS is a folder of result files, as 'build/release/benchmarks/synthesis --grid --results RESULTS' keeps them.

Checkers, each skipped loudly if it is not there: ACL2's, verified (Debian: acl2, acl2-books, acl2-books-certs and
acl2-books-source; the book is included with its certificate, or nothing is counted); cake_lpr, verified, and
lrat-check (of drat-trim), if they are in PATH. Prints what each accepts, its time, the size of the LRAT proofs over
that of the DRAT proofs that they are made of, and the time of checks that write them over that of checks that do not.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("chorale")
parser.add_argument("results", type=pathlib.Path)
parser.add_argument("--plain-conflicts", default="1000000")
parser.add_argument("--only", nargs="*", default=[])
asked = parser.parse_args()
chorale = os.path.abspath(asked.chorale)
BOOK = "/usr/share/acl2-8.5dfsg/books/projects/sat/lrat/stobj-based/run"


def seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(*command, text=None):
    before = seconds()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, input=text)
    return done, seconds() - before


def acl2(pairs):
    """All in one process: ACL2 takes a second to start. An uncertified book would be a warning."""
    script = [f'(include-book "{BOOK}")']
    for cnf, lrat in pairs:
        script.append(f'(lrat::verify-lrat-proof "{cnf}" "{lrat}")')
    done, used = run("acl2", text="\n".join(script) + "\n")
    if "uncertified" in done.stdout.lower():
        return None, used
    # Each call prints ' T' after its times, or NIL.
    return sum(1 for line in done.stdout.splitlines() if line.strip() == "T"), used


def one_by_one(says, *command):
    def judge(pairs):
        accepted = used = 0
        for cnf, lrat in pairs:
            done, took = run(*command, cnf, lrat)
            accepted += says in done.stdout
            used += took
        return accepted, used
    return judge


CHECKERS = {"acl2": acl2, "cake_lpr": one_by_one("s VERIFIED UNSAT", "cake_lpr"), "lrat-check": one_by_one("VERIFIED", "lrat-check")}
found = {name: judge for name, judge in CHECKERS.items() if shutil.which(name)}
if "acl2" in found and not pathlib.Path(BOOK + ".cert").exists():
    print(f"SKIPPED: acl2: {BOOK}.cert is not there: apt-get install acl2-books acl2-books-certs acl2-books-source")
    del found["acl2"]
for name in CHECKERS.keys() - {"acl2"} - found.keys():
    print(f"SKIPPED: {name} is not in PATH")
if not shutil.which("acl2"):
    print("SKIPPED: acl2 is not installed")

pairs, rows, undecided, with_lrat, without = [], [], 0, 0.0, 0.0
folder = pathlib.Path(tempfile.mkdtemp(prefix="chorale_lrat_"))
try:
    for file in sorted(asked.results.glob("*.json")):
        claims = json.loads(file.read_text())["claims"]
        if not all(word in file.name for word in asked.only) or all(claim["certificate"]["kind"] != "refutation" for claim in claims):
            continue
        there = folder / file.stem
        options = ["check", file, "--plain-conflicts", asked.plain_conflicts]
        done, used = run(chorale, *options)
        without += used
        done, used = run(chorale, *options, "--lrat", there)
        with_lrat += used
        if done.returncode not in (0, 3):
            sys.exit(f"{file}: {done.stderr}")
        index = json.loads((there / "lrat.json").read_text())
        undecided += sum(claims[row["claim"]]["certificate"]["kind"] == "refutation" for row in index["left_out"])
        refuted = [row for row in index["proofs"] if claims[row["claim"]]["certificate"]["kind"] == "refutation"]
        rows += refuted
        pairs += [(there / row["cnf"], there / row["lrat"]) for row in refuted]
    plain = sum(row["formula"] == "plain" for row in rows)
    print(f"{len(rows)} refutations ({plain} of the plain formula, {len(rows) - plain} of the search's), {undecided} undecided")
    if not rows:
        sys.exit("no refutation in these results")
    ratios = sorted(row["lrat_bytes"] / max(row["drat_bytes"], 1) for row in rows)
    size = sum(row["lrat_bytes"] for row in rows) / max(sum(row["drat_bytes"] for row in rows), 1)
    print(f"size of LRAT over DRAT: {size:.2f} of all bytes, median {ratios[len(ratios) // 2]:.2f}, at most {ratios[-1]:.2f}; "
          f"{sum(row['lrat_bytes'] for row in rows) / 1e6:.1f} MB")
    print(f"CPU seconds of the checks: {with_lrat:.1f} with --lrat, {without:.1f} without: {with_lrat / without:.2f}")
    # A checker that accepts all would be none: the first proof without its end.
    cnf, lrat = pairs[0]
    (folder / "damaged.lrat").write_text("\n".join(lrat.read_text().splitlines()[:-1]) + "\n")
    for name, judge in found.items():
        accepted, used = judge(pairs)
        if judge([(cnf, folder / "damaged.lrat")])[0]:
            sys.exit(f"{name} accepts a proof without an end")
        if accepted is None:
            print(f"SKIPPED: {name}: its book is not certified here")
        else:
            print(f"{name}: {accepted} of {len(pairs)} accepted, {used:.1f} CPU seconds")
finally:
    shutil.rmtree(folder, ignore_errors=True)
