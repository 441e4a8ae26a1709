#!/usr/bin/env python3
"""Random modules with tensor parallelism under torch.compile(backend="chorale"), against eager PyTorch: slices,
factors, shifts, masks, buffers, norms, gates and dropout, of which some depend on the rank, forward and backward.
Programs are evaluated by stand_in.py.

Usage: random_modules.py CHORALE [COUNT [RANKS...]] [--from=NUMBER] [--current]
"""
import os
import random
import sys
import warnings

from torch_ranks import started

os.environ["CHORALE"] = sys.argv[1]
first = next((int(each[len("--from="):]) for each in sys.argv if each.startswith("--from=")), 0)
numbers = [int(each) for each in sys.argv[2:] if not each.startswith("--")]
torch = started(numbers[1:] or [2])

import torch.distributed as dist  # noqa: E402
import torch.distributed._functional_collectives as collectives  # noqa: E402

import stand_in  # noqa: E402
from chorale.logs import log  # noqa: E402
from megatron import Copied, Summed  # noqa: E402

rank, ranks = dist.get_rank(), dist.get_world_size()
log.setLevel("WARNING")
torch._dynamo.config.recompile_limit = 10000
warnings.simplefilter("ignore", FutureWarning)  # of names that older versions have


WIDTH = 8


class Module(torch.nn.Module):
    """What is drawn is drawn alike on all ranks; what ranks make of it may be each one's own."""

    def __init__(self, seed):
        super().__init__()
        draw = self.draw = random.Random(seed)
        start, own = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(1000 * seed + rank)
        self.rows = draw.choice([1, 2, 3, 6]) * ranks
        for name in ("first", "second", "third"):
            setattr(self, name, torch.nn.Parameter(torch.randn(WIDTH, WIDTH, generator=own) / 3))
        self.bias_alike, self.bias_own = (torch.nn.Parameter(torch.randn(WIDTH, generator=each)) for each in (start, own))
        self.register_buffer("buffer_alike", torch.randn(self.rows, WIDTH, generator=start))
        self.register_buffer("buffer_own", torch.randn(self.rows, WIDTH, generator=own))
        self.register_buffer("index_own", torch.randint(WIDTH, (WIDTH,), generator=own))
        self.steps = [(draw.choice(("sum", "sum", "average", "scatter", "gather", "gate", "few")), [draw.choice(OPERANDS) for _ in range(draw.randrange(4))],
                       draw.random()) for _ in range(draw.choice((1, 2, 2, 3)))]
        self.drops = draw.randrange(len(self.steps)) if draw.random() < 0.3 else None

    def forward(self, x):
        before = collectives.all_reduce(x @ self.first, "sum", dist.group.WORLD).sigmoid()
        for k, (kind, operands, number) in enumerate(self.steps):
            weight = self.second if k % 2 else self.third
            layer = Copied.apply(x) @ weight
            if kind == "sum":
                y = Summed.apply(layer)
            elif kind == "average":
                y = collectives.all_reduce(layer, "avg", dist.group.WORLD)
            elif kind == "gate":
                rows = collectives.all_gather_tensor(x.detach()[:self.rows // ranks], 0, dist.group.WORLD)
                y = torch.nn.functional.silu(rows @ self.second) * (rows @ self.third + self.bias_own)
            elif kind == "few":
                y = collectives.all_reduce(layer, "sum", dist.group.WORLD) * collectives.all_reduce(layer.mean(), "sum", dist.group.WORLD)
            elif kind == "scatter":
                part = collectives.reduce_scatter_tensor(layer.detach(), "sum", 0, dist.group.WORLD)
                part = torch.relu(part) * (number if number < 0.5 else rank + 1.0) + (self.bias_alike if number < 0.7 else self.bias_own)
                y = collectives.all_gather_tensor(part, 0, dist.group.WORLD)
            else:
                rows = collectives.all_gather_tensor(x.detach()[:self.rows // ranks], 0, dist.group.WORLD)
                y = rows @ weight
            for operand in operands:
                y = ACTIONS[int(number * 9) % len(ACTIONS)](y, operand(self, before, number))
            if self.drops == k:
                y = torch.nn.functional.dropout(y, 0.3)
            before, x = (y, x + y) if number < 0.5 else (before, y)
        return y


# Of a module, a tensor that may be alike on all ranks, and a number: an operand of [rows, WIDTH] or what
# broadcasts to that.
OPERANDS = [
    lambda m, t, n: m.bias_alike,
    lambda m, t, n: m.bias_own,
    lambda m, t, n: m.buffer_alike,
    lambda m, t, n: m.buffer_own,
    lambda m, t, n: t,
    lambda m, t, n: t[:, rank:rank + 1].expand(-1, WIDTH).contiguous(),      # a column of each rank's own
    lambda m, t, n: t[:, 1:2].expand(-1, WIDTH).contiguous(),
    lambda m, t, n: t * (rank + 1.0),
    lambda m, t, n: t * n,
    lambda m, t, n: torch.roll(t, rank, 0),
    lambda m, t, n: torch.roll(t, 1, 1),
    lambda m, t, n: torch.where(t > n, t, 0.0),
    lambda m, t, n: torch.where(t > 0.1 * rank, t, 0.0),
    lambda m, t, n: t * (torch.arange(WIDTH) < WIDTH // 2 + rank),           # masks
    lambda m, t, n: t * (torch.arange(WIDTH) < WIDTH // 2),
    lambda m, t, n: t.flip(0) if rank % 2 else t,
    lambda m, t, n: t.index_select(1, m.index_own),
    lambda m, t, n: t[:, torch.arange(WIDTH).roll(rank)],
    lambda m, t, n: torch.full((WIDTH,), float(rank)) + t[0],
    lambda m, t, n: torch.cat([t[:, WIDTH // 2:], t[:, :WIDTH // 2]] if rank else [t[:, :WIDTH // 2], t[:, WIDTH // 2:]], 1),
    lambda m, t, n: t.sum(0) / (rank + 2),
    lambda m, t, n: t.std(1, keepdim=True).expand(-1, WIDTH).contiguous(),
    lambda m, t, n: torch.tensor(0.5 + rank) * t,
    lambda m, t, n: torch.nn.functional.layer_norm(t, (WIDTH,), m.bias_alike, m.bias_own),
    lambda m, t, n: torch.nn.functional.pad(t, (1, 0))[:, :WIDTH] if n < 0.5 else torch.nn.functional.pad(t, (0, rank))[:, -WIDTH:],
    lambda m, t, n: t.clamp(-n, n + rank),
    lambda m, t, n: t.view(-1)[rank:rank + WIDTH],
]
ACTIONS = [torch.add, torch.mul, torch.sub, lambda a, b: torch.relu(a) + b, lambda a, b: a * torch.sigmoid(b), torch.maximum, lambda a, b: torch.tanh(a + b),
           lambda a, b: torch.nn.functional.layer_norm(a + b, (WIDTH,), eps=0.1), lambda a, b: torch.nn.functional.rms_norm(a, (WIDTH,), eps=0.1) * b]


def ran(module, called, x, seed):
    """The result, and the gradients where there are some."""
    torch.manual_seed(seed)
    for p in module.parameters():
        p.grad = None
    y = called(x)
    if y.requires_grad:
        (y * y).sum().backward()
    return [y.detach(), *(p.grad for p in module.parameters() if p.grad is not None)]


count, fused = numbers[0] if numbers else 20, 0
for seed in range(first, first + count):
    torch._dynamo.reset()
    module = Module(seed)
    if random.Random(seed).random() < 0.3:
        module.requires_grad_(False)
    x = torch.randn(module.rows, WIDTH, generator=torch.Generator().manual_seed(7 * seed + rank))
    want = ran(module, module, x, seed)
    compiled = torch.compile(module, backend="chorale", options=dict(stand_in.OPTIONS, replicated=["*_alike"]))
    have = ran(module, compiled, x, seed)
    assert len(have) == len(want), f"module {seed}: {len(have)} results for {len(want)}"
    for k, (a, b) in enumerate(zip(have, want)):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-4 * (1 + b.abs().max().item())), f"module {seed}, rank {rank}, result {k}: apart by {(a - b).abs().max()}: {module.steps}"
    fused += bool(stand_in.called)
    stand_in.called.clear()
assert fused > count // 3, f"programs in {fused} modules"
if rank == 0:
    print(f"random modules {first} to {seed} on {ranks} ranks: 0 differ from eager; {fused} have programs", flush=True)
dist.barrier()
