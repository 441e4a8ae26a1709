#!/usr/bin/env python3
"""The verifier and the exhaustive search themselves: answers that one can check by hand.

Usage: verifier_test.py EXHAUSTIVE
"""
import copy
import sys

import exhaustive
import verifier

truth = exhaustive.Exhaustive(sys.argv[1])


def ring(n):
    return [(a, b % n, 1) for a in range(n) for b in (a + 1, a + n - 1)]


def excess(links, name, ranks, pieces=1, limits=()):
    machine = verifier.Machine(ranks, links, list(limits))
    return truth.excess(machine, verifier.named_chunks(name, ranks, pieces, 0))


# Three foreign chunks reach each rank over two links, the rank opposite is two hops away.
assert excess(ring(4), "allgather", 4) == ([verifier.NEVER, verifier.NEVER, 0], True)
# All three at once over one limit, or one after the other.
assert excess([(0, 1, 1), (0, 2, 1), (0, 3, 1)], "broadcast", 4, limits=[([0, 1, 2], 1)]) == ([verifier.NEVER, 2, 1, 0], True)
# In one direction round three ranks, a value a rank: who forwards a sum before it is whole spoils it, so two
# steps are not enough.
assert excess([(0, 1, 1), (1, 2, 1), (2, 0, 1)], "allreduce", 3)[0][:3] == [verifier.NEVER] * 3
# Nobody reaches rank 0.
assert excess([(0, 1, 1)], "allgather", 2) == ([verifier.NEVER] * 2, True)
# A whole vector per direction in a step; or half of it twice.
two = verifier.Machine(2, [(0, 1, 1), (1, 0, 1)], [])
every_chunk = verifier.Space({"min_chunks": 1, "max_chunks": 2})
assert truth.frontier(two, {"collective": "allreduce"}, every_chunk) == [(1, 1, 1)]

# A line of three ranks, Broadcast of two chunks from rank 0: two steps; the first link carries both.
LINE = {"topology": "line", "ranks": 3, "links": [{"src": 0, "dst": 1}, {"src": 1, "dst": 2}]}
GOOD = {
    "chorale_result": 1, "kind": "frontier", "topology": LINE, "collective": {"collective": "broadcast", "chunks": 1, "root": 0},
    "min_chunks": 2, "max_chunks": 2, "extra_rounds": -1, "complete": True, "stopped": "", "seconds": 0,
    "points": [
        {"steps": 2, "rounds": 4, "chunks": 2, "method": "direct", "on_frontier": True, "proven": True, "certificate": "", "seconds": 0,
         "does": {"collective": "broadcast", "chunks": 2, "root": 0},
         "schedule": [{"rounds": 2, "sends": [[0, 0, 1, 0], [1, 0, 1, 0]]}, {"rounds": 2, "sends": [[0, 1, 2, 1], [1, 1, 2, 1]]}]},
        {"steps": 3, "rounds": 3, "chunks": 2, "method": "direct", "on_frontier": True, "proven": True, "certificate": "", "seconds": 0,
         "does": {"collective": "broadcast", "chunks": 2, "root": 0},
         "schedule": [{"rounds": 1, "sends": [[0, 0, 1, 0]]}, {"rounds": 1, "sends": [[0, 1, 2, 1], [1, 0, 1, 0]]},
                      {"rounds": 1, "sends": [[1, 1, 2, 1]]}]}],
    "claims": [
        {"collective": "broadcast", "chunks": 2, "steps": 1, "rounds": None, "seconds": 0, "certificate": {"kind": "distance", "chunk": 0, "rank": 2}},
        # In two steps both chunks cross link 0 in the first or are late, and link 1 in the second.
        {"collective": "broadcast", "chunks": 2, "steps": 2, "rounds": 4, "seconds": 0,
         "certificate": {"kind": "refutation", "engine": "sat", "formula_sha256": "0", "proof_sha256": "0", "proof_bytes": 0}}],
}


def faults(change=lambda result: None):
    result = copy.deepcopy(GOOD)
    change(result)
    return verifier.verify(result, truth).faults


def point(i, **values):
    return lambda result: result["points"][i].update(values)


def claim(i, **values):
    return lambda result: result["claims"][i].update(values)


def prices(links, steps=None, rounds=2):
    """One more claim by prices for the links of each step."""
    return lambda result: result["claims"].append({
        "collective": "broadcast", "chunks": 2, "steps": steps, "rounds": rounds, "seconds": 0,
        "certificate": {"kind": "weights", "prices": [{"links": each, "limits": []} for each in links]}})


