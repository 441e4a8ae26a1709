"""A placement as each framework takes it, of what `place --emit` writes as groups.json (docs/placement.md):
the order of the devices for JAX, PyTorch, Megatron and MPI.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping

from chorale.command import Outcome

# Both take an array of devices by position in the mesh; JAX's numbers are not those of the machine.
JAX = '''"""Made by chorale: jax.sharding's mesh of this placement."""
# Devices are sorted by process, then by number.
{}def mesh():
    import jax
    import numpy
    devices = sorted(jax.devices(), key=lambda d: (d.process_index, d.id))
    return jax.sharding.Mesh(numpy.array(devices)[ORDER].reshape(SHAPE), AXES)
'''
TORCH = '''"""Made by chorale: torch.distributed's mesh of this placement."""
# Rank r is device r, as torchrun has it.
{}def mesh(device_type="cuda"):
    import torch
    from torch.distributed.device_mesh import DeviceMesh
    return DeviceMesh(device_type, torch.tensor(ORDER).reshape(SHAPE), mesh_dim_names=AXES)
'''

README = """{}: {} devices, {} a node; axes {}; matrix {}.

Devices are numbered node by node. In the mesh of the axes, the last axis fastest, position i is device \
devices[i].

strategy_N_mpi.cpp  runs the chosen strategy of communication N (counted from 0) with device r as
                    process r, and checks every element; left out beyond {} messages:
                    mpicxx -O2 -std=c++17 strategy_N_mpi.cpp -o x && mpirun -n {} ./x
groups.json         the mesh, and the groups of every step
jax_mesh.py         mesh(): a jax.sharding.Mesh
torch_mesh.py       mesh(): a torch.distributed DeviceMesh
megatron.txt        sizes and --order for Megatron
rankfile            for mpirun --rankfile: process i at position i of the mesh
"""

# Megatron's dimensions by what people call axes, and their options; the size of data parallelism follows.
MEGATRON = {
    "tp": ("tensor", "--tensor-model-parallel-size"),
    "cp": ("context", "--context-parallel-size"),
    "ep": ("expert", "--expert-model-parallel-size"),
    "dp": ("data", ""),
    "pp": ("pipeline", "--pipeline-model-parallel-size"),
}


def written(groups: str) -> Dict[str, str]:
    """The files beside groups.json, of its text."""
    job = json.loads(groups)
    devices, per_node = job["devices"], job["node_devices"]
    names, sizes = [axis["name"] for axis in job["axes"]], [axis["size"] for axis in job["axes"]]
    lists = f"ORDER = {devices}\nSHAPE = {tuple(sizes)}\nAXES = {tuple(names)}\n\n\n"
    about = ", ".join(f"{name} {size}" for name, size in zip(names, sizes))
    return {
        "jax_mesh.py": JAX.format(lists),
        "torch_mesh.py": TORCH.format(lists),
        "megatron.txt": _megatron(job),
        # Open MPI's. Nodes are +n0, +n1: those that mpirun was given, in their order.
        "rankfile": "".join(f"rank {rank}=+n{device // per_node} slot={device % per_node}\n"
                            for rank, device in enumerate(devices)),
        "README.txt": README.format(job["machine"], len(devices), per_node, about, job["matrix"],
                                    job["most_messages"], len(devices))
    }


def _megatron(job: Mapping[str, Any]) -> str:
    """Megatron needs each dimension in --order, from the fastest axis to the slowest, the reverse of a mesh;
    those of size 1 change nothing. For an axis that is not one of its dimensions the text is the reason."""
    order, sizes = [], []
    for axis in reversed(job["axes"]):
        known = [name for name, (ours, _) in MEGATRON.items() if axis["name"] in (name, ours)]
        if not known or known[0] in order:
            return (f"Megatron has no dimension of its own for the axis '{axis['name']}': call axes tensor, "
                    "context, expert, data, pipeline.\n")
        order += known
        if option := MEGATRON[known[0]][1]:
            sizes.append(f"{option} {axis['size']}")
    order += [name for name in MEGATRON if name not in order]
    devices = job["devices"]
    return (f"{' '.join(sizes)} --order {'-'.join(order)}\n\nMegatron counts ranks in this order, the first "
            "dimension fastest. Its rank r has to be on the device of 'rankfile':\n  mpirun --rankfile "
            f"rankfile -n {len(devices)} ...\nor, by torchrun, whose rank r is device r, hand it this permutation: "
            f"{','.join(map(str, devices))}\n")


def perform(question: Mapping[str, Any]) -> Outcome:
    """The files of `chorale place --emit`, of the text of groups.json."""
    outcome = Outcome()
    outcome.files = list(written(question["groups"]).items())
    return outcome
