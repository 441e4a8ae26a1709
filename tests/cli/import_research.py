#!/usr/bin/env python3
"""Machines from files of other synthesizers and simulators, which the package reads: small texts whose machines
can be worked out by hand, real files, damaged ones; and where Python is not, one line.

Usage: import_research.py CHORALE DATA SOURCE, the folder tests/data and that of the sources.
"""
import json
import pathlib
import random
import sys
import types

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402

# The readers need no extension: as the program starts them.
package = types.ModuleType("chorale")
package.__path__ = [str(pathlib.Path(sys.argv[3]) / "python/chorale")]
sys.modules["chorale"] = package
from chorale import import_research  # noqa: E402
from chorale.errors import InputError  # noqa: E402

real = pathlib.Path(sys.argv[2]).resolve() / "topology"


def machine(text, *options):
    (work / "a.file").write_text(text if isinstance(text, str) else json.dumps(text))
    run("topology", "import", "a.file", *options, "-o", "m.json", "--json", "r.json")
    read, report = (json.loads((work / name).read_text()) for name in ("m.json", "r.json"))
    assert report["machine"] == read and len(report["names"]) == read["ranks"] + read.get("switches", 0), report
    return read, report


def between(found, src, dst):
    return sum(link["bandwidth"] for link in found["links"] if (link["src"], link["dst"]) == (src, dst))


# msccl-tools: links[dst][src]; a switch is a limit over links, here 1 -> 0 and 0 -> 2. Nothing is fitted.
found, report = machine({"msccl_type": "topology", "name": "t", "links": [[0, 2, 0], [0, 0, 1], [1, 0, 0]], "switches": [[[0, 1], [2, 0], 2, "port"]]})
assert len(found["links"]) == 3 and (between(found, 1, 0), between(found, 2, 1)) == (2, 1), found
(limit,) = found["limits"]
assert len(limit["links"]) == 2 and limit["bandwidth"] == 2, limit

# TACCL: two rates are a DGX-1; nodes meet in the network, and GPUs of one do not.
ndv2 = {"name": "NDv2_1MB", "gpus_per_node": 8, "nics_per_node": 1, "alpha": 0.3, "node_betas_list": [23, 46], "remote_alpha": 2.6, "remote_beta": 105}
found, _ = machine(ndv2)
assert len(found["links"]) == 32 and (between(found, 0, 1), between(found, 0, 2)) == (2, 1), found
for nics in 1, 2, 4, 8:
    for nodes in 2, 3:
        cluster = {**ndv2, "nics_per_node": nics, "node_betas_list": [8]}
        links = []
        for more in [], ["--network-within-nodes"]:
            machine(cluster, "--nodes", nodes, *more)
            run("classic", "ring_allgather", "./m.json", "--json", "c.json")  # on the machine without its switches
            links.append(len(json.loads((work / "c.json").read_text())["topology"]["links"]))
        assert links[0] == 8 * nodes * (8 * nodes - 1) < links[1], (nics, nodes, links)

# TE-CCL: machines by name. A mesh of 3 x 3 has 12 links and 2 more, in both directions.
for name, chassis, links, ranks in [("DGX1", 1, 32, 8), ("DGX2", 2, None, 32), ("NDv2", 2, 66, 16), ("AMD", 1, 56, 16), ("Mesh", 1, 28, 9)]:
    found, _ = machine({"TopologyParams": {"name": name, "chassis": chassis, "chunk_size": 0.01, "side_length": 3, "alpha": [1e-6, 2e-6]}})
    assert found["ranks"] == ranks and len(found["links"]) in (links, links or len(found["links"])), (name, found)

# ASTRA-sim: dimensions from the innermost, as YAML of two kinds and as JSON. Its GB is 2^30 bytes: three
# points of a ring of eight agreed with ASTRA-sim's own times once they were read so.
same = [machine(text)[0] for text in (
    "topology: [ Ring, Switch ]  # two\nnpus_count: [ 4, 2 ]\nbandwidth: [ 100.0, 50.0 ] # GB/s\nlatency: [ 500, 1000 ]\n",
    "topology:\n  - Ring\n  - Switch\nnpus_count:\n- 4\n- 2\nbandwidth: [100, 50]\nlatency: [500, 1000]\n",
    {"topology": ["Ring", "Switch"], "npus_count": [4, 2], "bandwidth": [100, 50], "latency": [500, 1000]})]
assert same[0] == same[1] == same[2] and same[0]["ranks"] == 8 and between(same[0], 0, 1) == between(same[0], 3, 0) == 2, same[0]
for gigabytes in 1.0, 46.5, 50.0, 400.0:
    _, report = machine(f"topology: [Ring]\nnpus_count: [4]\nbandwidth: [{gigabytes}]\nlatency: [500]\n")
    assert abs(report["unit_gbs"] * 1e9 - gigabytes * 2**30) < 1, report["unit_gbs"]

# ASTRA-sim's links for ns-3.
found, report = machine("4 1 3\n3\n3 0 400Gbps 0.0005ms 0\n3 1 400Gbps 0.0005ms 0\n3 2 200Gbps 500ns 0\n")
assert (found["ranks"], found["switches"], report["unit_gbs"]) == (3, 1, 25) and (between(found, 0, 3), between(found, 3, 2)) == (2, 1), found

