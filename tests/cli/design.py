#!/usr/bin/env python3
"""The best wiring of some ports as a user asks for it, judged by all circulants and by what every machine of that degree must take; files, limits,
wrong input.

Usage: design.py CHORALE
"""
import fractions
import itertools
import json
import pathlib
import signal
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402


def hops(links, ranks, start):
    far = {start: 0}
    for at in (queue := [start]):
        for src, dst in links:
            if src == at and dst not in far:
                far[dst] = far[at] + 1
                queue.append(dst)
    return far if len(far) == ranks else None


def circulants(ranks, degree):
    """Distances of all connected ones."""
    for steps in itertools.chain.from_iterable(itertools.combinations(range(1, ranks // 2 + 1), k) for k in range(1, degree + 1)):
        links = {(a, (a + sign * step) % ranks) for a in range(ranks) for step in steps for sign in (1, -1)}
        if len(links) == ranks * degree and (far := hops(links, ranks, 0)):
            yield sum(far.values()), max(far.values())


# No machine of so many links has fewer hops to all ranks than a tree of them, and none of the circulants
# fewer than the best one.
for ranks, degree in ((8, 3), (9, 4), (10, 3), (13, 4), (16, 4)):
    run("design", "--ranks", str(ranks), "--degree", str(degree), "--search-time", "60", "--json", "d.json", "-o", "m.json", "--results", "found")
    told, machine = json.loads((work / "d.json").read_text()), json.loads((work / "m.json").read_text())
    first = told["best"][0]
    links = [(link["src"], link["dst"]) for link in machine["links"]]
    assert machine["topology"] == first["name"] and len(set(links)) == ranks * degree and set(links) == {(b, a) for a, b in links}, machine
    far = hops(links, ranks, 0)
    assert (first["distances"], first["diameter"]) == (sum(far.values()), max(far.values())), first
    assert told["proven"] and first["found_us"] <= told["bound_us"] * (1 + 1e-9), told
    alltoall, allreduce = (fractions.Fraction(*rate["found"]) for rate in first["rates"])
    assert allreduce == fractions.Fraction(2 * (ranks - 1), ranks * degree), told
    assert alltoall == fractions.Fraction(*first["rates"][0]["bound"]) >= fractions.Fraction(first["distances"], degree), told
    assert first["distances"] <= min(circulants(ranks, degree))[0] or alltoall <= fractions.Fraction(min(circulants(ranks, degree))[0], degree)
    tree = [1 if level == 0 else degree * (degree - 1) ** (level - 1) for level in range(ranks)]
    fewest = sum(list(itertools.chain.from_iterable([level] * count for level, count in enumerate(tree)))[:ranks])
    assert all(wiring["distances"] >= fewest for wiring in told["best"]), told
    assert all(each["bound_us"] <= after["bound_us"] * (1 + 1e-9) for each, after in itertools.pairwise(told["best"])), told
    for name in ("alltoall", "allreduce"):
        run("check", f"found/{name}.json")
    named = {each["name"] for each in told["named"]}
    assert named == {(16, 4): {"hypercube:4"}, (9, 4): {"torus:3x3"}, (8, 3): {"hypercube:3"}, (10, 3): {"torus:2x5"}}.get((ranks, degree), set()), named

# Found from outside when the family had 17 of the groups of order 64: A4 x Z2 has an Alltoall of 20 rounds
# per chunk, not 62/3. The family is named: all groups, and sets that are closed under inverses.
text = run("design", "--ranks", "24", "--degree", "3", "--for", "alltoall", "--search-time", "8", "--json", "a4.json")
told = json.loads((work / "a4.json").read_text())
assert told["best"][0]["rates"][0]["bound"] == [20, 1] and told["best"][0]["name"].startswith("A4 x Z2: "), told
assert (told["groups"], told["all_groups"], told["all_compared"]) == (15, True, True), told
assert {each["group"]: each["relations"] for each in told["families"]}["A4 x Z2"].startswith("a^2 = 1, b^2 = 1, c^3 = 1, c a = a b c"), told
assert "family: connected Cayley graphs of all 15 groups with 24 elements; all sets of 3 generators, links there and back" in " ".join(text.split()), text
text = run("design", "--ranks", "130", "--degree", "2", "--for", "allreduce", "--search-time", "1ms", "--json", "many.json")
assert not json.loads((work / "many.json").read_text())["all_groups"] and "(abelian, semidirect products of two cyclic groups, dicyclic)" in " ".join(text.split()), text

# At a size steps count; with two jobs of one collective each, weights only scale the time.
times = []
for weight in ("1", "3"):
    run("design", "--ranks", "8", "--degree", "4", "--for", f"alltoall={weight}", "--bytes", "64K", "--search-time", "4", "--json", "w.json")
    times.append(json.loads((work / "w.json").read_text()))
assert abs(times[1]["best"][0]["found_us"] - 3 * times[0]["best"][0]["found_us"]) < 1e-9 and times[0]["best"][0]["name"] == times[1]["best"][0]["name"]
rate, steps = times[0]["best"][0]["rates"][0]["found"], times[0]["best"][0]["rates"][0]["steps"]
assert abs(times[0]["best"][0]["found_us"] - (0.7 * steps + rate[0] / rate[1] * 8192 / 25e3)) < 1e-9, times[0]

text = run("design", "--ranks", "7", "--degree", "2", "--for", "allgather", "--search-time", "4", "--html", "m.html").stdout
assert "Z7: 1" in text and "ring:7" in text and "proven: no schedules on any of" in text, text
assert "<svg" in (work / "m.html").read_text()

# Too many graphs to compare them all: the best of some, which no machine at all is better than, if
# distances are those of a tree.
text = run("design", "--ranks", "64", "--degree", "6", "--for", "alltoall", "--search-time", "60", "--json", "large.json").stdout
large = json.loads((work / "large.json").read_text())
assert not large["all_compared"] and large["proven"] and large["best"][0]["rates"][0]["bound"] == [49, 2], large
assert "some sets of 6 generators" in " ".join(text.split()), text
assert "tried, which are not all; no schedules on any machine of as many links at each rank, there and back" in " ".join(text.split()), text

# A limit leaves the best so far, which is not called proven.
text = run("design", "--ranks", "64", "--time-limit", "2s", "--json", "limit.json", code=(0, 3))
limit = json.loads((work / "limit.json").read_text())
assert limit["proven"] or (limit["stopped"] == "time limit" and "not proven" in text.stdout + text.stderr or not limit["all_compared"]), limit
started = subprocess.Popen([sys.argv[1], "design", "--ranks", "128", "--degree", "4", "--json", str(work / "cut.json")], stdout=subprocess.PIPE)
try:
    started.wait(timeout=2)
except subprocess.TimeoutExpired:
    started.send_signal(signal.SIGINT)
assert started.wait(timeout=60) == 130
assert not json.loads((work / "cut.json").read_text())["proven"]

refused("design", "--ranks", "1", says="--ranks")
refused("design", "--ranks", "8", "--degree", "8", says="--degree")
refused("design", "--ranks", "9", "--degree", "3", says="even degree")
refused("design", "--ranks", "8", "--for", "alltoall=0", says="weight")
refused("design", "--ranks", "8", "--for", "alltoall,sum", says="sum")
refused("design", "--ranks", "8", "--for", "alltoall=2x", says="weight")
refused("design", "--ranks", "8", "--link-gbs", "0", says="--link-gbs")
refused("design", "--ranks", "8", "-o", "-", "--json", "-", says="two files")
