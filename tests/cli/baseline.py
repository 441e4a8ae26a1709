#!/usr/bin/env python3
"""'chorale baseline': what NCCL takes where its own constants and public measurements say it; facts of random
machines; bad input. And benchmarks/believable.py: the errors that it prints of measured tables are below its aims,
by figures that are added up again here; tables with less than they should have do not stop it.

Usage: baseline.py CHORALE SOURCE_DIRECTORY [SEED]
"""
import json
import pathlib
import random
import re
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run, run_chorale, work  # noqa: E402

source = pathlib.Path(sys.argv[2]).resolve()
chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 7)
GI = 1 << 30


def times(*arguments):
    run_chorale("baseline", *arguments, "--json", "times.json")
    return json.loads((work / "times.json").read_text())


def taken(*arguments, size):
    row = times(*arguments, "--sizes", size)["rows"][0]
    return row["algorithm"], row["protocol"], row["us"], row["busbw_gbs"]


# A ring of eight V100 at 8 bytes: 6.6 us and 14 steps of 0.6 us over NVLink, by NCCL's tuning; on A100 a call
# costs 5.5 us more, as a100-1n-ar-howto has it (20.5 us).
for gpu, least in (("V100", 15.0), ("A100", 20.5)):
    algorithm, protocol, us, _ = taken(gpu, "allreduce", size=8)
    assert (algorithm, protocol) == ("Ring", "LL") and least <= us < least + 0.2, us
# Public runs of nccl-tests: eight H100 reach 476 to 480 GB/s by NVLS and 366 by rings; four take a ring; two
# nodes reach 471 to 487 by NVLSTree; eight MI300X 313 (meta tables in tests/data/measured).
for arguments, expected, least, most in (
        (("H100",), "NVLS", 455, 490), (("H100", "--no-nvls"), "Ring", 350, 371), (("H100", "--gpus", 4), "Ring", 350, 371),
        (("H100", "--nodes", 2), "NVLSTree", 440, 490), (("H100", "--algorithm", "Tree"), "Tree", 200, 371), (("B200",), "NVLS", 800, 850),
        (("MI300X",), "Ring", 300, 336), (("A100",), "Ring", 220, 240)):
    algorithm, protocol, _, busbw = taken(*arguments, "allreduce", size=8 * GI)
    assert algorithm == expected and protocol == "Simple" and least <= busbw <= most, (arguments, algorithm, protocol, busbw)
assert times("MI300X", "allgather")["library"] == "RCCL" and times("A100", "allgather")["library"] == "NCCL"
# Many nodes of a GPU each: logarithmic steps beat a ring.
assert taken("H100", "allgather", "--gpus", 1, "--nodes", 64, size=1024)[0] == "PAT"
# By version: PAT came with 2.23, NVLS with 2.17, LL128 with 2.5. What is forced is taken.
assert taken("H100", "allgather", "--gpus", 1, "--nodes", 64, "--library-version", "2.22.3", size=1024)[0] == "Ring"
for version, algorithm in (("2.16", "Ring"), ("2.17", "NVLS"), ("2.28", "NVLS")):
    assert taken("H100", "allreduce", "--library-version", version, size=8 * GI)[0] == algorithm, version
for version, protocol in (("2.4", "Simple"), ("2.5", "LL128")):
    assert taken("V100", "allreduce", "--library-version", version, size=4 << 20)[1] == protocol, version
for protocol in ("LL", "LL128", "Simple"):
    assert taken("H100", "allreduce", "--protocol", protocol, "--no-nvls", size=GI)[1] == protocol
# Shards of 12 ranks that are multiples of 8 bytes, or of 4 alone, are slower than those of 16.
whole, half, third = (taken("V100", "reducescatter", "--gpus", 12, size=12 * shard)[3] for shard in (89478480, 89478488, 89478484))
assert 0.48 < half / whole < 0.53 and 0.36 < third / whole < 0.4, (whole, half, third)
# RCCL's schedules for eight MI300X: to all others in two steps up to 11 MiB, rings beyond.
assert [taken("MI300X", "allreduce", size=size)[:2] for size in (1024, 1 << 20, 16 << 20)] == [("AllPairs", "LL"), ("AllPairs", "Simple"), ("Ring", "Simple")]
assert taken("MI300X", "allreduce", "--gpus", 4, size=1024)[0] == "Ring" and taken("MI300X", "allreduce", size=8)[2] > 9.6 + 2 * 0.5
# A GPU and its NIC below different switches: less than the NIC carries.
assert taken("H200", "allgather", "--gpus", 1, "--nodes", 2, "--far-nics", size=8 * GI)[3] < 34 < 46 < taken("H200", "allgather", "--gpus", 1, "--nodes", 2, size=8 * GI)[3]
# A machine by name is what its name says.
assert times("dgx-h100:2", "allreduce")["rows"] == times("H100", "allreduce", "--nodes", 2)["rows"]

