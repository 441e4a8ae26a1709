"""FSDP2 whose AllGathers and ReduceScatters are programs: ranks on one machine share memory, and send
nothing.

    model = fully_shard(model, mesh=mesh)
    chorale.fsdp.fuse(model)                               # before the first forward pass, on all ranks

Needs a PyTorch whose FSDPModule has set_custom_all_gather (2.8). The logger `chorale` reports what is left to
PyTorch, and why."""

import functools

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FSDPModule

from chorale import shared, workload
from chorale.buckets import KINDS
from chorale.logs import log

counts = {"programs": 0, "PyTorch's": 0}  # collectives of this process


def programs(kind):
    """Of a type: an AllGather, and a ReduceScatter that multiplies its sum, each with its schedule."""
    product = "d = sum * factor" if kind == "fp32" else f"d = Cast({kind}, Cast(fp32, sum) * factor)"
    return {
        "gather": (
            f"workload gather\nsize N = 4194304\nTensor x({kind}, [N], Sliced(0))\ny = AllGather(x)\nreturn "
            f"y\n",
            ""),
        "scatter": (f"workload scatter\nsize N = 4194304\nTensor g({kind}, [N], Local)\nScalar factor(fp32)\n"
                    f'sum = ReduceScatter("+", g)\n{product}\nreturn d\n', "fuse(scatter; sum, d)")
    }


class Programs:
    """Those of the groups and types that a model has, made when they are first called for, by all ranks of a
    group."""

    def __init__(self, machine, directory, order):
        self.of = functools.lru_cache(None)(
            lambda name, kind, group: workload.loaded(*programs(kind)[name], group, machine, directory, order))
        self.logged = set()

    def left(self, tensor, group, why=None):
        """Whether PyTorch does it."""
        if why is None and (tensor.dtype not in KINDS or tensor.device.type != "cpu"):
            why = (f"tensors are {tensor.dtype} on {tensor.device.type}, and programs take "
                   f"{', '.join(KINDS.values())} on cpu")
        counts["programs" if why is None else "PyTorch's"] += 1
        if why is not None and why not in self.logged and dist.get_rank(group) == 0:
            self.logged.add(why)
            log.info("FSDP2: left to PyTorch: %s", why)
        return why is not None


class _Memory:
    def __init__(self, programs, room):
        self.programs, self.room = programs, room

    def allocate(self, size, *, dtype, device):
        if self.room is None or device.type != "cpu" or len(size) != 1:
            return torch.empty(*size, dtype=dtype, device=device)
        return self.room.tensor(size[0], dtype, keeps=True)


class Gather(_Memory):
    def __call__(self, output_tensor, input_tensor, group, async_op=False):
        if self.programs.left(input_tensor, group):
            return dist.all_gather_into_tensor(output_tensor, input_tensor, group=group, async_op=async_op)
        self.programs.of("gather", KINDS[input_tensor.dtype], group).done(0, {
            "x": input_tensor,
            "y": output_tensor
        })
        return None


class Scatter(_Memory):
    def __call__(self, output_tensor, input_tensor, group, op, async_op=False):
        factors = {dist.ReduceOp.SUM: 1.0, dist.ReduceOp.AVG: 1 / group.size()}
        if self.programs.left(
                input_tensor, group, None if op in factors else
                "gradients are to be neither added nor averaged (set_gradient_divide_factor)"):
            return dist.reduce_scatter_tensor(output_tensor,
                                              input_tensor,
                                              op=op,
                                              group=group,
                                              async_op=async_op)
        self.programs.of("scatter", KINDS[input_tensor.dtype], group).done(0, {
            "g": input_tensor,
            "factor": factors[op],
            "d": output_tensor
        })
        return None


def fuse(model, group=None, machine=None, directory=None, order="agreed", sum=None):
    """Has the modules of a model that fully_shard() was called on use programs; their number. `group` has the
    ranks that they are sharded over. Gradients are added up in an order (chorale.optim), and cross in the
    reduce_dtype of the model's MixedPrecisionPolicy."""
    made, room, found = Programs(machine, directory, workload.order_of(order, sum)), shared.room(group), 0
    for name, module in model.named_modules():
        if not isinstance(module, FSDPModule):
            continue
        try:
            module.set_custom_all_gather(Gather(made, room))
            module.set_custom_reduce_scatter(Scatter(made, room))
            found += 1
        except (AttributeError, ValueError) as error:
            if dist.get_rank(group) == 0:
                log.info("FSDP2: %s: left to PyTorch: %s", name or "the model", error)
    return found
