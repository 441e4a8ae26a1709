#!/usr/bin/env python3
"""Models as they are written, under torch.compile(backend="chorale"), against eager PyTorch, forward and backward:
sums in place as Megatron-LM has them, functional collectives, parallelize_module with torchtitan's plan and
without sequence parallelism, averages, norms behind a sum, gates, sizes that are symbols. What becomes of each
collective is what explain() reports. Programs are evaluated by stand_in.py.

Usage: models.py CHORALE [RANKS...] [--current]
"""
import contextlib
import io
import json
import linecache
import os
import pathlib
import re
import sys
import warnings

from torch_ranks import started

os.environ["CHORALE"] = sys.argv[1]
torch = started([int(each) for each in sys.argv[2:] if each != "--current"] or [2, 4])

import torch.distributed as dist  # noqa: E402
import torch.distributed._functional_collectives as collectives  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.tensor import Replicate, Shard  # noqa: E402
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel,  # noqa: E402
                                               SequenceParallel, parallelize_module)

import chorale  # noqa: E402
import megatron  # noqa: E402
import stand_in  # noqa: E402
from chorale import compiler  # noqa: E402
from chorale.logs import log  # noqa: E402

rank, ranks = dist.get_rank(), dist.get_world_size()
log.setLevel("WARNING")
warnings.simplefilter("ignore")
WIDTH, INNER, HEADS, BATCH, LENGTH = 16, 24, 4, 2, 4
mesh = init_device_mesh("cpu", (ranks,))


class CopiedInPlace(megatron.Copied):
    """As Megatron-LM has it: the gradient is summed in place."""

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous().clone()
        dist.all_reduce(gradient)
        return gradient


class SummedInPlace(megatron.Summed):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x


