#!/usr/bin/env python3
"""'chorale alltoallv': random counts on nodes of random sizes; each byte of a plan is walked along its path
here, its time and the bound are added up again, and bad input is refused.

Usage: alltoallv.py CHORALE [SEED]
"""
import json
import pathlib
import random
import sys
from collections import defaultdict

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale, work  # noqa: E402

chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 5)


def judged(counts, nodes, rates, found):
    """The time of the plan and the bound, by the rules of docs/alltoallv.md."""
    ranks, size = len(counts), len(counts) // nodes
    node = [n // size for n in range(ranks)]
    nics = min(rates["nics"] or size, size)
    nic = [node[n] * nics + n % size * nics // size for n in range(ranks)]
    load, blocks = defaultdict(lambda: defaultdict(int)), defaultdict(list)

    def hop(src, dst, step, count, kind, a, b):
        if src != dst:
            load[step][kind, "out", a] += count
            load[step][kind, "in", b] += count

    for src, dst, offset, count, out, into, step in found["pieces"]:
        blocks[src, dst].append((offset, count))
        if node[src] == node[dst]:
            assert (out, into) == (-1, -1)
            hop(src, dst, step + 1, count, "node", src, dst)
        else:
            assert node[out] == node[src] and node[into] == node[dst]
            hop(src, out, step, count, "node", src, out)
            hop(out, into, step + 1, count, "nic", nic[out], nic[into])
            hop(into, dst, step + 2, count, "node", into, dst)
    for src in range(ranks):
        for dst in range(ranks):
            parts, end = sorted(blocks[src, dst]), 0
            for offset, count in parts:
                assert offset == end and count > 0
                end += count
            assert end == (0 if src == dst else counts[src][dst]), (src, dst, end)
    us = sum(rates["latency"] + max(amount / (rates[where[0]] * 1e3) for where, amount in step.items()) for step in load.values())
    bound = 0
    for row in (counts, list(zip(*counts))):  # what is sent, what is received
        others = [sum(row[n]) - row[n][n] for n in range(ranks)]
        inside = [sum(row[n][k] for k in range(ranks) if node[k] == node[n]) - row[n][n] for n in range(ranks)]
        for a in range(nodes):
            members = [n for n in range(ranks) if node[n] == a]
            crossing = max(sum(each[n][k] for n in members for k in range(ranks) if node[k] != a) for each in (counts, list(zip(*counts))))
            groups = [([inside[n] for n in members], crossing, nics)] + [([others[n] for n in members if nic[n] == k], 0, 1) for k in {nic[n] for n in members}]
            for of_rank, also, of_nics in groups:
                of_rank.sort(reverse=True)
                bound = max(bound, *((also + sum(of_rank[:j])) / ((of_nics * rates["nic"] + j * rates["node"]) * 1e3) for j in range(len(of_rank) + 1)))
    bound += rates["latency"] if bound else 0
    return us, bound


for case in range(25):
    nodes, size = chance.randint(1, 4), chance.randint(1, 4)
    ranks = nodes * size
    rates = {"nics": chance.choice([0, 1, 2]), "nic": chance.choice([10, 50]), "node": chance.choice([40, 450]), "latency": chance.choice([0, 5])}
    top = chance.choice([100, 10**7])
    counts = [[chance.choice([0, 1]) * chance.randrange(top) ** chance.choice([1, 1, 2]) for _ in range(ranks)] for _ in range(ranks)]
    (work / "counts.csv").write_text("\n".join(chance.choice([",", " ", ", "]).join(map(str, row)) for row in counts) + "\n\n")
    text = run_chorale("alltoallv", "counts.csv", "--nodes", nodes, "--rates", ",".join(f"{k}={v}" for k, v in rates.items()), "--json", "plan.json")
    found = json.loads((work / "plan.json").read_text())
    us, bound = judged(counts, nodes, rates, found)
    assert abs(found["us"] - us) <= 1e-6 * us + 1e-9 and abs(found["bound_us"] - bound) <= 1e-6 * bound + 1e-9, (found["us"], us, found["bound_us"], bound)
    assert bound <= us * (1 + 1e-9) and found["us"] <= found["direct_us"] and ("direct sends are the plan" in text) == found["direct"]

good = "1,2\n3,4\n"
for text, arguments, says in [
        ("", [], "has 0 rows"), ("1,2\n", [], "1 rows of 2"), ("1,2\n3\n", [], "counts.csv:2"), ("1,2\n3,4\n5,6\n", [], "counts.csv:3"),
        ("1,-2\n3,4\n", [], "number 2"), ("1,2\n3,x\n", [], "counts.csv:2"), ("1,2.5\n3,4\n", [], "number 2"), ("1 2\n3 281474976710657\n", [], "2^48"),
        (",".join(["1"] * 513) + "\n", [], "512"), (good, ["--nodes", 3], "--nodes"), (good, ["--nodes", 0], "--nodes"), (good, ["--rates", "nic=0"], "--rates"),
        (good, ["--rates", "x"], "--rates"), (good, ["--json", "nowhere/plan.json"], "nowhere")]:
    (work / "counts.csv").write_text(text)
    refused("alltoallv", "counts.csv", *arguments, says=says)
refused("alltoallv", "missing.csv", says="missing.csv")
print("25 plans walked byte by byte")
