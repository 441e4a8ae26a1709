#!/usr/bin/env python3
"""benchmarks/any_machine: its machines are the same everywhere and connected; its bounds are those of all
rank sets and all partitions on small random machines, and never above what the program finds; its log is
taken up again.

Usage: any_machine.py FOLDER CHORALE
"""

import fractions
import hashlib
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

folder, chorale = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(folder))
import bounds
import machines
import network

Fraction = fractions.Fraction


def linked(ranks, pairs, switches=0, both_ways=True):
    return {
        "topology": "t",
        "ranks": ranks,
        "switches": switches,
        "links": [{"src": a, "dst": b, "bandwidth": width, "both_ways": both_ways} for a, b, width in pairs],
    }


# ---- known answers

ring4 = linked(4, [(n, (n + 1) % 4, 1) for n in range(4)])
least = {name: bounds.least(ring4, name)[0] for name in bounds.NAMED}
# Two links into each rank: 3 chunks over 2 for Allgather, half a chunk
# for Broadcast. AllReduce: 2 (4 - 1) crossings over 8 links.
assert least["allgather"] == least["reducescatter"] == Fraction(3, 2) and least["broadcast"] == least[
    "reduce"
] == Fraction(1, 2)
assert least["allreduce"] == Fraction(3, 4)
# Alltoall: hops 1 + 1 + 2 from each of 4 ranks over 8 links. Scatter: 3 chunks leave the root over 2 links.
assert least["alltoall"] == 2 and least["scatter"] == least["gather"] == Fraction(3, 2)
assert bounds.least_steps(ring4, "allreduce") == 2

# Two pairs joined by one link: the pairs are the weakest partition, 2
# crossings over 2 links; a round per direction.
pairs = linked(4, [(0, 1, 9), (2, 3, 9), (1, 2, 1)])
assert bounds.least(pairs, "allreduce")[0] == 1
# Three boxes of two over a switch, one NIC each: 2 (3 - 1) crossings, three NICs out.
boxes = linked(6, [(0, 1, 9), (2, 3, 9), (4, 5, 9), (0, 6, 1), (2, 6, 1), (4, 6, 1)], switches=1)
assert bounds.least(boxes, "allreduce")[0] == Fraction(4, 3) and bounds.least(boxes, "allgather")[0] == 4
assert bounds.least_steps(boxes, "allgather") == 3 and bounds.least_steps(boxes, "broadcast") == 2

# Both ranks of a box share a NIC by a limit: 2 chunks come in over 1, wherever the links go.
shared = linked(4, [(0, 1, 5), (2, 3, 5)] + [(n, 4, 1) for n in range(4)], switches=1)
shared["limits"] = [
    {
        "name": f"box {box} {word}",
        "links": [[n, 4] if word == "out" else [4, n] for n in (2 * box, 2 * box + 1)],
        "bandwidth": 1,
    }
    for box in (0, 1)
    for word in ("out", "in")
]
assert bounds.least(shared, "allgather")[0] == 2 and bounds.least(shared, "broadcast")[0] == 1

# One rank sums up for leaves that cannot: each of 4 leaves sends once at
# least, and a block of leaves and hub does no better.
star = linked(5, [(0, n, 1) for n in range(1, 5)])
assert bounds.least(star, machines.asked("g", True, machines.within("allreduce", [1, 2, 3, 4])))[0] == 1

# Four column Allgathers on the torus 4x4: 4 x 3 chunks come into each row over 8 links.
found, every = machines.questions()
family, name, columns = found["several0"]
assert name == "torus4x4" and bounds.least(every[name][1], columns)[0] == Fraction(3, 2)

# Uneven counts: rank 0 has 3 blocks, the others one each; ranks 1 to 3 get 5 over 2 links, rank 0 gets 3.
question = machines.asked("v", False, machines.within("allgather", [0, 1, 2, 3], {0: 3}))
assert bounds.least(ring4, question)[0] == Fraction(5, 2)


