#!/usr/bin/env python3
"""Files of rocm-smi and of Slurm as machines, what instance types and options add to files: random inputs,
compared link by link with what they were made of; wrong input.

Usage: readers.py CHORALE EXAMPLES DATA, the folder tests/data.
"""
import itertools
import json
import pathlib
import random
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402

examples, data = (pathlib.Path(each).resolve() for each in sys.argv[2:4])
random.seed(11)


def graph(machine, *more):
    return json.loads(run("topology", "show", machine, *more, "--json").stdout)


def gbs(link):
    return link["bandwidth"] * 1e-3 / link["beta_us_per_byte"]


# -- rocm-smi --showtopo -------------------------------------------------------------------------------------
def rocm_text(gpus, linked, numa):
    def table(title, cell):
        text = f"{f' {title} ':=^80}\n" + "       " + "".join(f"{f'GPU{g}':<13}" for g in range(gpus)) + "\n"
        for a in range(gpus):
            text += f"{f'GPU{a}':<7}" + "".join(f"{'0' if a == b else cell(a, b):<13}" for b in range(gpus)) + "\n"
        return text + "\n"

    text = f"\n{' ROCm System Management Interface ':=^80}\n"
    text += table("Weight between two GPUs", lambda a, b: 15 if linked(a, b) else 52)
    text += table("Hops between two GPUs", lambda a, b: 1 if linked(a, b) else 3)
    text += table("Link Type between two GPUs", lambda a, b: "XGMI" if linked(a, b) else "PCIE")
    text += f"{' Numa Nodes ':=^80}\n"
    for g in range(gpus):
        text += f"GPU[{g}]\t\t: (Topology) Numa Node: {numa[g]}\nGPU[{g}]\t\t: (Topology) Numa Affinity: {numa[g]}\n"
    return text + f"{' End of ROCm SMI Log ':=^80}\n"


def rocm_json(gpus, linked, numa):
    system = {}
    for a, b in itertools.combinations(range(gpus), 2):
        system[f"(Topology) Weight between DRM devices {a} and {b}"] = "15" if linked(a, b) else "52"
        system[f"(Topology) Hops between DRM devices {a} and {b}"] = "1" if linked(a, b) else "3"
        system[f"(Topology) Link type between DRM devices {a} and {b}"] = "XGMI" if linked(a, b) else "PCIE"
    cards = {f"card{g}": {"(Topology) Numa Node": str(numa[g]), "(Topology) Numa Affinity": str(numa[g])} for g in range(gpus)}
    return json.dumps({"system": system, **cards})


