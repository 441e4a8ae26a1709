#!/usr/bin/env python3
"""Levels of imported machines, which placements need: random PCI trees and clusters of them, written as NCCL
writes them. Each rate of levels by cuts is compared with a minimum cut that is computed here, slowly, on the
machine as the program shows it; uneven ones are refused.

Usage: levels.py CHORALE DATA, the folder tests/data.
"""
import collections
import itertools
import json
import pathlib
import random
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402

files = pathlib.Path(sys.argv[2]).resolve() / "topology"
SEED = 20261125
random.seed(SEED)


def min_cut(links, ranks, sources, sinks):
    """GB/s; other ranks forward nothing. By augmenting paths, shortest first (Edmonds and Karp)."""
    capacity = collections.defaultdict(float)
    around = collections.defaultdict(set)

    def add(a, b, gbs):
        capacity[a, b] += gbs
        around[a].add(b)
        around[b].add(a)

    for a, b, gbs in links:
        if (a >= ranks or a in sources) and (b >= ranks or b in sinks):
            add(a, b, gbs)
    for a in sources:
        add("from", a, 1e9)
    for b in sinks:
        add(b, "to", 1e9)
    total = 0
    while True:
        before, queue = {"from": None}, collections.deque(["from"])
        while queue and "to" not in before:
            node = queue.popleft()
            for next_node in around[node]:
                if next_node not in before and capacity[node, next_node] > 1e-7:
                    before[next_node] = node
                    queue.append(next_node)
        if "to" not in before:
            return total
        path, node = [], "to"
        while before[node] is not None:
            path.append((before[node], node))
            node = before[node]
        most = min(capacity[edge] for edge in path)
        for a, b in path:
            capacity[a, b] -= most
            capacity[b, a] += most
        total += most


def latencies(links, ranks, source):
    """[rank] -> the least sum of alphas through switches only (Bellman and Ford)."""
    least = {source: 0.0}
    for _ in range(12):
        for a, b, _, alpha in links:
            if a in least and (a >= ranks or a == source) and least[a] + alpha < least.get(b, 1e9) - 1e-12:
                least[b] = least[a] + alpha
    return least


def gpu(bus, dev, nvlinks):
    links = f'<nvlink target="0000:ff:00.0" count="{nvlinks}" tclass="0x068000"/>' if nvlinks else ""
    return (f'<pci busid="0000:{bus:02x}:00.0" class="0x030200" link_speed="16 GT/s" link_width="16">'
            f'<gpu dev="{dev}" sm="80" rank="{dev}" gdr="1">{links}</gpu></pci>')


def nic(bus, number, gbits):
    return (f'<pci busid="0000:{bus:02x}:00.0" class="0x020000" link_speed="16 GT/s" link_width="16">'
            f'<nic><net name="mlx5_{number}" dev="{number}" speed="{gbits * 1000}" port="1" guid="0x{number + 1}" maxconn="1" gdr="1"/></nic></pci>')


def node(sockets, switches, gpus, nvlinks, nics, gbits, missing=None):
    """Sockets of PCI switches of GPUs, `nics` NICs on each switch. missing: the number of a GPU that is not
    there."""
    bus, devices, cards, text = itertools.count(1), itertools.count(), itertools.count(), ""
    for s in range(sockets):
        text += f'<cpu numaid="{s}" affinity="ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">'
        for _ in range(switches):
            text += f'<pci busid="0000:{next(bus):02x}:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">'
            for _ in range(gpus):
                dev = next(devices)
                if dev != missing:
                    text += gpu(next(bus), dev - (missing is not None and dev > missing), nvlinks)
            text += "".join(nic(next(bus), next(cards), gbits) for _ in range(nics)) + "</pci>"
        text += "</cpu>"
    return f'<system version="1">{text}</system>'


def levels_of(machine, *more):
    return json.loads(run("hierarchy", "show", machine, *more, "--json").stdout)