# ---- all rank sets and all partitions


def limit_sets(text):
    """Links (src, dst, bandwidth), and limits as (numbers of links, bandwidth)."""
    links = [(link["src"], link["dst"], link["bandwidth"]) for link in text["links"]]
    links = [
        each
        for link, each in zip(text["links"], links)
        for each in ([each, (each[1], each[0], each[2])] if link.get("both_ways") else [each])
    ]
    return links, [
        ([i for i, link in enumerate(links) if list(link[:2]) in limit["links"]], limit["bandwidth"])
        for limit in text.get("limits", [])
    ]


def least_crossing(text, inside, mirrored=False):
    """Over all sides of the switches and all choices of limits that count instead of their links."""
    links, limits = limit_sets(text)
    best = None
    switches = range(text["ranks"], text["ranks"] + text.get("switches", 0))
    for size in range(len(switches) + 1):
        for chosen in itertools.combinations(switches, size):
            side = set(inside) | set(chosen)
            crossed = {
                i
                for i, (a, b, _) in enumerate(links)
                if ((b in side) > (a in side) if mirrored else (a in side) > (b in side))
            }
            for count in range(len(limits) + 1):
                for some in itertools.combinations(limits, count):
                    rest = crossed.difference(*(over for over, _ in some))
                    value = sum(width for _, width in some) + sum(links[i][2] for i in rest)
                    best = value if best is None else min(best, value)
    return best


def partitions(items):
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [items[0], *rest[i]], *rest[i + 1 :]]


def slow(text, question, only_cuts=False):
    """The same arguments, by trying everything."""
    sums, blocks = bounds.demands(question, text["ranks"])
    every, best = range(text["ranks"]), Fraction(0)
    sets = [frozenset(s) for size in range(1, len(every)) for s in itertools.combinations(every, size)]
    mirrored = sums and all(len(post) == 1 for _, post in blocks)
    crossing = {s: least_crossing(text, s, mirrored) for s in sets}
    for s in sets:
        if sums and not mirrored:
            count = max((count for (pre, post), count in blocks.items() if pre & s and post - s), default=0)
        else:
            ends = [
                (post, pre) if mirrored else (pre, post)
                for (pre, post), count in blocks.items()
                for _ in range(count)
            ]
            count = sum(pre <= s and not post <= s for pre, post in ends)
        best = max(best, Fraction(count, crossing[s]))
    if sums and not mirrored and not only_cuts:
        into = {s: least_crossing(text, s, True) for s in sets}
        for parts in partitions(list(every)):
            if len(parts) > 1:
                count = bounds.crossings(blocks, [frozenset(part) for part in parts])
                for cost in (crossing, into):
                    best = max(best, Fraction(count, sum(cost[frozenset(part)] for part in parts)))
    return best


def small(rng):
    ranks, switches = rng.randint(3, 5), rng.choice([0, 0, 1, 2])
    nodes = range(ranks + switches)
    order = rng.sample(nodes, len(nodes))
    pairs = set(zip(order, order[1:] + order[:1]))
    for _ in range(rng.randint(0, 5)):
        pairs.add(tuple(rng.sample(nodes, 2)))
    text = linked(
        ranks, [(a, b, rng.choice([1, 1, 2, 3])) for a, b in sorted(pairs)], switches, both_ways=False
    )
    of_one_node = True
    if rng.random() < 0.5:
        kind, n = rng.choice(["src", "dst", "any"]), rng.randrange(ranks)
        over = [
            [a, b]
            for a, b in sorted(pairs)
            if kind == "any" and rng.random() < 0.5 or (a if kind == "src" else b) == n
        ]
        text["limits"] = [{"name": "l", "links": over, "bandwidth": rng.randint(1, 3)}]
        of_one_node = kind != "any"
    return text, of_one_node


