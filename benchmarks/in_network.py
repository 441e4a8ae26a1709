#!/usr/bin/env python3
"""What switches that copy and add bring: eight H100, two such nodes, an NVL72 and eight B200, beside NCCL's model.

Usage: in_network.py CHORALE [--search-time SECONDS] [--machines NAME ...]

Of each machine, collective and size: our time and bus bandwidth, the algorithm and whether switches copy or add for
it, what NCCL takes by the model of 'chorale baseline' and its time, and the bound; and our time by links alone
(--switches-forward-only). Its last line has the bus bandwidth of AllReduce at 1 GiB on eight H100 and on two nodes.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

MACHINES = ["dgx-h100:1", "dgx-h100:2", "gb200-nvl72", "b200:1"]
COLLECTIVES = ["allreduce", "allgather", "reducescatter", "broadcast"]
SIZES = "1K,64K,1M,64M,1G"

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("chorale")
parser.add_argument("--search-time", type=float, default=30)
parser.add_argument("--machines", nargs="+", default=MACHINES)
options = parser.parse_args()


def rows(machine, collective, *more):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run([options.chorale, "optimize", machine, collective, "--sizes", SIZES, "--search-time", f"{options.search_time}s",
                               "--json", file.name, *more], capture_output=True, text=True)
        if done.returncode not in (0, 3):
            raise SystemExit(f"{machine} {collective}: {done.stderr.strip()}")
        return json.loads(pathlib.Path(file.name).read_text())["rows"]


def size(count):
    return next(f"{count >> shift} {unit}" for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")) if count >> shift)


LINE = "{:<12} {:<13} {:>6}  {:>9} {:>7}  {:>9}  {:>9}  {:<15} {:>9}  {:>9} {:>8}  {}"
print(LINE.format("machine", "collective", "size", "us", "busbw", "by links", "speedup", "NCCL takes", "its us", "bound us", "of bound", "algorithm"))
busbw = {}
for machine in options.machines:
    for collective in COLLECTIVES:
        for row, links in zip(rows(machine, collective), rows(machine, collective, "--switches-forward-only")):
            model = row["library_us"]
            print(LINE.format(machine, collective, size(row["message_bytes"]), f"{row['us']:.2f}", f"{row['busbw_gbs']:.1f}", f"{links['us']:.2f}",
                              f"{links['us'] / row['us']:.2f}x", row["library"] or "-", f"{model:.1f}" if model else "-", f"{row['bound_us']:.2f}",
                              f"{100 * row['bound_us'] / row['us']:.1f} %", row["algorithm"]), flush=True)
            busbw[machine, collective, row["message_bytes"]] = row["busbw_gbs"]
print(*(f"{name}: {busbw[name, 'allreduce', 1 << 30]:.1f} GB/s of bus bandwidth at 1 GiB, {measured} measured" for name, measured in
        (("dgx-h100:1", "476 to 480"), ("dgx-h100:2", "438 to 487")) if (name, "allreduce", 1 << 30) in busbw), sep="; ")