# Random facts: a time that rises with the size but for a change of algorithm (at most by what trees lose at
# middle sizes), and a bandwidth that is no more than what links and NICs carry: 15 % of rounding for switches
# that add.
gpus = re.findall(r'^    \{"([^"]+)", "[^"]*", \d+, "', (source / "topology/hardware/facts.cpp").read_text(), re.M)
assert len(gpus) > 15, gpus
for _ in range(80):
    call = chance.choice(["allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce", "sendrecv"])
    facts = [chance.choice(gpus), call, "--gpus", chance.randint(1, 16), "--nodes", chance.randint(2, 200)]
    for option, values in (("--joined", ["switch", "mesh", "pci", "host"]), ("--network", ["EFA", "EFA 2", "RoCE", "Slingshot", "TCPX"]),
                           ("--nics", [1, 4, 8]), ("--nic-gbits", [10, 100.5, 800]), ("--pci", [1, 3, 6]), ("--links", [1, 18])):
        if chance.random() < 0.5:
            facts += [option, chance.choice(values)]
    facts += [flag for flag in ("--one-process", "--host-copies", "--no-nvls", "--far-nics") if chance.random() < 0.3]
    if chance.random() < 0.3:
        facts += ["--library-version", f"2.{chance.randint(4, 31)}"]
    rows = times(*facts, "--sizes", "1,1K,1M,64M,1G,16G")["rows"]
    assert [row["message_bytes"] for row in rows] == [1, 1 << 10, 1 << 20, 64 << 20, GI, 16 * GI]
    for before, row in zip(rows, rows[1:]):
        assert 0 < before["us"] <= row["us"] * 1.001, (facts, rows)

# 'optimize' shows the same beside its own times, of machines that name their GPU, unless MPI is asked for.
def optimized(*arguments):
    run_chorale("optimize", arguments[0], "allreduce", *arguments[1:], "--sizes", "1K,1M,1G", "--search-time", "1s", "--json", "best.json", code=(0, 3))
    return json.loads((work / "best.json").read_text())


best, library = optimized("dgx-h100:1"), times("dgx-h100:1", "allreduce", "--sizes", "1K,1M,1G")["rows"]
assert best["library"] == "NCCL"
for row, expected in zip(best["rows"], library):
    assert row["library"] == f"{expected['algorithm']} {expected['protocol']}" and abs(row["library_us"] - expected["us"]) < 1e-3 * expected["us"], (row, expected)
# An emitted program costs more than the links that it uses, by a flag and a pipeline.
for row in best["rows"]:
    assert row["us"] + 2.8 * min(row["steps"], 14) <= row["emitted_us"] < 1.05 * row["us"] + 2.8 * 14 + 20, row
assert optimized("dgx-h100:1", "--switches-forward-only")["library"] == "NCCL"
for other in (optimized("ring:4"), optimized("dgx-h100:1", "--baselines", "mpi"), optimized("dgx-h100:1", "--without-rank", "3")):
    assert other["library"] == "" and all(row["library"] == "" for row in other["rows"]), other
# Nodes of one GPU each, nodes whose GPUs share NICs, and two nodes with different numbers of NICs: what NCCL
# takes is no less than the bound.
examples = pathlib.Path(__file__).parents[2] / "examples"
run_chorale("topology", "import", examples / "dgx_a100_4nics.txt", "--nodes", "2", "-o", "shared_nics.json")
run_chorale("topology", "import", examples / "h100.txt", examples / "dgx_a100_4nics.txt", "-o", "two_kinds.json")
for machine in ("dgx-h100:2x1", "shared_nics.json", "two_kinds.json"):
    for row in optimized(machine)["rows"]:
        assert row["library_us"] >= row["bound_us"] > 0, (machine, row)
# A node of 16 A100 with one NIC of 8 GB/s: two nodes do not exceed it by more than trees may.
assert taken("a100:2", "allreduce", size=GI)[3] <= 8 * 2 * 31 / 32

# What a library takes is a schedule, too, where switches add: checked, and run as others are.
for method, machine, more in (("nvls", "dgx-h100:1", ()), ("nvls_tree", "dgx-h100:2", ()), ("collnet_direct", "dgx-h100:3", ("--switches-multicast", "--switches-reduce")),
                              ("collnet_chain", "dgx-a100:3", ("--switches-multicast", "--switches-reduce"))):
    run_chorale("classic", f"{method}_allreduce", machine, *more, "--json", "classic.json")
    run_chorale("check", "classic.json")
    run_chorale("run", "classic.json", "--transport", "threads")
refused("classic", "nvls_allreduce", "ring:8", says="do not multicast and reduce")
refused("classic", "nvls_allreduce", "dgx-h100:2", says="nvls_tree_allreduce")
refused("classic", "collnet_chain_allreduce", "dgx-h100:3", says="between its nodes")

refused("baseline", "H1000", "allreduce")
refused("baseline", "H100", "allreduces", says="allreduce")
refused("baseline", "H100", "allreduce", "--nodes", 2, "--network", "EFA 3", says="did you mean")
refused("baseline", "H100", "allreduce", "--gpus", 1, says="fewer than two GPUs")
refused("baseline", "ring:8", "allreduce", says="does not name its GPU")
refused("baseline", "dgx-h100:2", "allreduce", "--nics", 4, says="not a GPU")
for version in ("3", "2", "2.", "2.x", "two", "2.999", "-2.18"):
    refused("baseline", "H100", "allreduce", f"--library-version={version}", says="2.18")
