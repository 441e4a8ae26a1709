#!/usr/bin/env python3
"""Random modules with tensor parallelism under torch.compile(backend="chorale"), against eager PyTorch: slices,
factors, shifts, masks, buffers and dropout, of which some depend on the rank, forward and backward. In place of
compiled programs stands an evaluation of their statements by PyTorch that refuses operands which are declared
Replicated and are not the same bits on all ranks: no schedule of such a program is right. So a module takes
half a second, and no C++ compiler.

Usage: random_modules.py CHORALE FOLDER [COUNT [RANKS...]] [--current]
"""
import functools
import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

from torch_ranks import started

os.environ["CHORALE"] = sys.argv[1]
numbers = [int(each) for each in sys.argv[3:] if each != "--current"]
torch = started(numbers[1:] or [2])

import torch.distributed as dist  # noqa: E402
import torch.distributed._functional_collectives as collectives  # noqa: E402

from chorale import compiler, operators, workload  # noqa: E402
from chorale.gradients import Backward  # noqa: E402
from chorale.logs import log  # noqa: E402
from chorale.statements import Program  # noqa: E402

rank, ranks = dist.get_rank(), dist.get_world_size()
log.setLevel("WARNING")
torch._dynamo.config.recompile_limit = 10000
warnings.simplefilter("ignore", FutureWarning)  # of names that older versions have
programs = 0  # that were called


class StandIn(workload.Workload):
    """A program that is not compiled: `folder` has what `chorale compile` wrote."""

    def __init__(self, folder, group):
        self.description = json.loads(next(pathlib.Path(folder).glob("*.json")).read_text())
        self.name, self.group, self.sizes, self.rank = self.description["name"], group, {}, dist.get_rank(group)
        self.rows, self.updated, self.device = [row for row in self.description["tensors"] if row["address"]], set(), "cpu"
        self.meaning = (pathlib.Path(folder) / "meaning").read_text()

    def __del__(self):
        pass

    @torch.no_grad()
    def done(self, seed, given):
        global programs
        programs += 1
        for row in self.rows:
            if row["input"] and row["layout"] == "Replicated":
                mine = given[row["name"]].contiguous()
                everyone = [torch.empty_like(mine) for _ in range(ranks)]
                dist.all_gather(everyone, mine)
                if not all(torch.equal(mine.view(torch.uint8), each.view(torch.uint8)) for each in everyone):
                    raise AssertionError(f"{row['name']} is declared Replicated, and is not the same on all ranks:\n{self.meaning}")
        sizes = self.solved(dict(given))
        whole = {row["name"]: [self.side(side, sizes) for side in row["shape"]] for row in self.rows if row["input"]}
        program = Program(self.meaning, self.description["tensors"], self.group)
        made = Backward(program, given, whole, dict(zip(self.description["sizes"], sizes)), seed)
        return {row["name"]: made.value(row["name"]).reshape(self.shape(row, sizes)) for row in self.rows if not row["input"]}


@functools.lru_cache(None)
def stands_in(text, group):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "fused.chorale"
        file.write_text(text)
        common = [str(file), "--ranks", str(ranks), "--quiet", "-o"]
        subprocess.run([sys.argv[1], "compile", "--machine", f"full:{ranks}", *common, folder], check=True)
        subprocess.run([sys.argv[1], "transform", *common, f"{folder}/meaning"], check=True)
        made = StandIn(folder, group)
    return made.register("stands_in_" + hashlib.sha256(text.encode()).hexdigest()[:16]).default


class Copied(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return collectives.all_reduce(gradient, "sum", dist.group.WORLD)


class Summed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return collectives.all_reduce(x, "sum", dist.group.WORLD)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


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
        self.steps = [(draw.choice(("sum", "sum", "scatter", "gather", "few")), [draw.choice(OPERANDS) for _ in range(draw.randrange(4))],
                       draw.random()) for _ in range(draw.choice((1, 2, 2, 3)))]
        self.drops = draw.randrange(len(self.steps)) if draw.random() < 0.3 else None

    def forward(self, x):
        before = collectives.all_reduce(x @ self.first, "sum", dist.group.WORLD).sigmoid()
        for k, (kind, operands, number) in enumerate(self.steps):
            weight = self.second if k % 2 else self.third
            layer = Copied.apply(x) @ weight
            if kind == "sum":
                y = Summed.apply(layer)
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
                y = ACTIONS[int(number * 7) % len(ACTIONS)](y, operand(self, before, number))
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
ACTIONS = [torch.add, torch.mul, torch.sub, lambda a, b: torch.relu(a) + b, lambda a, b: a * torch.sigmoid(b), torch.maximum, lambda a, b: torch.tanh(a + b)]


def ran(module, called, x, seed):
    """The result, and the gradients where there are some."""
    torch.manual_seed(seed)
    for p in module.parameters():
        p.grad = None
    y = called(x)
    if y.requires_grad:
        (y * y).sum().backward()
    return [y.detach(), *(p.grad for p in module.parameters() if p.grad is not None)]


compiler.operator_of = lambda text, script, group, settings: stands_in(text, group)
compiler.candidates = lambda *_: [""]
count, fused = numbers[0] if numbers else 20, 0
for seed in range(count):
    torch._dynamo.reset()
    module = Module(seed)
    if random.Random(seed).random() < 0.3:
        module.requires_grad_(False)
    x = torch.randn(module.rows, WIDTH, generator=torch.Generator().manual_seed(7 * seed + rank))
    want = ran(module, module, x, seed)
    options = dict(choose="fused", inner="eager", directory=sys.argv[2], replicated=["*_alike"])
    compiled = torch.compile(module, backend="chorale", options=options)
    have = ran(module, compiled, x, seed)
    assert len(have) == len(want), f"module {seed}: {len(have)} results for {len(want)}"
    for k, (a, b) in enumerate(zip(have, want)):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-4 * (1 + b.abs().max().item())), f"module {seed}, rank {rank}, result {k}: apart by {(a - b).abs().max()}: {module.steps}"
    fused += programs > 0
    programs = 0
assert fused > count // 3, f"programs in {fused} modules"
if rank == 0:
    print(f"{count} random modules on {ranks} ranks: 0 differ from eager; {fused} have programs", flush=True)
dist.barrier()