assert faults() == [], faults()
assert faults(prices([[0, 1]])) == []                         # two chunks over link 1
assert faults(prices([[1, 0], [0, 1]], steps=2, rounds=4)) == []  # in two steps each chunk pays in both, and a round takes one price
assert faults(prices([[1, 1], [0, 1]], steps=2, rounds=4)) == ["claim 2: weights show 2 rounds, claimed are 4"]
assert faults(prices([[0, 1]], rounds=3)) != []               # that shows two rounds, and there is a schedule of three
assert faults(prices([[0, 1, 1]])) != []                      # a price too many
false = {
    "a point is missing": lambda result: result["points"].pop(),
    "the first point is missing": lambda result: result["points"].pop(0),
    "no points": lambda result: result["points"].clear(),
    "no claims": lambda result: result["claims"].clear(),
    "no points, no claims": lambda result: (result["points"].clear(), result["claims"].clear()),
    "stopped, yet complete": lambda result: result.update(stopped="time limit"),
    "another kind": lambda result: result.update(kind="bananas"),
    "proven by": lambda result: result.update(stopped="proven by divine revelation"),
    "another method": point(0, method="foo"),
    "no dual": point(0, method="dual"),
    "outside of k": lambda result: result.update(extra_rounds=1),
    "outside of the chunks": lambda result: result.update(min_chunks=3, max_chunks=3),
    "more chunks were searched": lambda result: result.update(max_chunks=3),
    "a cost": point(0, rounds=3),
    "a step": lambda result: result["points"][0]["schedule"].pop(),
    "a send": lambda result: result["points"][0]["schedule"][1]["sends"].pop(),
    "a round": lambda result: result["points"][0]["schedule"][1].update(rounds=1),
    "a copy twice": lambda result: result["points"][0]["schedule"][1]["sends"].append([0, 0, 1, 0]),
    "a sum": lambda result: result["points"][0]["schedule"][1]["sends"][0].append("+"),
    "not proven, yet complete": point(0, proven=False),
    "dominated, it says": point(0, on_frontier=False),
    "a nearer rank": claim(0, certificate={"kind": "distance", "chunk": 0, "rank": 1}),
    "more steps": claim(0, steps=2),
    "a false refutation": claim(1, rounds=5),
    "no certificate": claim(1, certificate={"kind": "none"}),
    "another engine": lambda result: result["claims"][1]["certificate"].update(engine="god"),
}
for name, change in false.items():
    assert faults(change), name

# A sum is not a union: rank 1 gets the contribution of rank 0 twice.
sums = verifier.named_chunks("allreduce", 2, 1, 0)
once = [{"rounds": 1, "sends": [[0, 0, 1, 0, "+"], [0, 1, 0, 1, "+"]]}]
assert verifier.schedule_faults(two, sums, once) == []
assert "counted 2 times" in verifier.schedule_faults(two, sums, once * 2)[0]

# A hub of four ranks, one chunk out and one in: after two steps of a round each four have a chunk, so three
# need two.
hub = verifier.Machine(4, [(a, b, 1) for a in range(4) for b in range(4) if a != b], [])
hub.limits = [verifier.Limit([l for l, link in enumerate(hub.links) if link[end] == n], 1) for n in range(4) for end in (0, 1)]
growth = {"collective": "broadcast", "chunks": 1, "steps": None, "certificate": {"kind": "growth", "chunk": 0}}
chunk = verifier.named_chunks("broadcast", 4, 1, 0)
assert verifier.growth_shows({**growth, "rounds": 2}, hub, chunk) is True
assert verifier.growth_shows({**growth, "rounds": 3}, hub, chunk) is False
assert verifier.growth_shows({**growth, "rounds": 3, "steps": 1}, hub, chunk) is True

# A switch of its own accord: what multicasts carries three copies as one, and what reduces as many sums;
# neither does the other's work.
star = [(0, n, 1) for n in (1, 2, 3)]
for name, links in (("broadcast", star), ("reduce", [(b, a, width) for a, b, width in star])):
    for multicast in (False, True):
        for reduce in (False, True):
            helps = multicast if name == "broadcast" else reduce
            assert excess(links, name, 4, limits=[([0, 1, 2], 1, multicast, reduce)])[0][1] == (0 if helps else 2)
machine = verifier.Machine(4, star, [([0, 1, 2], 1, True, False)])
at_once = [{"rounds": 1, "sends": [[0, 0, n, n - 1] for n in (1, 2, 3)]}]
assert verifier.schedule_faults(machine, chunk, at_once) == []
assert "carries too much" in verifier.schedule_faults(verifier.Machine(4, star, [([0, 1, 2], 1, False, True)]), chunk, at_once)[0]
dear = {**growth, "certificate": {"kind": "partition", "group": [0, 1, 1, 1], "prices": [{"links": [0, 0, 0], "limits": [1]}]}, "rounds": 1}
try:
    verifier.partition_shows(dear, machine, chunk)
    raise SystemExit("crossings at the price of a limit that multicasts")
except verifier.Fault:
    pass

# Three times over one NIC, in a step; a price that is not there cannot be paid, and who starts inside enters
# nothing.
three = [(0, n, 5) for n in (1, 2, 3)]
machine = verifier.Machine(4, three, [([0, 1, 2], 1, False, False)])
cuts = [{"price": 1, "until": [-1 if m != n else 1 for m in range(4)]} for n in (1, 2, 3)]
port = {"steps": 1, "certificate": {"kind": "cuts", "cuts": cuts, "group": [], "prices": [{"links": [0, 0, 0], "limits": [1]}]}}
assert verifier.cuts_show(port, machine, chunk) == 3
cuts[0]["until"][0] = 0
assert verifier.cuts_show(port, machine, chunk) == 2
cuts[0]["price"] = 2
assert verifier.cuts_show(port, machine, chunk) == 2
cuts[1]["price"] = 2
try:
    verifier.cuts_show(port, machine, chunk)
    raise SystemExit("cuts that nobody can pay for")
except verifier.Fault:
    pass

truth.close()
print(f"{len(false)} false statements found")