# SimAI's: two servers of two GPUs, an NVSwitch each, one switch between them; switches in one line or two.
for listed in ["4 5 6", "4 5\n6"]:
    links = "".join(f"{gpu} {4 + gpu // 2} 2880Gbps 0.000025ms 0\n{gpu} 6 400Gbps 0.0005ms 0\n" for gpu in range(4))
    found, report = machine(f"7 2 2 1 8 H100\n{listed}\n{links}")
    assert found["ranks"] == 4 and between(found, 0, 2) == 0, found
    into = sorted(link["bandwidth"] * report["unit_gbs"] for link in found["links"] if link["dst"] == 0)
    assert abs(into[0] - 50) < 2 and abs(into[-1] - 360) < 20, into

# Ends in any order, with lines of Windows and blank ones; cables that are listed twice are two; a server of
# one GPU.
cables = "".join(f"6 {gpu} 400Gbps 0.0005ms 0\r\n{4 + gpu // 2} {gpu} 2880Gbps 25ns 0\r\n" for gpu in (3, 1, 0, 2))
for text, ranks, gbs in [("7 2 2 1 8 H100\r\n4 5\r\n6\r\n\r\n" + cables, 4, 410), ("7 2 2 1 16 H100\n4 5 6\n" + cables * 2, 4, 820),
                         ("3 1 0 1 2 A100\n2\n2 1 200Gbps 1us 0\n2 0 200Gbps 1us 0\n", 2, 25)]:
    found, report = machine(text)
    into = sum(link["bandwidth"] for link in found["links"] if link["dst"] == 0) * report["unit_gbs"]
    assert found["ranks"] == ranks and abs(into - gbs) < 0.06 * gbs and between(found, 0, 2) == 0, (text, found)

# Real files: what rank 0 receives, in the file's own rates.
for name, ranks, gbs in [("topo-dgx2-1MB.json", 16, 131.072), ("topo-ndv2-1MB.json", 8, (2 / 23 + 2 / 46) * 1048.576)]:
    found, report = machine((real / name).read_text())
    into = sum(link["bandwidth"] for link in found["links"] if link["dst"] == 0) * report["unit_gbs"]
    assert found["ranks"] == ranks and abs(into - gbs) < 0.05 * gbs, (name, into)

# Refusals, each in one line that names the place.
for text, says in [({"msccl_type": "topology", "links": [[0, -1], [1, 0]]}, "links[0][1]"), ({"msccl_type": "topology", "links": [[0, 1]]}, "links[0]"),
                   ({"msccl_type": "topology", "links": [[1]]}, "to itself"), ({"name": "x", "gpus_per_node": 10**9, "alpha": 1}, "gpus_per_node"),
                   ({"TopologyParams": {"name": "Torus"}}, "is none of TE-CCL's machines"), ({"TopologyParams": {"name": "DGX1", "chassis": 2}}, "chassis"),
                   ("topology: [Ring]\nnpus_count: [1000000000]\nbandwidth: [1]\nlatency: [1]\n", "npus_count"),
                   ("topology: [Ring]\nnpus_count: [4]\nbandwidth: [-1]\nlatency: [1]\n", "-1 is out of range"),
                   ("topology: [Ring]\nnpus_count: [4]\nbandwidth: []\nlatency: [1]\n", "has 0 values for 1 dimension"),
                   ("4 1 3\n3\n3 0 400Gbps 0.0005ms 0\n", "has 1 of 3 links"), ("4 1 1\n3\n3 0 -4Gbps 1ms 0\n", "a.file:3: '-4Gbps' is out of range"),
                   ("1000000000 1 1\n", "'1000000000' is out of range"),
                   ("7 2 2 1 8 H100\n4 5 5\n", "does not list the switches; give 3 numbers")]:
    (work / "a.file").write_text(text if isinstance(text, str) else json.dumps(text))
    refused("topology", "import", "a.file", "-o", "out.json", says=says)
(work / "a.file").write_text("2 0 1\n0 1 1Gbps 1us 0\n")
refused("topology", "import", "a.file", "--nodes", 2, says="describes a whole machine itself")
refused("bounds", "./a.file", "allgather", says="chorale topology import FILE")
refused("topology", "import", "a.file", says="python3", env={"PATH": str(work)})
assert not (work / "out.json").exists()

# Damaged files are a machine or a refusal, and nothing else.
rng = random.Random(1)
texts = [json.dumps(ndv2), json.dumps({"TopologyParams": {"name": "AMD", "chassis": 3, "alpha": [7e-7, 7.5e-7]}}), (real / "topo-ndv2-1MB.json").read_text(),
         "topology:\n  - Ring\n  - Switch\nnpus_count:\n- 4\n- 2\nbandwidth: [100, 50]\nlatency: [500, 1000]\n", "4 1 2\n3\n3 0 400Gbps 0.0005ms 0\n3 1 400Gbps 1us 0\n",
         json.dumps({"msccl_type": "topology", "links": [[0, 2], [2, 0]], "switches": [[[0], [1], 1, "port"]]})]
read = 0
for i in range(3000):
    text = texts[i % len(texts)]
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(text) + 1), rng.randrange(6)
        text = text[:at] + rng.choice(["", "0", "-", "1e999", "9" * 30, "[", "]", "null", ",", "\n", "\ud800", "x", text[at:at + length] * 2]) + text[at + length:]
    try:
        read += import_research.converted(text, "damaged", 1 + i % 3) is not None
    except InputError as error:
        assert "\n" not in str(error), error
assert 50 < read < 2900, read
print(f"{read} of 3000 damaged texts are machines, the others are refused")
