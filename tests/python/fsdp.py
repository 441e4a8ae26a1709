#!/usr/bin/env python3
"""FSDP2 whose collectives are programs (chorale.fsdp) against FSDP2: blocks of several modules, of uneven sides, float32
and with bfloat16 for what is sent, with and without resharding; losses, no call of PyTorch's collectives, and what is
left alone with the reason.

Usage: fsdp.py CHORALE FOLDER --current
"""
import io
import logging
import os
import sys

from torch_ranks import started

os.environ["CHORALE"], folder = sys.argv[1], sys.argv[2]
torch = started([2, 3])
import torch.distributed as dist  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard  # noqa: E402
from torch.distributed.fsdp._fully_shard import _fsdp_collectives as theirs  # noqa: E402

from chorale import fsdp  # noqa: E402
from chorale.logs import log  # noqa: E402

rank, ranks = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (ranks,))
logged = io.StringIO()
log.addHandler(logging.StreamHandler(logged))


class Block(torch.nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(width), torch.nn.Linear(width, inner), torch.nn.Linear(inner, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def losses(fuses, policy, reshards, divides=None):
    torch.manual_seed(5)
    model = torch.nn.Sequential(*(Block(15, 7 + 4 * k) for k in range(3)))
    for block in model:
        fully_shard(block, mesh=mesh, mp_policy=policy, reshard_after_forward=reshards)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    if divides:
        for module in model.modules():
            if hasattr(module, "set_gradient_divide_factor"):
                module.set_gradient_divide_factor(divides)
    if fuses:
        assert fsdp.fuse(model, directory=folder) == 4
    optimizer, generator, result = torch.optim.AdamW(model.parameters(), lr=0.01), torch.Generator().manual_seed(rank), []
    for _ in range(30):
        x = torch.randn(8, 15, generator=generator)
        loss = torch.nn.functional.mse_loss(model(x), x.flip(-1).tanh())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        result.append(loss.item())
    return torch.tensor(result)


for name, policy, reshards, close in [("float32", MixedPrecisionPolicy(), True, 1e-5), ("float32, kept", MixedPrecisionPolicy(), False, 1e-5),
                                      ("bfloat16", MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float32), True, 1e-5),
                                      ("bfloat16, also reduced", MixedPrecisionPolicy(param_dtype=torch.bfloat16, output_dtype=torch.float32), True, 3e-2)]:
    want = losses(False, policy, reshards)
    fsdp.counts.update({"programs": 0, "PyTorch's": 0})
    calls = [(kind, kind.__call__) for kind in (theirs.DefaultAllGather, theirs.DefaultReduceScatter)]
    for kind, _ in calls:
        del kind.__call__  # an abstract class's, which does nothing
    have = losses(True, policy, reshards)
    for kind, call in calls:
        kind.__call__ = call
    apart = ((have - want).abs() / want.abs()).max().item()
    assert apart <= close, f"{name}, {ranks} ranks: losses are apart by {apart}"
    assert fsdp.counts["PyTorch's"] == 0 and fsdp.counts["programs"] >= 30 * 6, fsdp.counts
    if rank == 0:
        print(f"FSDP2, {name}, {ranks} ranks: losses {want[0]:.4f} to {want[-1]:.4f}, apart by at most {apart:.1e}; {fsdp.counts['programs']} of "
              f"{sum(fsdp.counts.values())} collectives are programs", flush=True)

# What programs have not.
fsdp.counts.update({"programs": 0, "PyTorch's": 0})
try:
    losses(True, MixedPrecisionPolicy(), True, divides=5.0)
except RuntimeError as error:  # gloo has no such reduction, either
    assert "reduce" in str(error).lower(), error
assert fsdp.counts["PyTorch's"] > 0
if rank == 0:
    assert "left to PyTorch: gradients are to be neither added nor averaged" in logged.getvalue(), logged.getvalue()
    print("what is left to PyTorch is reported")
os._exit(0)