def of_one_tree(text):
    """Rounds per chunk of an AllReduce up one tree of fewest hops and down another."""
    found = []
    for root in range(text["ranks"]):
        load = dict.fromkeys(((link["src"], link["dst"]) for link in text["links"]), 0)
        for up in (False, True):
            reached = [root]
            for n in reached:
                for a, b in sorted(load):
                    if (b if up else a) == n and (a if up else b) not in reached:
                        reached.append(a if up else b)
                        load[a, b] += 1
        widths = network.Network(text).arcs
        found.append(max(Fraction(count, widths[arc]) for arc, count in load.items()))
    return min(found)


# One-way rings, of which a tree up and down is twice over all links but two; cheapest trees, by trying all.
for ranks in (3, 4, 7):
    ring = linked(ranks, [(n, (n + 1) % ranks, 1) for n in range(ranks)], both_ways=False)
    shown = bounds.gossip(network.Network(ring))
    assert 0.99 * (2 - 2 / ranks) <= shown <= 2 - Fraction(2, ranks) <= of_one_tree(ring), shown
rng = random.Random("trees")
for _ in range(200):
    ranks = rng.randint(2, 5)
    order = rng.sample(range(ranks), ranks)
    arcs = [(a, b, rng.randint(0, 4), i) for i, (a, b) in enumerate(zip(order, order[1:] + order[:1]))]
    arcs += [(*rng.sample(range(ranks), 2), rng.randint(0, 4), ranks + i) for i in range(rng.randint(0, 5))]
    into = [[arc for arc in arcs if arc[1] == n] for n in range(1, ranks)]
    costs = []
    for chosen in itertools.product(*into):
        reached = {0}
        for _ in chosen:
            reached |= {b for a, b, _, _ in chosen if a in reached}
        if len(reached) == ranks:
            costs.append(sum(arc[2] for arc in chosen))
    tree = bounds.arborescence(0, arcs)
    assert sorted(tree) == list(range(1, ranks)) and all(arcs[i][1] == n for n, i in tree.items())
    assert sum(arcs[i][2] for i in tree.values()) == min(costs), arcs

exact = 0
for seed in range(40):
    rng = random.Random(f"any_machine {seed}")
    text, of_one_node = small(rng)
    assert machines.is_connected(text), seed
    group = sorted(rng.sample(range(text["ranks"]), 2 if text["ranks"] == 3 else 3))
    counts = {n: rng.choice([0, 1, 3]) for n in range(text["ranks"])}
    counts[0] = 1
    asked = [
        "allgather",
        "broadcast",
        "reduce",
        "reducescatter",
        "allreduce",
        machines.asked("v", False, machines.within("allgather", list(range(text["ranks"])), counts)),
        machines.asked("g", False, machines.within("allgather", group)),
        machines.asked("s", True, machines.within("allreduce", group)),
    ]
    for number, question in enumerate(asked):
        ours, all_sets = bounds.least(text, question)[0], slow(text, question)
        # Limits over links between several nodes are weaker in a network of
        # flows; partitions of groups are sought, not enumerated.
        sought = number == len(asked) - 1
        assert (
            ours <= all_sets
        ), f"seed {seed}, {question}: {ours} > {all_sets} of all sets\n{json.dumps(text)}"
        assert (
            ours == all_sets or not of_one_node or sought
        ), f"seed {seed}, {question}: {ours}, by all rank sets {all_sets}\n{json.dumps(text)}"
        exact += ours == all_sets
    net, blocks = network.Network(text), bounds.demands("alltoall", text["ranks"])[1]
    blocks = {key: count for key, count in blocks.items() if key[0] != key[1]}
    price, flow = bounds.priced(net, blocks)
    # A flow that exists, so no bound of flows is above it; and every cut is a choice of prices.
    assert float(price) <= flow * (1 + 1e-9), f"seed {seed}: {price} above the flow {flow}"
    if of_one_node:
        assert float(price) >= 0.95 * float(
            slow(text, "alltoall")
        ), f"seed {seed}: {price} far below a cut {slow(text, 'alltoall')}"
