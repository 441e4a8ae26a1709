"""The order of a job's nodes, of what the program found (ir/node_order.h): what `chorale order` and
chorale.order() report, and files for launchers and frameworks.
"""

from __future__ import annotations

import itertools
import json
from typing import Any, Dict, Mapping

from chorale.command import Outcome, Report, counted, format_bytes, format_us, report, table

TORCH = '''# Ranks in the order of 'rankfile' or 'slurm_hostfile' are the mesh in order: the last axis is the
# fastest.
from torch.distributed.device_mesh import init_device_mesh


def mesh(device="cuda"):
    return init_device_mesh(device, {sizes}, mesh_dim_names={names})
'''


def reported(found: Mapping[str, Any]) -> Report:
    """Nodes that follow each other on one switch are one row. Ratios are to the order that was found; a job in
    which nothing crosses a switch takes no time in any order. Not proven means that the bound is lower: how
    much lower is the most that another order could gain."""
    nodes, us = counted(len(found["hosts"]), "node"), found["us"]
    rows, first = [["nodes", "switch", "hosts"]], 0
    for switch, of_it in itertools.groupby(zip(found["switches"], found["hosts"]), lambda each: each[0]):
        hosts = [host for _, host in of_it]
        last = first + len(hosts) - 1
        rows.append([str(first) if first == last else f"{first}-{last}", switch, " ".join(hosts)])
        first = last + 1
    times = [["communication", "time", "least by nodes", "busiest"]]
    for each in found["communications"]:
        times.append([each["name"], format_us(each["us"]), format_us(each["least_us"]), each["busiest"]])
    orders = [["order", "time", "", "between switches"]]
    for each in [{"name": "this one", "us": us, "bytes": found["bytes"]}, *found["others"]]:
        ratio = each["us"] / us if us > 0 else 1
        orders.append([each["name"], format_us(each["us"]), f"{ratio:.2f}x", format_bytes(each["bytes"])])
    proof = f"no order takes less time ({found['proof']})" if found["proven"] else (
        f"not proven: no order takes less than {format_us(found['bound_us'])}, "
        f"{100 * (1 - found['bound_us'] / us):.1f} % less")
    ranks = counted(found["node_ranks"], "rank")
    return report(
        f"order of {nodes}",
        [f"{nodes} of {ranks}: {format_us(us)} per iteration over the busiest links", proof],
        [table(rows, "rll", "Nodes"), table(times, "lrrl", "Communications"), table(orders, "lrrr", "Orders")])


def files(found: Mapping[str, Any]) -> Dict[str, str]:
    """Rank = node x ranks per node + slot, in all of them: nodes in the order that was found, the ranks of a
    node one after the other. "rankfile" is for mpirun --rankfile, "slurm_hostfile" for SLURM_HOSTFILE and srun
    --distribution=arbitrary, "hosts" for launchers that number nodes in that order."""
    slots = range(found["node_ranks"])
    ranks = [(host, slot) for host in found["hosts"] for slot in slots]
    axes = found["axes"]
    mesh = {"axes": axes, "node_ranks": len(slots), "hosts_of_ranks": [host for host, _ in ranks]}
    return {
        "rankfile": "".join(f"rank {rank}={host} slot={slot}\n" for rank, (host, slot) in enumerate(ranks)),
        "slurm_hostfile": "".join(f"{host}\n" for host, _ in ranks),
        "hosts": "".join(f"{host}\n" for host in found["hosts"]),
        "mesh.json": json.dumps(mesh) + "\n",
        "torch_mesh.py": TORCH.format(sizes=tuple(each["size"] for each in axes),
                                      names=tuple(each["name"] for each in axes))
    }


def perform(question: Mapping[str, Any]) -> Outcome:
    """`chorale order`, of what the program found; its JSON is the program's."""
    outcome = Outcome()
    outcome.report = reported(question["found"])
    if question["emit"]:
        outcome.files = [(f"{question['emit']}/{name}", text)
                         for name, text in files(question["found"]).items()]
    return outcome
