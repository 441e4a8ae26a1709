#!/usr/bin/env python3
"""Verdicts of `chorale program` on files of MSCCL and MSCCL++ against an interpreter of its own.

usage: python3 benchmarks/programs CHORALE FILE|FOLDER... [--seed S] [--orders N]

Files are MSCCL XML and plans of MSCCL++ (JSON). Each is run symbolically in N random orders of its blocks
(3), as it is and with one fault of each kind put in: two offsets exchanged; a dependence, a wait, a send, a
receive, a signal, a move of data, a sync, or the flag that a step raises left out. A slot holds which chunks
of which ranks were added, and how. The interpreter's verdicts:
  right     in all orders what the collective promises, and all accesses to a slot are ordered
  relaxed   that, if relaxed signals order data, and launches wait for proxies (exit code 4)
  wrong     in some order a result differs, a message is not received, or launches drift apart
  order     the sums are right, and ranks have added one up in different orders
  deadlock  in some order blocks wait for ever
  race      all results were right, and nothing orders two accesses to a slot
  unknown   what is not interpreted, by its name, or a file that defines no result
Where a collective has no known name, the file as it is defines it: what it leaves in the output is what its
mutants promise. Verdicts are the same if both say right, both relaxed, or both something else: a wait left
out counts as the same where it is a race here and anything but right there ("wrong", or "refused" for its
form). A row per file and fault, then the rows that differ, with reasons, a row per kind of fault (-: none),
and "N of M the same"; the unknown are not of the M.
"""
import argparse
import collections
import copy
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from machine import Found
from msccl import Xml
from mscclpp import Plan

KINDS = {".xml": Xml, ".json": Plan}


def verdict_of(program, seed, orders):
    """Word, reason, and the collective in JSON that the file defines, if it does."""
    promised, races, relaxed = None, None, None
    try:
        for same in program.modes:
            for n in range(orders):
                values, race, strict = program.outcome(same, random.Random(f"{seed}/{n}"))
                if not program.promise.wanted:
                    promised = program.promise.learn(values)
                program.promise.compare(values)
                races, relaxed = races or race, relaxed or strict
    except Found as found:
        return *found.args, promised
    slot = races or relaxed
    return "race" if races else "relaxed" if relaxed else "right", " ".join(map(str, slot or [])), promised


def asked(chorale, text, suffix, promised):
    """The program's exit code and what it says."""
    with tempfile.TemporaryDirectory() as folder:
        path, collective = pathlib.Path(folder) / ("program" + suffix), pathlib.Path(folder) / "promised.json"
        path.write_text(text)
        collective.write_text(json.dumps(promised))
        options = ["--collective", collective] if promised else []
        done = subprocess.run([chorale, "program", path, *options], capture_output=True, text=True)
    words = " ".join((done.stderr or done.stdout).split()).replace(f"{path}: ", "")
    return done.returncode, words.removeprefix("chorale: error: ")


def main():
    parser = argparse.ArgumentParser(
        prog="programs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chorale", type=pathlib.Path)
    parser.add_argument("files", type=pathlib.Path, nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--orders", type=int, default=3)
    arguments = parser.parse_args()
    files = sorted(at for each in arguments.files for at in (each.iterdir() if each.is_dir() else [each]))
    agreed, rows, differ = collections.Counter(), collections.Counter(), []
    print(f"{'file':<48} {'fault':<10} {'interpreter':<11} {'chorale':<11} same")
    for path in [each for each in files if each.suffix in KINDS]:
        original = KINDS[path.suffix](path.read_text())
        for fault in ("-", *original.faults):
            program = copy.deepcopy(original)
            chance = random.Random(f"{arguments.seed} {path.name} {fault}")
            if fault != "-" and not program.mutate(fault, chance):
                continue
            word, why, learned = verdict_of(program, arguments.seed, arguments.orders)
            if fault == "-":
                promised, original.promise.wanted = learned, program.promise.wanted
                if not program.promise.wanted:
                    print(f"{path.name:<48} {fault:<10} {'unknown':<11} {'-':<11} {why}")
                    break
            text = path.read_text() if fault == "-" else program.text()
            code, words = asked(arguments.chorale, text, path.suffix, promised)
            theirs = {0: "right", 4: "relaxed"}.get(code, "wrong" if "is wrong" in words else "refused")
            same = theirs == word or not {theirs, word} & {"right", "relaxed"}
            known = word != "unknown"
            rows[fault] += known
            agreed[fault] += known and same
            print(f"{path.name:<48} {fault:<10} {word:<11} {theirs + f' {code}':<11}",
                  ("yes" if same else "NO") if known else why, flush=True)
            if known and not same:
                reason = ": " + words[:200] if code else ""
                differ.append(f"{path.name}, {fault}: {word} {why}; exit code {code}{reason}")
    print(*differ, *(f"{fault:<10} {agreed[fault]} of {rows[fault]}" for fault in rows), sep="\n")
    print(f"{agreed.total()} of {rows.total()} the same")
    return agreed != rows


if __name__ == "__main__":
    sys.exit(main())