print(f"320 bounds on 40 random machines: {exact} are those of all rank sets and partitions, none is above")

# ---- machines

again, _ = machines.questions()
assert again == found and len(machines.made()) == 200 and sum(machines.COUNTS.values()) == 200
for name, (family, text) in every.items():
    assert machines.is_connected(text) and 8 <= text["ranks"] <= 64, name
    assert not any(link["src"] == link["dst"] for link in text["links"]), name
drawn = hashlib.sha256(json.dumps([every, found], sort_keys=True).encode()).hexdigest()[:16]
assert (
    drawn == "d08e6d2ba7d97d64"
), f"other machines than ever before: {drawn}; logs of both cannot be compared"

# A packing of trees up and down attains 7/4, where partitions show 3/2.
rate, by = bounds.least(every["oneway3"][1], "allreduce")
assert by == "gossip" and 1.74 < rate <= 1.75 < of_one_tree(every["oneway3"][1]), rate

# ---- the program


def run(*words, code=0):
    done = subprocess.run([sys.executable, folder, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == code, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


with tempfile.TemporaryDirectory() as work:
    work = pathlib.Path(work)
    assert "wrote 202 machines and 50 questions" in run("machines", work / "files")
    assert json.loads((work / "files/kautz0.json").read_text()) == every["kautz0"][1]
    seen = 0
    for seed in range(6):
        text, _ = small(random.Random(f"any_machine {seed}"))
        (work / "m.json").write_text(json.dumps(text))
        group = machines.asked("sum of a group", True, machines.within("allreduce", [0, text["ranks"] - 1]))
        (work / "c.json").write_text(json.dumps(group))
        for asked in ("allgather", "broadcast", "allreduce", "alltoall", "reducescatter", group):
            collective = asked if isinstance(asked, str) else work / "c.json"
            command = [chorale, "frontier", work / "m.json", collective, "-q", "--json", work / "r.json"]
            subprocess.run([*command, "--max-chunks", "2", "--time-limit", "1s"], check=False)
            result = {"points": []}
            if (work / "r.json").exists():
                result = json.loads((work / "r.json").read_text())
                (work / "r.json").unlink()
            least, steps = bounds.least(text, asked)[0], bounds.least_steps(text, asked)
            for point in result["points"]:
                rate, where = Fraction(point["rounds"], point["chunks"]), f"seed {seed}, {collective}"
                assert rate >= least, f"{where}: {rate} rounds per chunk, bound {least}\n{json.dumps(text)}"
                assert point["steps"] >= steps, f"{where}: {point['steps']} steps, at least {steps}"
                seen += 1
    assert seen >= 6, f"{seen} points: the program found nothing"
    log = work / "log"
    options = ["--chorale", chorale, *"--seconds 1 --families kautz groups --sample 2 --collectives".split()]
    options += ["allgather", "broadcast"]
    text = run("run", log, *options)
    rows = log.read_text()
    assert rows.count("\n{") == 3 and rows.startswith("# "), rows
    assert "allgather kautz" in text and "best rate of" in text, text
    assert run("run", log, *options) == text == run("report", log)
    assert log.read_text() == rows, "a question was asked again"
    log.write_text(rows[: rows.rindex('"seconds"')])  # a run that was killed in its last line
    assert "3 questions" in run("run", log, *options) and log.read_text().count('"exit"') == 3
    row = json.loads(rows.splitlines()[2])
    row["best"] = str(Fraction(row["bound"]) / 2)
    log.write_text(json.dumps(row) + "\n")
    assert "BELOW THE BOUND" in run("report", log, code=1)
    run("report", work / "none", code=2)
    run("run", log, "--sample", "0", code=2)
    run("bound", "no such machine", code=2)
print("machines are as ever, bounds hold, and a log is taken up again")
