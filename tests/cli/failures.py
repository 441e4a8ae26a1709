#!/usr/bin/env python3
"""Libraries that are ready for failures: each failure of small machines has an entry, failures that
leave equal machines one answer, which is a frontier of the machine without that part; 'library
failures' has their rates beside that of the whole machine.

Usage: failures.py CHORALE
"""
import itertools
import json
import pathlib
import re
import sys
from fractions import Fraction

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale, work  # noqa: E402


def built(machines, collectives, *more, code=0):
    (work / "spec.json").write_text(json.dumps({"machines": machines, "collectives": collectives, "max_chunks": 4, "conflicts": 2000}))
    (work / "ready.db").unlink(missing_ok=True)
    text = run_chorale("library", "build", "spec.json", "--failures", 1, "-o", "ready.db", *more, code=code)
    run_chorale("library", "failures", "ready.db", "--json", "table.json")
    return text, json.loads((work / "table.json").read_text())["rows"]


def best_rate(*arguments):
    run_chorale("frontier", *arguments, "--max-chunks", 4, "--conflicts", 2000, "--json", "f.json", "-q", code=(0, 3))
    return min(Fraction(point["rounds"], point["chunks"]) for point in json.loads((work / "f.json").read_text())["points"])


# One slow rank of p at a switch: the bound is the closed one, of the slow rank's port or of single ranks,
# whichever is larger; and what is found is not below it.
for ranks, part in [(4, 0.75), (4, 0.25), (6, 0.5), (9, 0.875)]:
    (work / "star.json").write_text(json.dumps({"topology": "star", "ranks": ranks, "switches": 1,
                                                "links": [{"src": n, "dst": ranks, "both_ways": True} for n in range(ranks)]}))
    run_chorale("optimize", "star.json", "allreduce", "--sizes", "1G", "--effort", 2, "--degrade", f"0-switch0={part}", "--json", "slow.json", "-q", code=(0, 3))
    (row,) = json.loads((work / "slow.json").read_text())["rows"]
    closed = max(1 / part, 2 * (ranks - 1) / (ranks - 1 + part)) * (1 << 30) / 25e3
    assert abs(row["bound_us"] / closed - 1) < 1e-3 and row["us"] >= closed * 0.999, (ranks, part, row, closed)

# A ring: 4 cables, 4 ranks, an orbit each. A line of 4 ranks is left, or of 3.
text, rows = built(["ring:4"], ["allgather"])
assert {(row["failure"], row["alike"]) for row in rows} == {("link 0-1", 4), ("rank 0", 4)}, rows
whole = best_rate("ring:4", "allgather")
for row in rows:
    option, part = row["failure"].split()
    rate = best_rate("ring:4", "allgather", f"--without-{option}", part)
    assert abs(row["rounds_per_chunk"] - rate) < 1e-9 and abs(row["of_whole"] - whole / rate) < 1e-9, (row, rate, whole)
    assert row["of_bound"] <= 1 + 1e-9 and row["of_whole"] <= row["most_of_whole"] + 1e-9, row
    # By bounds, so that a slow answer before does not make it more than all.
    assert row["most_of_whole"] <= 1 + 1e-9, row
# 3 chunks of others reach the ends of the line by one link, 3/2 those of the ring's ranks by two.
assert {row["failure"]: row["of_whole"] for row in rows}["link 0-1"] == 0.5, rows

# A line has no cable to spare: only its ends may go.
_, rows = built(["line:4"], ["allreduce"])
assert [(row["failure"], row["alike"]) for row in rows] == [("rank 0", 2)], rows

# Without 0-4 or without 1-3 the machine is the same but for the numbers of its ranks, though no permutation
# of ranks that keeps all cables carries one to the other: 1 row, of 2 failures, which no symmetry joins.
cables = [(0, 1), (0, 2), (0, 4), (0, 5), (1, 2), (1, 3), (1, 4), (2, 3)]
kept = [to for to in itertools.permutations(range(6)) if {frozenset((to[a], to[b])) for a, b in cables} == set(map(frozenset, cables))]
assert all({to[0], to[4]} != {1, 3} for to in kept), kept
(work / "odd.json").write_text(json.dumps({"topology": "odd", "ranks": 6, "links": [{"src": a, "dst": b} for pair in cables for a, b in (pair, pair[::-1])]}))
_, rows = built(["odd.json"], ["allgather"])
assert [row["alike"] for row in rows if row["failure"] == "link 0-4"] == [2] and not [row for row in rows if row["failure"] == "link 1-3"], rows

# Orbits of a torus with two kinds of cables; names with failures are machines of other commands, too.
_, rows = built(["torus:2x4"], ["allgather", "broadcast"])
counts = {}
for row in rows:
    counts.setdefault(row["collective"], []).append(row["alike"])
assert all(row["most_of_whole"] <= 1 + 1e-9 for row in rows), rows
assert sum(counts["allgather"]) == sum(counts["broadcast"]) == 12 + 8, rows
assert "without link 0-1" in run_chorale("topology", "show", "torus:2x4 without link 0-1")
run_chorale("library", "verify", "ready.db")
selected = run_chorale("library", "select", "ready.db", "torus:2x4 without rank 3", "allgather", "--json", "s.json")
assert json.loads((work / "s.json").read_text())["topology"]["ranks"] == 7, selected

# NICs and ports of switches by name.
_, rows = built(["leaf-spine:2x2x2"], ["allgather"])
assert any(re.fullmatch(r"link \d-switch\d", row["failure"]) or re.fullmatch(r"link switch\d-switch\d", row["failure"]) for row in rows), rows

(work / "spec.json").write_text(json.dumps({"machines": ["ring:3"], "collectives": ["allgather"]}))
run_chorale("library", "build", "spec.json", "-o", "plain.db")
refused("library", "failures", "plain.db", says="--failures 1")
refused("library", "build", "spec.json", "--failures", 2, "-o", "x.db", says="--failures")
refused("frontier", "ring:4 without link 0-2", "allgather", says="0-2")
refused("frontier", "ring:4 without luck", "allgather", says="luck")
print("each failure of four machines has its entry")
