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


# A ring of eight A100 at 8 bytes: 6.6 us and 14 steps of 0.6 us over NVLink, by NCCL's tuning.
algorithm, protocol, us, _ = taken("A100", "allreduce", size=8)
assert (algorithm, protocol) == ("Ring", "LL") and 15.0 <= us < 15.2, us
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
    facts += [flag for flag in ("--one-process", "--host-copies", "--no-nvls") if chance.random() < 0.3]
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
for other in (optimized("ring:4"), optimized("dgx-h100:1", "--baselines", "mpi"), optimized("dgx-h100:1", "--without-rank", "3")):
    assert other["library"] == "" and all(row["library"] == "" for row in other["rows"]), other
# A node of 16 A100 with one NIC of 8 GB/s: two nodes do not exceed it by more than trees may.
assert taken("a100:2", "allreduce", size=GI)[3] <= 8 * 2 * 31 / 32

refused("baseline", "H1000", "allreduce")
refused("baseline", "H100", "allreduces", says="allreduce")
refused("baseline", "H100", "allreduce", "--nodes", 2, "--network", "EFA 3", says="did you mean")
refused("baseline", "H100", "allreduce", "--gpus", 1, says="fewer than two GPUs")
refused("baseline", "ring:8", "allreduce", says="does not name its GPU")
refused("baseline", "dgx-h100:2", "allreduce", "--nics", 4, says="not a GPU")

# The benchmark. Its last line is read by others.
LAST = re.compile(r"from 1 MiB: median (\d+\.\d) %; below: median (\d+\.\d) %; worst (\d+\.\d\d) x \((\S+)\)")


def believable(file, *options):
    printed = run(sys.executable, source / "benchmarks/believable.py", pathlib.Path(sys.argv[1]).resolve(), file, *options)
    return printed, LAST.fullmatch(printed.splitlines()[-1])


measured = source / "tests/data/measured/curves.jsonl"
printed, last = believable(measured, "--svg", "figure.svg")
assert last and float(last[1]) <= 15 and float(last[2]) <= 30, printed.splitlines()[-1]
assert (work / "figure.svg").read_text().count("<circle") == sum(map(int, re.findall(r"^(?:fitted|others) \S+ +(\d+)", printed, re.M)))
assert "not predicted" not in printed
# The page shows what is printed.
assert printed.stdout.strip() in (source / "docs/believable.md").read_text(), "docs/believable.md is not what believable.py prints"
# One table, by hand: eight GB300 at 8 and 16 GiB.
table = next(json.loads(line) for line in measured.read_text().splitlines() if '"gb300-8gpu-ar"' in line)
sizes = sorted({row["bytes"] for row in table["rows"]})
answers = times("GB300", "allreduce", "--sizes", ",".join(map(str, sizes)))["rows"]
errors = [abs(answer["us"] / statistics.mean(row["time_us"] for row in table["rows"] if row["bytes"] == answer["message_bytes"]) - 1) for answer in answers]
(work / "one.jsonl").write_text(json.dumps(table) + "\n")
assert believable("one.jsonl")[1][1] == f"{100 * statistics.median(errors):.1f}"
# Less than a table should have, or more, in each place.
odd = [{"id": "bare", "rows": []}]
for _ in range(40):
    changed = {key: value for key, value in table.items() if chance.random() < 0.7 or key in ("id",)}
    changed.update(gpu=chance.choice(["", "RTX 9999", "A100 PCIe", "MI250", "T4", "Quadro", None]), nodes=chance.choice([1, 2, 180]), gpus_per_node=chance.choice([2, 3, 8]),
                   collective=chance.choice(["AlltoAll", "Send/Recv", "Reduce-Scatter", "Gather", None]), machine=chance.choice(["PCIe 4.0 through memory, one process", "DGX", None]))
    odd.append(changed)
(work / "odd.jsonl").write_text("".join(json.dumps(each) + "\n" for each in odd))
assert believable("odd.jsonl")[1]
print("baselines are what NCCL's constants and public runs say; odd tables are predicted")
