#!/usr/bin/env python3
"""Switches that copy and add by default: every command takes machines that have them, by name and by file, results
name them, and what cannot ask a switch gets schedules by links alone, which run.

Usage: in_network.py CHORALE SOURCE_DIRECTORY
"""
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run, run_chorale, work  # noqa: E402

source = pathlib.Path(sys.argv[2]).resolve()
FOUND = (0, 1, 3, 4)  # whatever a short limit leaves open, but nothing refused


def read(file):
    return json.loads((work / file).read_text())


def able(topology):
    return any(limit.get("multicast") or limit.get("reduce") for limit in topology.get("limits", []))


def optimized(machine, collective, *more):
    run_chorale("optimize", machine, collective, "--sizes", "1K,1M,1G", "--search-time", "2s", "--json", "o.json", *more, code=FOUND)
    return read("o.json")["rows"]


# By name, by levels and by files of other tools; an A100 has none, and its user is told so who asks.
named = ["dgx-h100:1", "dgx-h100:2", "b200:1", "gb200-nvl72", "p5:1", "h100:2", "rail:2", source / "examples/h100.txt", source / "tests/data/topology/h100.xml"]
for machine in named:
    said = run_chorale("bounds", machine, "allreduce", code=FOUND)
    assert "multicast and reduce" in " ".join(said.split()), (machine, said)
    alone = run_chorale("bounds", machine, "allreduce", "--switches-forward-only", code=FOUND)
    assert "multicast" not in alone.replace("whose switches only forward", ""), (machine, alone)
for machine in ("dgx-a100:1", "a100:2", "mi300x:1"):
    refused("bounds", machine, "allreduce", "--switches-in-network", says="no switches that are known to copy and add")
refused("bounds", "dgx-h100:1", "allreduce", "--switches-in-network", "--switches-forward-only", says="contradicts")
assert "NVSwitches multicast and reduce (NVLS" in run_chorale("optimize", source / "examples/h100.txt", "broadcast", "--sizes", "1M").replace("\n    ", " ")
# What is measured: 476 to 480 GB/s on eight H100 and 838 on eight B200, by NVLS; 366 and 690 by rings.
for machine, measured, rings in (("dgx-h100:1", 478, 370), ("b200:1", 838, 722)):
    both, links = (optimized(machine, "allreduce", *more)[-1] for more in ((), ("--switches-forward-only",)))
    assert 0.9 * measured < both["busbw_gbs"] < 1.1 * measured and links["busbw_gbs"] < 1.01 * rings, (both, links)
    assert "in-network" in both["algorithm"].replace("_", "-") and both["us"] < links["us"] and "network" not in links["algorithm"], (both, links)

# Programs of all targets, with the options that everybody types first, are by links alone or say otherwise;
# those that run here are right.
for collective in ("allreduce", "broadcast"):
    for target in ("mpi", "nccl", "cuda", "msccl-xml", "mscclpp", "preload") if collective == "allreduce" else ("mpi",):
        said = run_chorale("optimize", "dgx-h100:1", collective, "--sizes", "1K,1M,1G", "--search-time", "500ms", "--target", target, "-o", "out", code=FOUND)
        assert "no program" not in said.stdout + said.stderr, (target, said, said.stderr)
        if target == "mpi":
            assert "cannot ask switches" in " ".join((said.stdout + said.stderr).split()), (said, said.stderr)
    result = read("out/result.json")
    assert able(result["topology"]) and result["points"]
    run_chorale("check", "out/result.json", code=FOUND)
    said = run_chorale("emit", "out/result.json", "--target", "mpi", "-o", "emitted")
    assert "cannot ask switches" in " ".join((said.stdout + said.stderr).split()), said.stderr
    run_chorale("run", "out/result.json", "--transport", "threads", code=FOUND)

# The other commands.
machine = "dgx-h100:2"
run_chorale("frontier", machine, "allgather", "--max-chunks", "1", "--time-limit", "1", "--json", "f.json", code=FOUND)
run_chorale("show", "f.json", "--bytes", "1M")
run_chorale("synthesize", "dgx-h100:1", "allreduce", "--chunks", "8", "--conflicts", "100", "--json", "s.json", code=FOUND)
run_chorale("classic", "direct_allreduce", "dgx-h100:1", "--json", "c.json")
run_chorale("compare", "dgx-h100:1", "dgx-a100:1", "allreduce", code=FOUND)
placed = run_chorale("place", machine, "--axes", "data=2,tensor=8", "--reduce", "tensor", "--bytes", "1G", "--strategies", "9", "--json", "p.json")
run_chorale("check", "p.json")
alone = run_chorale("place", machine, "--axes", "data=2,tensor=8", "--reduce", "tensor", "--bytes", "1G", "--switches-forward-only", "--json", "q.json")
best, links = (min(each["us"] for each in read(file)["best"]) for file in ("p.json", "q.json"))
assert abs(links / best - 478 / 370.8) < 0.02, (best, links)  # 1.75 GB over 370.8 GB/s, and a switch's gain
run_chorale("reshard", machine, source / "examples/reshard.json", "--search-time", "1s", "--json", "r.json", code=FOUND)
run_chorale("frontier", machine, "allreduce", "--without-link", "0-switch0", "--max-chunks", "1", "--time-limit", "1", code=FOUND)
(work / "spec.json").write_text(json.dumps({"machines": ["dgx-h100:1"], "collectives": ["allreduce", "broadcast"], "groups": ["all"], "max_chunks": 2}))
run_chorale("library", "build", "spec.json", "-o", "l.db", "--time-limit", "60", code=FOUND)
for form in ("mpi", "nccl", "preload", "times"):
    run_chorale("library", "export", "l.db", "dgx-h100:1", "allreduce", "broadcast", "--as", form, "-o", f"exported-{form}")
run(sys.executable, source / "benchmarks/in_network.py", pathlib.Path(sys.argv[1]).resolve(), "--search-time", "1", "--machines", "dgx-h100:1")