def attended(q, k, v, heads):
    q, k, v = (each.unflatten(-1, (heads, -1)).transpose(1, 2) for each in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


class Megatron(torch.nn.Module):
    """A block whose ranks have slices of heads and of the inner layer, with `norm` before or behind the sums."""

    def __init__(self, norm=torch.nn.LayerNorm, behind=False):
        super().__init__()
        torch.manual_seed(rank)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH // ranks), torch.nn.Linear(WIDTH // ranks, WIDTH, bias=False)
        self.up, self.down = torch.nn.Linear(WIDTH, INNER // ranks), torch.nn.Linear(INNER // ranks, WIDTH, bias=False)
        torch.manual_seed(5)
        self.first, self.second, self.bias = norm(WIDTH), norm(WIDTH), torch.nn.Parameter(torch.randn(WIDTH))
        self.behind = behind

    def forward(self, x):
        y = CopiedInPlace.apply(x if self.behind else self.first(x))
        y = SummedInPlace.apply(self.out(attended(*self.qkv(y).chunk(3, -1), HEADS // ranks))) + self.bias
        x = self.first(x + y) if self.behind else x + y
        y = CopiedInPlace.apply(x if self.behind else self.second(x))
        y = SummedInPlace.apply(self.down(F.gelu(self.up(y), approximate="tanh")))
        return self.second(x + y) if self.behind else x + y


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x):
        q, k, v = self.wq(x), self.wk(x), self.wv(x)
        return self.wo(attended(q, k, v, HEADS // ranks))


class FeedForward(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w3, self.w2 = torch.nn.Linear(WIDTH, INNER, bias=False), torch.nn.Linear(WIDTH, INNER, bias=False), torch.nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Llama(torch.nn.Module):
    """torchtitan's block."""

    def __init__(self, sequence):
        super().__init__()
        torch.manual_seed(5)
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.attention_norm, self.ffn_norm = torch.nn.RMSNorm(WIDTH, eps=1e-5), torch.nn.RMSNorm(WIDTH, eps=1e-5)
        out = RowwiseParallel(output_layouts=Shard(1)) if sequence else RowwiseParallel()
        plan = {"attention.wq": ColwiseParallel(), "attention.wk": ColwiseParallel(), "attention.wv": ColwiseParallel(), "attention.wo": out,
                "feed_forward.w1": ColwiseParallel(), "feed_forward.w3": ColwiseParallel(), "feed_forward.w2": out}
        if sequence:
            gathers = PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
            plan.update({"attention_norm": SequenceParallel(), "attention": gathers, "ffn_norm": SequenceParallel(), "feed_forward": gathers})
        parallelize_module(self, mesh, plan)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


def ran(function, given):
    """The result, and gradients of the parameters and of the input."""
    x = given.clone().requires_grad_()
    y = function(x)
    parameters = list(getattr(function, "parameters", tuple)())
    y = y.to_local() if hasattr(y, "to_local") else y
    made = torch.autograd.grad((y * y).sum(), [x, *parameters])
    return [y.detach(), *(each.to_local() if hasattr(each, "to_local") else each for each in made)]


def compare(name, function, words, given=None, replicated=(), dynamic=None):
    """`words` are found in operations of programs, each in as many as it says."""
    torch._dynamo.reset()
    given = torch.randn(BATCH, LENGTH, WIDTH, generator=torch.Generator().manual_seed(3)) if given is None else given
    compiler.records.clear()
    stand_in.called.clear()
    want, options = ran(function, given), dict(stand_in.OPTIONS, replicated=list(replicated))
    have = ran(torch.compile(function, backend="chorale", options=options, dynamic=dynamic), given)
    for k, (a, b) in enumerate(zip(have, want, strict=True)):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-5), f"{name}, rank {rank}, result {k}: apart by {(a - b).abs().max()}"
    made = [" -> ".join(each["operations"]) for each in compiler.records if each["fused"]]
    for text, count in words.items():
        found = sum(text in each for each in made)
        assert found >= count, f"{name}: {text} in {found} programs for {count}: {json.dumps(compiler.records, indent=1)}"
    fused, count = (sum(each["collectives"] for each in compiler.records if each["fused"] >= least) for least in (True, False))
    if rank == 0:
        print(f"{name}, {ranks} ranks: {fused} of {count} collectives are parts of {len(made)} programs", flush=True)




world, sequence = dist.group.WORLD, torch.randn(BATCH, LENGTH, WIDTH, generator=torch.Generator().manual_seed(3)).chunk(ranks, 1)[rank].contiguous()
compare("Megatron's block, LayerNorm before the sums", Megatron(), {"mm -> all_reduce": 4, "native_layer_norm": 1})
compare("Megatron's block, LayerNorm behind the sums", Megatron(behind=True), {"mm -> all_reduce": 4, "native_layer_norm": 2}, replicated=["x"])
compare("Megatron's block, RMSNorm behind the sums", Megatron(torch.nn.RMSNorm, behind=True), {"mm -> all_reduce": 4, "mean": 2})
compare("torchtitan's block, sequence parallel", Llama(True), {"all_gather -> mm -> silu -> mm -> mul": 1, "all_gather -> mm -> mm -> mm": 1, "reduce_scatter -> add": 2}, sequence)
compare("torchtitan's block, tensor parallel", Llama(False), {"mm -> all_reduce": 4})
compare("sizes that are symbols", Megatron(), {"mm -> all_reduce": 4}, dynamic=True)

# What is written in a function of its own: averages, norms of sums in place, products read elsewhere.
own, alike = torch.Generator().manual_seed(rank), torch.Generator().manual_seed(4)
w, bias = torch.randn(WIDTH, WIDTH, generator=own), torch.randn(WIDTH, generator=alike)


def averaged(x):
    return collectives.all_reduce(x @ w, "avg", world) * 2 + x


def normalized(x):
    y = x @ w.to(x.dtype)
    dist.all_reduce(y, op=dist.ReduceOp.AVG)
    h = y + x
    return F.rms_norm(h.float(), (WIDTH,), eps=1e-5).type_as(h) * bias.to(x.dtype) + h.mean(-1, keepdim=True) * h.sum(-1, keepdim=True)


def kept(x):
    y = x @ w
    before = y.clone()
    dist.all_reduce(y)
    return torch.relu(y + before)


def scattered(x):
    """Megatron-LM's sequence parallelism."""
    part = torch.empty(len(x) // ranks, WIDTH)
    dist.reduce_scatter_tensor(part, x @ w, op=dist.ReduceOp.AVG)
    whole = torch.empty(len(x), WIDTH)
    dist.all_gather_into_tensor(whole, F.layer_norm(part + x[rank * len(part):][:len(part)], (WIDTH,)))
    return whole @ w


with torch.no_grad():
    for function, words, kind, apart in ((averaged, "mm -> all_reduce -> mul -> add", torch.float32, 1e-5), (kept, "all_reduce -> add -> relu", torch.float32, 1e-5),
                                         (scattered, "mm -> reduce_scatter -> add -> native_layer_norm -> all_gather", torch.float32, 1e-5),
                                         (normalized, "mm -> all_reduce -> add -> pow -> mean -> add -> rsqrt", torch.float32, 1e-5),
                                         (normalized, "mm -> all_reduce -> add -> pow -> mean -> add -> rsqrt", torch.bfloat16, 0.05)):
        torch._dynamo.reset()
        compiler.records.clear()
        x = torch.randn(4, WIDTH, generator=own).to(kind)
        want, have = function(x), torch.compile(function, backend="chorale", options=stand_in.OPTIONS, fullgraph=True)(x)
        assert have.dtype == kind and torch.allclose(have, want, rtol=10 * apart, atol=apart * want.abs().max().item()), f"{function.__name__}, rank {rank}: apart by {(have - want).abs().max()}"
        made = [" -> ".join(each["operations"]) for each in compiler.records if each["fused"]]
        assert any(words in each for each in made), compiler.records

# The example of docs/pytorch.md prints what is beside it, but for times.
compiler.candidates = stand_in.candidates
page = (pathlib.Path(__file__).parents[2] / "docs/pytorch.md").read_text()
code, printed = re.search(r"```py\n(def layer.*?)```\n+```\n(.*?)```", page, re.S).groups()
linecache.cache["layer.py"] = len(code), None, code.splitlines(True), "layer.py"
output, scope = io.StringIO(), {"torch": torch, "dist": dist, "chorale": chorale}
with contextlib.redirect_stdout(output):
    exec(compile(code, "layer.py", "exec"), scope)
without_times = [re.sub(r"[\d.]+ us", "T us", text) for text in (output.getvalue(), printed)]
assert without_times[0] == without_times[1], output.getvalue()
explained = compiler.explain(Megatron())(sequence)
assert [each["graph"] for each in explained.records] == ["forward"] * 2 + ["backward"] * 2 and "<table>" in explained._repr_html_()
assert all(each["predicted_us"] > 0 and each["bytes"] == 4 * sequence.numel() and "models.py" in each["at"] for each in json.loads(explained.to_json())["collectives"]), explained.to_json()


# The exchanges of experts are named, with splits that are numbers and without, and what takes their place.
def experts(x, w, splits):
    there = torch.distributed._functional_collectives.all_to_all_single(x, splits, splits, dist.group.WORLD)
    return torch.distributed._functional_collectives.all_to_all_single(torch.relu(there @ w), splits, splits, dist.group.WORLD)


for splits in (None, [3] * ranks):
    named = compiler.explain(experts)(torch.randn(3 * ranks, WIDTH), torch.randn(WIDTH, WIDTH), splits)
    assert [(each["fused"], each["bytes"], "moe_top2" in each["change"], "experts" in each["reason"]) for each in named.records] == [
        (False, 4 * 3 * ranks * WIDTH, True, True)] * 2, named.to_json()
dist.barrier()