def judged(machine, *more):
    """Compares the levels with the graph; returns them, and whether they are by cuts."""
    shown = run("topology", "show", machine, *more).stdout
    levels = levels_of(machine, *more)["levels"]
    graph = json.loads(run("topology", "show", machine, *more, "--json").stdout)
    ranks = graph["ranks"]
    rates = [(link["src"], link["dst"], link["bandwidth"] * 1e-3 / link["beta_us_per_byte"]) for link in graph["links"]]
    alphas = [(link["src"], link["dst"], 0, link["alpha_us"]) for link in graph["links"]]
    product = 1
    for level in levels:
        product *= level["fan_out"]
    assert product == ranks, (machine, more)
    by_cuts = "levels are by the cuts" in shown
    if not by_cuts:
        return levels, False
    unit, everybody = ranks, set(range(ranks))
    for j, level in enumerate(levels):
        child = unit // level["fan_out"]
        first = random.randrange(ranks // child) * child  # any child will do, since they are alike
        inside = set(range(first, first + child))
        whole = set(range(first // unit * unit, first // unit * unit + unit))
        port = level["bandwidth_gbs"] * level.get("ports", 1)
        for a, b in ((inside, whole - inside), (whole - inside, inside)):
            cut = min_cut(rates, ranks, a, b)
            # The other children can send no more than they have: with two, both directions are the cut of
            # both.
            assert abs(port - cut) < 1e-4 * cut or (a is not inside and cut > port), (machine, more, level, cut)
        assert abs(port - min_cut(rates, ranks, inside, whole - inside)) < 1e-4 * port
        if "exit" in level:
            exit_gbs, sharing = level["exit"]["bandwidth_gbs"], level["exit"].get("children", 1)
            for count in {1, sharing}:
                start = first // (sharing * child) * (sharing * child)
                group = set(range(start, start + count * child))
                cut = min_cut(rates, ranks, group, everybody - whole)
                assert abs(cut - exit_gbs) < 1e-4 * cut, (machine, more, level, count, cut)
        far = max(latencies(alphas, ranks, a)[b] for a in inside for b in whole - inside)
        assert abs(far - level["latency_us"]) < 1e-9 or far <= level["latency_us"] + 1e-9, (level, far)
        unit = child
    return levels, True


# -- random nodes and clusters -------------------------------------------------------------------------------
by_cuts = 0
for number in range(24):
    sockets, switches, gpus = random.choice((1, 2)), random.choice((1, 2, 3)), random.choice((1, 2, 2, 4))
    if sockets * switches * gpus < 2:
        gpus = 2
    nvlinks, nics, gbits, nodes = random.choice((0, 12, 12)), random.choice((1, 1, 2)), random.choice((100, 200)), random.choice((1, 2, 3))
    (work / "random.xml").write_text(node(sockets, switches, gpus, nvlinks, nics, gbits))
    more = ["--nodes", str(nodes)] if nodes > 1 else []
    levels, cut = judged("./random.xml", *more)
    by_cuts += cut
    names = [level["name"] for level in levels]
    assert len(set(names)) == len(names), names
    assert names[-1] == "gpu", names
    if nodes > 1:
        assert names[0] == "node" and levels[0]["fan_out"] == nodes, names
        assert 0 < levels[0]["latency_us"] > levels[-1]["latency_us"], levels
    all_gpus = nodes * sockets * switches * gpus
    placed = run("place", "./random.xml", *more, "--axes", f"data={all_gpus}", "--reduce", "data", "--bytes", "1M").stdout
    assert f"{all_gpus} devices" in placed and "Best: data" in placed, placed
assert by_cuts >= 5, f"only {by_cuts} of 24 machines had levels by cuts (seed {SEED})"

# A tree of PCI alone has its sockets and switches as levels, by name.
(work / "tree.xml").write_text(node(2, 2, 2, 0, 1, 200))
names = {level["name"]: level["fan_out"] for level in levels_of("./tree.xml", "--nodes", "3")["levels"]}
assert names["node"] == 3 and names["gpu"] == 2 and "socket" in names, names
assert "tensor (2) over the 2 GPUs of a" in run("place", "./tree.xml", "--nodes", "3", "--axes", "data=12,tensor=2", "--reduce", "data,tensor", "--bytes",
                                                "1G", "--inside", "tensor=pci").stdout.replace("\n  ", " ")

# One GPU less: units differ, and one line says how.
(work / "uneven.xml").write_text(node(2, 2, 2, 0, 1, 200, missing=3))
for more in ([], ["--nodes", "2"]):
    refused("hierarchy", "show", "./uneven.xml", *more, says="has no levels: it")
    refused("place", "./uneven.xml", *more, "--axes", "data=7", "--reduce", "data", "--bytes", "1M", says="has no levels: it")
# Options of an import are for files of other tools, in every command.
for command in (["hierarchy", "show", "dgx-a100:2"], ["topology", "show", "dgx1"], ["frontier", "ring:4", "allgather"],
                ["place", "a100:2", "--axes", "d=32", "--reduce", "d", "--bytes", "1M"]):
    refused(*command, "--nodes", "2", says="--nodes: is for files of other tools")
refused("bounds", "ring:4", "allgather", "--nic-gbits", "100", says="--nic-gbits: is for files of other tools")
refused("topology", "show", "./tree.xml", "--nodes", "0", says="--nodes")
# The same machine whichever way it is imported.
run("topology", "import", "./tree.xml", "--nodes", "2", "-o", "tree2.json")
direct, read = (json.loads(run("topology", "show", *which, "--json").stdout) for which in (["./tree.xml", "--nodes", "2"], ["./tree2.json"]))
assert direct == read
assert [level["fan_out"] for level in levels_of("./tree2.json")["levels"]] == [level["fan_out"] for level in levels_of("./tree.xml", "--nodes", "2")["levels"]]

# -- files of real machines ----------------------------------------------------------------------------------
EVEN = {"h100.xml": (1, 2, 4), "azure-ndv4-topo.xml": (1, 2, 4), "nvidiaDGX2.xml": (1,), "topo_8p_pcie.xml": (1, 2, 4),
        "topology_p4d-24xl-topo.xml": (1, 2, 4), "topo_8p_940.xml": (1, 2), "azure-ncv4-topo.xml": (1, 2)}
for name, counts in EVEN.items():
    for nodes in counts:
        judged(files / name, *(["--nodes", str(nodes)] if nodes > 1 else []))
# A mesh of xGMI is not even: GPUs at one hop, and GPUs at several.
for name in ("topo_16p1h.xml", "topo_8p_rome.xml", "topo_8p6l.xml"):
    line = refused("hierarchy", "show", files / name, says="has no levels: it")
    assert name == "topo_8p6l.xml" or re.search(r"rank \d+", line), line
