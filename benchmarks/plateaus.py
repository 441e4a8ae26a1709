#!/usr/bin/env python3
"""What NCCL reaches on public clusters, by threads of its trackers, against what 'chorale optimize' expects
there: the plateau of NCCL's ring on the machine as the thread describes it, and the part that binds.

Usage: plateaus.py CHORALE

A line per plateau: its bus bandwidth, as measured, or as the maintainers say it should be; that of the
baseline, and their ratio; the part that the baseline keeps busiest, and what the thread names. A machine is
described as 'nvidia-smi topo -m' does, with the speed of its NICs. Of NCCL's algorithms the ring is taken,
since on two nodes its trees exceed what the network carries (nccl-tests #196), and maintainers compare rings;
of an Alltoall the bound. Where a thread leaves the number of nodes open, there are four. Exit code 1: fewer
than two thirds are within 10 %.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import NamedTuple

sys.stdout.reconfigure(line_buffering=True)


class Case(NamedTuple):
    source: str
    collective: str
    nodes: int
    gpus: int          # of a node
    nvlinks: int       # of a GPU, to an NVSwitch
    nics: int          # of a node
    gbits: int         # of a NIC
    near: str          # how NICs are reached: "PXB", a PCI switch, "NODE", the CPU
    plateau: float     # GB/s of bus bandwidth
    whose: str         # measured, or as maintainers say
    named: str         # part that the thread names
    parts: tuple       # names of that part here


NIC, NVLINK = ("NIC in", "NIC out"), ("GPU to NVSwitch", "NVSwitch to GPU", "links between GPUs")
CASES = [
    Case("nccl-tests#119", "allreduce", 3, 8, 12, 4, 200, "PXB", 95.8, "measured", "NICs, 24 GB/s each", NIC),
    Case("nccl#412", "allreduce", 12, 8, 8, 1, 200, "PXB", 24, "expected", "the NIC", NIC),
    Case("nccl#412", "allreduce", 1, 8, 8, 0, 0, "", 160, "expected", "NVLink", NVLINK),
    Case("nccl#812", "allreduce", 4, 8, 12, 8, 200, "PXB", 192, "measured", "NICs", NIC),
    Case("nccl-tests#130", "alltoall", 2, 8, 12, 8, 200, "PXB", 48, "expected", "NICs: twice what one carries", NIC),
    Case("nccl-tests#175", "allreduce", 2, 8, 12, 4, 200, "PXB", 86, "measured", "NICs, or their PCI", NIC),
    Case("nccl-tests#277", "allreduce", 2, 4, 12, 2, 200, "PXB", 45, "measured", "NICs", NIC),
    Case("nccl-tests#277", "allreduce", 2, 4, 12, 4, 200, "PXB", 78, "measured", "NICs", NIC),
    Case("nccl-tests#178", "allreduce", 1, 2, 12, 0, 0, "", 208, "measured", "NVLink", NVLINK),
    Case("nccl-tests#212", "allreduce", 1, 8, 18, 0, 0, "", 370, "expected", "NVLink, with its protocol's overhead", NVLINK),
    Case("nccl-tests#290", "allreduce", 4, 8, 18, 8, 400, "PXB", 8 * 47, "expected", "NICs, 46 to 48 GB/s each", NIC),
]


def topology(case):
    """As nvidia-smi prints it: GPUs on NVLink, each NIC beside its share of them."""
    names = [f"GPU{i}" for i in range(case.gpus)] + [f"NIC{i}" for i in range(case.nics)]
    own = {i: i * case.nics // case.gpus for i in range(case.gpus)}

    def cell(a, b):
        if a == b:
            return "X"
        if a < case.gpus and b < case.gpus:
            return f"NV{case.nvlinks}"
        if min(a, b) >= case.gpus:
            return "SYS"
        return case.near if own[min(a, b)] == max(a, b) - case.gpus else "SYS"

    half = (case.gpus + 1) // 2
    lines = ["\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity"]
    for a, name in enumerate(names):
        row = [name] + [cell(a, b) for b in range(len(names))]
        lines.append("\t".join(row + (["0-63", "0"] if a < half else ["64-127", "1"]) * (a < case.gpus)))
    return "\n".join(lines + ["", "Legend:", "", "  X    = Self"] + (["", "NIC Legend:", ""] if case.nics else []) +
                     [f"  NIC{i}: mlx5_{i}" for i in range(case.nics)]) + "\n"


def expected(chorale, case, folder):
    """GB/s of bus bandwidth of NCCL's ring (of an Alltoall its bound: NCCL has no ring of one), the part that
    it keeps busiest, that of the bound, and what the bound's certificate prices."""
    (folder / "node.txt").write_text(topology(case))
    command = [chorale, "optimize", "node.txt", case.collective, "--nodes", case.nodes, "--sizes", "8G", "--search-time", 2, "--json", "table.json", "-q"]
    if case.nics:
        command += ["--nic-gbits", case.gbits]
    if case.nodes == 1:
        del command[4:6]
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 3), done.stderr  # 3: not all rows are proven
    table = json.loads((folder / "table.json").read_text())
    (row,) = table["rows"]
    us = {each["name"]: each["us"][0] for each in table["baselines"]}.get("multi_ring_" + case.collective, row["bound_us"])
    gbs = row["message_bytes"] / 1e3 * table["bus_factor"]
    binding = table["binding"]
    return gbs / us, row["baseline_part"], gbs / row["bound_us"], [part["what"] for part in binding["parts"]] if binding else []


def main():
    chorale = pathlib.Path(sys.argv[1]).resolve()
    commit = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"commit {commit}; sources are threads of https://github.com/NVIDIA/REPOSITORY/issues/NUMBER; GB/s of bus bandwidth")
    print(f"{'thread':<15} {'collective':<10} {'machine':<34} {'plateau':>7}  {'':<8} {'ring':>6} {'ratio':>5} {'bound':>6}  binds, here and in the thread")
    near = named = 0
    with tempfile.TemporaryDirectory(prefix="chorale_plateaus_") as folder:
        for case in CASES:
            ring, busiest, bound, parts = expected(chorale, case, pathlib.Path(folder))
            ratio = ring / case.plateau
            binds = busiest or (parts[0] if parts else "?")
            same = any(part in (name.removesuffix(", both directions") for name in [busiest, *parts]) for part in case.parts)
            near += abs(ratio - 1) <= 0.1
            named += same
            machine = f"{case.nodes} x {case.gpus} GPUs, {case.nics} NICs of {case.gbits} Gb/s" if case.nics else f"{case.gpus} GPUs, {case.nvlinks} NVLinks each"
            print(f"{case.source:<15} {case.collective:<10} {machine:<34} {case.plateau:>7.1f}  {case.whose:<8} {ring:>6.1f} {ratio:>5.2f} {bound:>6.1f}  "
                  f"{binds} ({'' if same else 'not '}as there: {case.named})")
    print(f"{near} of {len(CASES)} within 10 %; the part named as in the thread in {named}")
    return 0 if near * 3 >= len(CASES) * 2 else 1


if __name__ == "__main__":
    sys.exit(main())