refused("baseline", "H100", "allreduce", "--protocol", "ll", says="LL128")
refused("baseline", "H100", "allreduce", "--algorithm", "Butterfly")

# The benchmark. Its last line is read by others.
LAST = re.compile(r"from 1 MiB: median (\d+\.\d) %; below: median (\d+\.\d) %; worst (\d+\.\d\d) x \((\S+)\)")


def believable(file, *options):
    printed = run(sys.executable, source / "benchmarks/believable.py", pathlib.Path(sys.argv[1]).resolve(), file, *options)
    return printed, LAST.fullmatch(printed.splitlines()[-1])


measured = source / "tests/data/measured/curves.jsonl"
printed, last = believable(measured, "--svg", "figure.svg")
assert last and float(last[1]) <= 15 and float(last[2]) <= 30, printed.splitlines()[-1]
assert (work / "figure.svg").read_text().count("<circle") == sum(map(int, re.findall(r"^(?:fitted|others) \S+ +(\d+)", printed, re.M)))
assert "not predicted" not in printed and "not bounded" not in printed
# What was measured is not faster than what is printed as the bound; nearly all rows have one.
above = re.search(r"^measured above the bound: (\d+) rows of (\d+)$", printed, re.M)
assert above and int(above[1]) == 0 and int(above[2]) > 750, above
# The page shows what is printed.
assert printed.stdout.strip() in (source / "docs/believable.md").read_text(), "docs/believable.md is not what believable.py prints"
# One table, by hand: eight GB300 at 8 and 16 GiB.
table = next(json.loads(line) for line in measured.read_text().splitlines() if '"gb300-8gpu-ar"' in line)
sizes = sorted({row["bytes"] for row in table["rows"]})
answers = times("GB300", "allreduce", "--sizes", ",".join(map(str, sizes)))["rows"]
errors = [abs(answer["us"] / statistics.mean(row["time_us"] for row in table["rows"] if row["bytes"] == answer["message_bytes"]) - 1) for answer in answers]
(work / "one.jsonl").write_text(json.dumps(table) + "\n")
assert believable("one.jsonl")[1][1] == f"{100 * statistics.median(errors):.1f}"
# A time below the bound is found: a hundredth of what was measured.
faster = dict(table, id="faster", rows=[dict(row, time_us=row["time_us"] / 100) for row in table["rows"]])
(work / "faster.jsonl").write_text(json.dumps(faster) + "\n")
printed, _ = believable("faster.jsonl")
assert f"measured above the bound: {len(sizes)} rows of {len(sizes)}" in printed and "faster at " in printed, printed
# Less than a table should have, or more, or something else, in each place; lines that are no tables; none at
# all.
odd = [{"id": "bare", "rows": []}, {"rows": [{"bytes": 8, "time_us": 1}]}]
rows = [{"bytes": 0, "time_us": 5}, {"bytes": 1000, "time_us": 0}, {"bytes": "12K", "time_us": "31.5"}, {"bytes": 3, "busbw": 0.01}, {"bytes": 12345677, "busbw": 90},
        {"bytes": None}, {"time_us": 4}, {"bytes": 1e6, "time_us": -1}, {"bytes": 1 << 36, "time_us": 1e7, "busbw": "x"}]
for _ in range(60):
    changed = {key: value for key, value in table.items() if chance.random() < 0.7 or key in ("id",)}
    changed.update(gpu=chance.choice(["", "RTX 9999", "A100 PCIe", "MI250", "T4", "Quadro", "L4", "H800", "B100", "Instinct", 7, None]), nodes=chance.choice([1, 2, 180, "2", None]),
                   gpus_per_node=chance.choice([1, 2, 3, 8, None]), nics_per_node=chance.choice([None, 1, 0.5, "8"]), nic_gbits=chance.choice([None, 10, "2x200", "fast"]),
                   collective=chance.choice(["AlltoAll", "Send/Recv", "Reduce-Scatter", "all_gather_perf", "Gather", None]), year=chance.choice([None, 2016, 2023, "2025"]),
                   machine=chance.choice(["PCIe 4.0 through memory, one process", "DGX", None, 4]), library=chance.choice(["NCCL 2.1x", "NCCL 2.18.5", "RCCL (ROCm 6)", None]))
    if chance.random() < 0.5:
        changed["rows"] = chance.choices(rows, k=4)
    odd.append(changed)
(work / "odd.jsonl").write_text("".join(json.dumps(each) + "\n" for each in odd) + "[1, 2]\nnot JSON\n\n" + json.dumps(table) + "\n")
printed, last = believable("odd.jsonl")
assert last and "line 63: not a table" in printed and "line 64: not a table" in printed, printed
(work / "none.jsonl").write_text("\n")
assert believable("none.jsonl")[1]
print("baselines are what NCCL's constants and public runs say; odd tables are predicted")