for number in range(12):
    gpus = random.choice((1, 2, 3, 4, 6, 8))
    # Linked all together now and then, else a random connected graph: a path and more.
    pairs = set(itertools.combinations(range(gpus), 2)) if number % 3 == 0 else {(g, g + 1) for g in range(gpus - 1)} | {
        tuple(sorted(random.sample(range(gpus), 2))) for _ in range(gpus if gpus > 1 else 0)}
    numa = [g * 2 // gpus for g in range(gpus)]
    (work / "topo.txt").write_text(rocm_text(gpus, lambda a, b: tuple(sorted((a, b))) in pairs, numa))
    (work / "topo.json").write_text(rocm_json(gpus, lambda a, b: tuple(sorted((a, b))) in pairs, numa))
    text, document = graph("./topo.txt"), graph("./topo.json")
    assert text == document, (text, document)
    assert text["ranks"] == gpus and {(k["src"], k["dst"]) for k in text["links"]} == {each for a, b in pairs for each in ((a, b), (b, a))}, text
    rate = 48 if gpus == 8 and len(pairs) == 28 else 36
    assert all(abs(gbs(link) - rate) < 1e-6 for link in text["links"]), text
    corrected = graph("./topo.txt", "--nvlink-gbs", "62.5")
    assert all(abs(gbs(link) - 62.5) < 1e-6 for link in corrected["links"])
# GPUs that nothing but PCI joins reach each other over their CPUs.
(work / "pcie.txt").write_text(rocm_text(4, lambda a, b: False, [0, 0, 1, 1]))
assert graph("./pcie.txt")["switches"] > 0 and "4 devices" in run("hierarchy", "show", "./pcie.txt") and run("bounds", "./pcie.txt", "allgather")
# Eight of one hop each are a node of an instance, whose NICs it lacks.
whole = rocm_text(8, lambda a, b: True, [0] * 4 + [1] * 4)
(work / "mi300.txt").write_text(whole)
refused("topology", "show", "./mi300.txt", "--nodes", "2", says="has no NIC")
two = run("hierarchy", "show", "./mi300.txt", "--nodes", "2", "--instance", "azure-nd-mi300x")
assert "16 devices" in two and "node         2" in two, two
report = run("topology", "import", "./mi300.txt", "--nodes", "2", "--instance", "azure-nd-mi300x", "-o", "x.json")
assert "azure-nd-mi300x" in report and "8 of 400 Gb/s" in " ".join(report.split()), report
for change, says in ((lambda t: t.replace("XGMI", "WIFI", 1), "unknown link type 'WIFI'"), (lambda t: t.replace("XGMI", "PCIE", 1), "lists another link"),
                     (lambda t: t[:t.index("GPU7   XGMI")], "GPU7"), (lambda t: t[:t.index("Link")] + t[t.index("Link"):].replace("GPU3", "GPUx", 1), "is not a GPU"),
                     (lambda t: t[:t.index(" Link Type")] + t[t.index(" Numa Nodes"):], "")):
    (work / "bad.txt").write_text(change(whole))
    refused("topology", "show", "./bad.txt", says=says)
for change, says in ((lambda d: d.pop("card0"), ""), (lambda d: d["system"].pop("(Topology) Hops between DRM devices 0 and 1"), "between GPU0 and GPU1"),
                     (lambda d: d["system"].update({"(Topology) Hops between DRM devices 0 and 1": "far"}), "is not a number")):
    document = json.loads(rocm_json(3, lambda a, b: True, [0] * 3))
    change(document)
    (work / "bad.json").write_text(json.dumps(document))
    refused("topology", "show", "./bad.json", says=says)


NIC = 0.975 * 25  # GB/s that programs reach of 200 Gb/s (topology/hardware/facts.cpp)


# -- Slurm's topology.conf -----------------------------------------------------------------------------------
def random_tree(depth, names, even):
    """(lines, hosts below, path of switches of each host); `even`: all switches of a tier have as many."""
    lines, above = [], {}

    def grow(level):
        name = f"s{next(names)}"
        fan = even[level] if even else random.randint(1, 3)
        if level == depth:
            hosts = [f"n{next(host_names):03d}" for _ in range(fan)]
            lines.append((name, "Nodes", hosts))
            return name, hosts
        children = [grow(level + 1) for _ in range(fan)]
        for child, _ in children:
            above[child] = name
        lines.append((name, "Switches", [child for child, _ in children]))
        return name, [host for _, below in children for host in below]

    host_names = itertools.count()
    root, hosts = grow(0)
    return lines, above, hosts


def as_list(names):
    """A host list: runs of numbers in brackets, here and there."""
    if len(names) < 2 or random.random() < 0.3:
        return ",".join(names)
    digits = [name.lstrip("ns") for name in names]
    prefix, numbers, runs = names[0][0], [int(d) for d in digits], []
    for number, text in zip(numbers, digits):
        if runs and number == runs[-1][1] + 1 and len(runs[-1][2]) == len(text):
            runs[-1][1] = number
        else:
            runs.append([number, number, text])
    width = lambda run: len(run[2])
    inside = ",".join(run[2] if run[0] == run[1] else f"{run[2]}-{run[1]:0{len(run[2])}d}" for run in runs)
    return f"{prefix}[{inside}]"


for number in range(20):
    depth = random.choice((0, 1, 2))
    even = [random.randint(2, 3) for _ in range(depth + 1)] if number % 2 == 0 else None
    lines, above, hosts = random_tree(depth, itertools.count(), even)
    random.shuffle(lines)
    text = "# a cluster\n" + "".join(
        f"{random.choice(('SwitchName', 'switchname'))}={name} {kind}={as_list(below)}{random.choice(('', ' LinkSpeed=100', ' # uplink'))}\n" for name, kind, below in lines)
    (work / "topology.conf").write_text(text)
    if len(hosts) < 2:
        continue
    read = graph("./topology.conf", "--nic-gbits", "100")
    names = run("topology", "import", "./topology.conf", "--json", "r.json") and json.loads((work / "r.json").read_text())["names"]
    assert sorted(names[:len(hosts)]) == sorted(hosts), (names, hosts)
    leaf = {host: name for name, kind, below in lines if kind == "Nodes" for host in below}

    def chain(host):
        at, path = leaf[host], [leaf[host]]
        while at in above:
            at = above[at]
            path.append(at)
        return path

    # Hosts of one switch are neighbours: the hops between two hosts, as the alpha of the cheapest route.
    around = {}
    for link in read["links"]:
        around.setdefault(link["src"], []).append((link["dst"], link["alpha_us"]))
    for a in range(len(hosts)):
        least, queue = {a: 0.0}, [a]
        while queue:
            at = queue.pop(0)
            for to, alpha in around.get(at, []):
                if least[at] + alpha < least.get(to, 1e9) - 1e-12:
                    least[to] = least[at] + alpha
                    queue.append(to)
        for b in range(len(hosts)):
            if a == b:
                continue
            common = next(i for i, s in enumerate(chain(names[a])) if s in chain(names[b]))
            there = chain(names[b]).index(chain(names[a])[common])
            assert abs(least[b] - (0.7 + 0.7 + 0.35 * (common + there))) < 1e-9, (text, names[a], names[b], least[b], common, there)
    # No cut of the network is smaller than the NICs on one side of it.
    if even:
        shown = json.loads(run("hierarchy", "show", "./topology.conf", "--json").stdout)["levels"]
        expected = [n for n in even if n > 1]
        assert [level["fan_out"] for level in shown] == expected and shown[-1]["name"] == "node", (even, shown)
        assert all(abs(level["bandwidth_gbs"] * level.get("ports", 1) - NIC * (len(hosts) // _product)) < 1e-6 * NIC * len(hosts)
                   for level, _product in zip(shown, itertools.accumulate(expected, lambda a, b: a * b))), shown
# The node's file beside it: its GPUs are the ranks.
(work / "topology.conf").write_text("SwitchName=leaf0 Nodes=n[0-1]\nSwitchName=leaf1 Nodes=n[2-3]\nSwitchName=spine Switches=leaf[0-1]\n")
run("topology", "import", examples / "node.xml", "./topology.conf", "-o", "whole.json")
assert graph("./whole.json")["ranks"] == 16
assert [level["fan_out"] for level in json.loads(run("hierarchy", "show", "./whole.json", "--json").stdout)["levels"]] == [2, 2, 4]
assert "16 devices" in run("place", "./whole.json", "--axes", "data=4,tensor=4", "--reduce", "data", "--bytes", "1G")
# Unequal leaves whose links up carry all that their hosts send: no unit of hosts is nearer than all others,
# so they are one level.
(work / "topology.conf").write_text("SwitchName=a Nodes=n[0-2]\nSwitchName=b Nodes=n[3-7]\nSwitchName=c Switches=a,b\n")
run("bounds", "./topology.conf", "allgather")
one = json.loads(run("hierarchy", "show", "./topology.conf", "--json").stdout)["levels"]
assert [(level["name"], level["fan_out"], level["bandwidth_gbs"], round(level["latency_us"], 9)) for level in one] == [("node", 8, NIC, 2.1)], one
# As 'scontrol show topology' prints the same: with levels, and the hosts of the switches below.
(work / "shown.conf").write_text("SwitchName=a Level=0 LinkSpeed=1 Nodes=n[0-2]\nSwitchName=b Level=0 LinkSpeed=1 Nodes=n[3-7]\n"
                                 "SwitchName=c Level=1 LinkSpeed=1 Nodes=n[0-7] Switches=a,b\n")
assert graph("./shown.conf")["links"] == graph("./topology.conf")["links"]
# Blocks are leaves of one switch, and topology.yaml has the same in lists: of several topologies the default.
(work / "tree.conf").write_text("SwitchName=b1 Nodes=n[0-2]\nSwitchName=b2 Nodes=n[3-7]\nSwitchName=top Switches=b[1-2]\n")
(work / "blocks.conf").write_text("BlockName=b1 Nodes=n[0-2]\nBlockName=b2 Nodes=n[3-7]\nBlockSizes=2,4\n")
(work / "tree.yaml").write_text("# Slurm 25.05\n- topology: other\n  block:\n    block_sizes:\n      - 4\n    blocks:\n      - block: b\n        nodes: x[1-4]\n"
                                "- topology: mine\n  cluster_default: true\n  tree:\n    switches:\n      - switch: top\n        children: b[1-2]\n"
                                "      - switch: b1\n        nodes: n[0-2]\n      - switch: 'b2'\n        nodes: n[3-7]\n")
for other in ("blocks.conf", "tree.yaml"):
    assert sorted((l["src"] < 8, l["dst"] < 8, l["bandwidth"], l["alpha_us"]) for l in graph(f"./{other}")["links"]) == sorted(
        (l["src"] < 8, l["dst"] < 8, l["bandwidth"], l["alpha_us"]) for l in graph("./tree.conf")["links"]), other
# A document's mark and flat topologies beside are passed over, and so is what scontrol prints of blocks.
(work / "marked.yaml").write_text("---\n- topology: all\n  cluster_default: false\n  flat: true\n" + (work / "tree.yaml").read_text())
(work / "printed.conf").write_text("BlockName=b1 BlockIndex=0 Nodes=n[0-2] BlockSize=3\nBlockName=b2 BlockIndex=1 Nodes=n[3-7] BlockSize=5\n")
assert graph("./marked.yaml")["links"] == graph("./tree.yaml")["links"]
assert graph("./printed.conf")["links"] == graph("./blocks.conf")["links"]
# Items of YAML have their keys in any order, with lines of Windows, quotes and comments; lists may be in one
# line, blank lines lie between, and blocks without hosts are none. What topograph writes for Slurm names its
# switches in comments, by their paths, and puts them before or behind the lines of their own.
for name, text in {
        "crlf.yaml": "- topology: t\r\n  cluster_default: true\r\n  block:\r\n    block_sizes: [2, 4]\r\n    blocks:\r\n      - nodes: n[0-2]\r\n\r\n        block: b1\r\n      - block: b2\r\n        nodes: n[3-7]\r\n",
        "behind.yaml": '- topology: "t"\n  block:\n    blocks:\n    - block: spare\n    - block: "b2"\n\n      nodes: "n[3-5],n[6-7]"\n    - nodes: n0,n1,n2  # three\n      block: \'b1\'\n    block_sizes:\n    - 4\n',
        "second.yaml": "- topology: a\n  tree:\n    switches:\n      - switch: s\n        nodes: x[0-3]\n- topology: b\n  cluster_default: true\n  block:\n    blocks:\n      - block: b2\n        nodes: n[3-7]\n      - block: b1\n        nodes: n[0-2]\n",
        "topograph_blocks.conf": "# block002=nvl-b\r\nBlockName=block002 Nodes=n[3-7]\r\n# block001=nvl-a\r\nBlockName=block001 Nodes=n[0-2]\r\nBlockSizes=2,4\r\n"}.items():
    (work / name).write_text(text, newline="")
    assert graph(f"./{name}")["ranks"] == 8 and sorted((l["src"] < 8, l["bandwidth"]) for l in graph(f"./{name}")["links"]) == sorted(
        (l["src"] < 8, l["bandwidth"]) for l in graph("./blocks.conf")["links"]), name
for name, text in {
        "up.yaml": "- topology: t\n  tree:\n    switches:\n      - children: b1,b2\n        switch: top\n      - nodes: n[0-2]\n        switch: b1\n      - switch: b2\n        nodes: n[3-7]\n",
        "topograph_tree.conf": "# switch.1.1=island\nSwitchName=switch.1.1 Switches=switch.2.[1-2]\n# switch.2.1=block-9\nSwitchName=switch.2.1 Nodes=n[0-2]\nSwitchName=switch.2.2 Nodes=n[3-7]\n",
        "topograph_last.conf": "SwitchName=switch.2.2 Nodes=n[3-7]\nSwitchName=switch.2.1 Nodes=n[0-2]\nSwitchName=switch.1.1 Switches=switch.2.1,switch.2.2\n"}.items():
    (work / name).write_text(text)
    assert sorted((l["src"] < 8, l["dst"] < 8, l["bandwidth"], l["alpha_us"]) for l in graph(f"./{name}")["links"]) == sorted(
        (l["src"] < 8, l["dst"] < 8, l["bandwidth"], l["alpha_us"]) for l in graph("./tree.conf")["links"]), name
for public in ("block.conf", "topology.yaml"):
    assert graph(data / "repro" / "public" / public)["ranks"] == 8, public
# topograph's labels of Kubernetes nodes, today's names and the older ones; a node without labels is none.
def labelled(nodes):
    items = [{"metadata": {"name": name, "labels": {f"network.topology.nvidia.com/{k}": v for k, v in labels.items()}}} for name, labels in nodes.items()]
    (work / "nodes.json").write_text(json.dumps({"kind": "List", "items": items}))


for leaf, core in (("leaf", "core"), ("block", "datacenter")):
    labelled({"control": {}} | {f"n{i}": {leaf: f"l{int(i >= 3)}", "spine": "s", "accelerator": f"nvl{i // 2}"} for i in range(8)})
    assert sorted((l["src"] < 8, l["dst"] < 8, l["bandwidth"], l["alpha_us"]) for l in graph("./nodes.json")["links"]) == sorted(
        (l["src"] < 8, l["dst"] < 8, l["bandwidth"], l["alpha_us"]) for l in graph("./tree.conf")["links"])
    labelled({f"n{i}": {leaf: f"l{i // 2}", "spine": f"s{i // 4}", core: "c"} for i in range(8)})
    assert graph("./nodes.json")["ranks"] == 8 and graph("./nodes.json")["switches"] == 6  # the core, between two, is a part of their link
labelled({f"n{i}": {"accelerator": f"nvl{int(i >= 3)}"} for i in range(8)})
assert [graph(f"./{each}")["switches"] for each in ("nodes.json", "blocks.conf")] == [2, 2]
# One node alone, and a domain that two switches share: the switches are read, the domain is not.
labelled({f"n{i}": {"spine": "s", "leaf": f"l{int(i >= 3)}", "accelerator": "one"} for i in (7, 0, 5, 2, 1, 6, 3, 4)})
assert graph("./nodes.json")["ranks"] == 8 and graph("./nodes.json")["switches"] == 2
labelled({"a": {"leaf": "l", "spine": "s"}, "b": {"leaf": "l", "spine": "t"}})
refused("topology", "show", "./nodes.json", says="leaf/l is below spine/s and spine/t; a switch hangs on one other")
for text, says in (("SwitchName=a Nodes=n[0-\n", "bracket"), ("SwitchName=a Nodes=n[3-1]\n", "range"), ("SwitchName=a\n", "neither"),
                   ("SwitchName=a Nodes=n0 Switches=b\n", "or both"), ("SwitchName=a Nodes=n[0-1]\nSwitchName=a Nodes=n2\n", "again"),
                   ("SwitchName=a Nodes=n[0-1],n0\n", "second time"), ("SwitchName=a Switches=b\n", "no line of its own"),
                   ("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "circle"), ("SwitchName=a Nodes=n0\nSwitchName=b Nodes=n1\n", "not connected"),
                   ("SwitchName=a Nodes=n[0-1] Color=red\n", "'Color' is not known"), ("- topology: a\n  flat: true\n", "no switches and no blocks"), ("- topology: a\n  tree:\n    switches:\n      - nodes: n1\n", "nodes of no switch"),
                   ("- topology: a\n  tree:\n    switches:\n      - nodes: n1\n      - switch: a\n", "bad.conf:4: has nodes of no switch"),
                   ("- topology: a\n  block:\n    blocks:\n      - block: b\n        nodes: n0\n      - block: b\n        nodes: n1\n", "bad.conf:7: names the switch b again"),
                   ("- topology: a\n  tree:\n    switches:\n      - switch: a\n        nodes: n1\n        children: b\n", "bad.conf:6: has neither hosts nor switches, or both"),
                   ("- switch: a\n", "is of no known format"), ("BlockName=b1 Nodes=n[0-3]\nBlockName=b2 Nodes=n3\n", "a second time"),
                   ("SwitchName=a Nodes=n[0-999999999]\n", ""), ("SwitchName=a Nodes=n[]\n", ""), ("SwitchName=a Nodes\n", "key=value")):
    (work / "bad.conf").write_text(text)
    refused("topology", "show", "./bad.conf", says=says)
refused("topology", "show", "./topology.conf", "--nodes", "2", says="lists its hosts itself")
(work / "slurm-three.conf").write_text("SwitchName=a Nodes=n[0-2]\n")
refused("topology", "import", examples / "node.xml", examples / "node.xml", "./slurm-three.conf", says="one file for all nodes")

# -- what files lack -----------------------------------------------------------------------------------------
SMI = "\t" + "\t".join(f"GPU{g}" for g in range(8)) + "\tCPU Affinity\tNUMA Affinity\n" + "".join(
    f"GPU{a}\t" + "\t".join(" X " if a == b else "NV18" for b in range(8)) + f"\t{'0-47' if a < 4 else '48-95'}\t{a // 4}\n" for a in range(8))
(work / "smi.txt").write_text(SMI)
refused("topology", "show", "./smi.txt", "--nodes", "2", says="--instance aws-p5")
for instance, nics in (("aws-p5", 32 * 12.5), ("aws-p5en", 16 * 25), ("azure-ndv5", 8 * 50), ("aws-p4d", 4 * 12.5)):
    levels = json.loads(run("hierarchy", "show", "./smi.txt", "--nodes", "2", "--instance", instance, "--json").stdout)["levels"]
    network = levels[0]["bandwidth_gbs"] * levels[0].get("ports", 1)
    assert [level["fan_out"] for level in levels] == [2, 8] and abs(network - 0.975 * nics) < 0.06 * nics, (instance, levels)
half = json.loads(run("hierarchy", "show", "./smi.txt", "--nodes", "2", "--instance", "aws-p5", "--nic-gbits", "50", "--json").stdout)["levels"]
assert abs(half[0]["bandwidth_gbs"] * half[0].get("ports", 1) - 200) < 12, half
for value in ("20.6", "40.1"):
    links = graph("./smi.txt", "--nvlink-gbs", value)["links"]
    assert all(abs(gbs(link) - 18 * float(value)) < 1e-3 for link in links), (value, links)
assert all(abs(gbs(link) - 18 * 20.6) < 1e-3 for link in graph("./smi.txt")["links"])
xml = graph(examples / "node.xml", "--nvlink-gbs", "10")
assert abs(max(gbs(link) for link in xml["links"]) - 120) < 1e-3, xml
refused("topology", "show", "./smi.txt", "--instance", "aws-p9", says="'aws-p9' is not known")
refused("topology", "show", "./smi.txt", "--instance", "azure-ncv4", says="has 8 GPUs, and azure-ncv4 has 4")
refused("topology", "show", "./smi.txt", "--nvlink-gbs", "0", says="--nvlink-gbs")
assert "nothing of" in run("topology", "import", data / "topology/h100.xml", "--instance", "aws-p5", "-o", "h.json")

# -- rail-optimized units by name ----------------------------------------------------------------------------
rail = json.loads(run("hierarchy", "show", "rail:2x3", "--json").stdout)["levels"]
assert [(level["name"], level["fan_out"]) for level in rail] == [("unit", 2), ("node", 3), ("gpu", 8)], rail
links = {(link["src"], link["dst"]) for link in graph("rail:2x3")["links"]}
for a, b in itertools.permutations(range(48), 2):
    assert ((a, b) in links) == (a // 8 == b // 8 or a % 8 == b % 8 or a // 24 != b // 24), (a, b)
assert [level["name"] for level in json.loads(run("hierarchy", "show", "rail:4", "--json").stdout)["levels"]] == ["node", "gpu"]
refused("hierarchy", "show", "rail:1x2x3", says="units x nodes")
refused("hierarchy", "show", "rail:0", says="rail:0")

# -- inputs that showed the want -----------------------------------------------------------------------------
inputs = data / "repro"
assert "node         4" in run("hierarchy", "show", inputs / "p5topo.txt", "--nodes", "4", "--instance", "aws-p5")
tray = graph(inputs / "gb200.txt", "--nvlink-gbs", "40.1")["links"]
assert all(abs(gbs(link) - 18 * 40.1) < 1e-2 for link in tray), tray
