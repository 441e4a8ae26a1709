#!/usr/bin/env python3
"""Operators of tensor programs: results and gradients against a simulation of all ranks in one process, whose
derivatives are PyTorch's; a rank's part of each is compared. With --current, under the current PyTorch: also
torch.library.opcheck, torch.compile without graph breaks, and torch.export. With --gpus tensors are on GPUs.

Usage: operators.py CHORALE FOLDER [--current] [--gpus]
"""
import os
import pathlib
import sys

from torch_ranks import started

os.environ["CHORALE"] = sys.argv[1]
folder = sys.argv[2]
current = "--current" in sys.argv
place = "cuda" if "--gpus" in sys.argv else "cpu"
torch = started([2] if current else [3], gpus=place == "cuda")

import torch.distributed as dist  # noqa: E402

from chorale import gradients, workload  # noqa: E402
from chorale.exchanges import part  # noqa: E402

rank, ranks = dist.get_rank(), dist.get_world_size()


def cut(x, dim):
    """The slices of all ranks."""
    x, dim = (x.reshape(-1), 0) if dim == "flat" else (x, dim)
    return [x.narrow(dim, *part(x.shape[dim], ranks, r)) for r in range(ranks)]


def total(parts):
    return sum(parts[1:], parts[0])


def mask(shape, stream, seed):
    """Random numbers in the order of elements."""
    return gradients.random_numbers(seed, stream, torch.arange(torch.Size(shape).numel()).reshape(shape))


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))


# Of each: the text, layouts of inputs with their whole shapes, layouts of results, and what all ranks have,
# of lists by rank.
B, H, F = 5, 7, 9


def tail(x, w, b, r):
    s = total([a @ c for a, c in zip(x, w)])
    y = torch.where(mask((B, H), 0, 11) < 0.25, torch.zeros(()), gelu(s + b[0]) / 0.75)
    return [[y + r[0]] * ranks]


def scattered(x, w, b, r):
    s = cut(total([a @ c for a, c in zip(x, w)]), 0)
    y = [torch.relu(each + b[0]) * other + RESIDUAL for each, other in zip(s, r)]
    return [y, [torch.cat(y)] * ranks]


RESIDUAL = 0.5
ROWS = 5


def gathered(x, w, b):
    whole = torch.cat(x)
    y = [torch.maximum(torch.tanh(whole @ each) - bias, bias * 0.1) for each, bias in zip(w, b)]
    return [y, [total([each.sum(1, keepdim=True) for each in y]) / H] * ranks]


def scalars(x, y):
    s = cut(x[0], "flat")
    e = [torch.exp(-each) + torch.sqrt(torch.abs(each) + 1) for each in s]
    norm = torch.sqrt(total([(each * each).sum() for each in e]))
    whole = torch.cat(e).reshape(x[0].shape)
    return [[whole / norm * torch.log(y[0] ** 2 + 3) - y[0] / (x[0] ** 2 + 1)] * ranks, [each.sum() for each in e]]


def experts(x, w1, w2):
    def exchanged(parts):
        pieces = [each.chunk(ranks) for each in parts]
        return [torch.cat([pieces[r][n] for r in range(ranks)]) for n in range(ranks)]

    there = exchanged(x)
    return [exchanged([torch.relu(a @ b) @ c for a, b, c in zip(there, w1, w2)])]


def dispatched(x, c):
    """Rows by counts, one by one."""
    counts = [(each.detach().abs() * 2).int().tolist() for each in c]
    nothing, y = torch.zeros(H), []
    for to in range(ranks):
        places = [(n, sum(counts[n][:to]) + k) for n in range(ranks) for k in range(counts[n][to])]
        rows = [x[n][place] if place < len(x[n]) else nothing for n, place in places]
        y.append(torch.stack((rows + [nothing] * ROWS)[:ROWS]) + 0 * total(x).sum())  # whose rows may all be left out
    return [y, [each * ROWS for each in c]]


def local(x, y, b):
    def normed(a):
        return torch.nn.functional.layer_norm(a, (H,), b[0], b[0], 0.1)

    return [[a * c + b[0] * (n + 1) / ranks + torch.minimum(a, c) + normed(a) for n, (a, c) in enumerate(zip(x, y))]]


PROGRAMS = {
    "tail": (f"""size B = {B}, H = {H}, F = {F}
op gelu(x) = 0.5 * x * (1 + Tanh(0.79788456 * (x + 0.044715 * Pow(x, 3))))
Tensor in(fp32, [B, F], Sliced(1))
Tensor w(fp32, [F, H], Sliced(0))
Tensor b(fp32, [H], Replicated)
Tensor r(fp32, [B, H], Replicated)
s = AllReduce("+", MatMul(in, w))
y = Dropout(gelu(s + b), 0.25) + r
return y""", [("Sliced", 1, (B, F)), ("Sliced", 0, (F, H)), ("Replicated", None, (H,)), ("Replicated", None, (B, H))], [None], tail,
             ["", "split(s, rs); reorder(s; y); fuse(all; rs, s_y, y)"]),
    "scattered": (f"""size B = {B}, H = {H}, F = {F}
Tensor x(fp32, [B, F], Sliced(1))
Tensor w(fp32, [F, H], Sliced(0))
Tensor b(fp32, [H], Replicated)
Tensor r(fp32, [B, H], Sliced(0))
s = ReduceScatter("+", MatMul(x, w), 0)
y = ReLU(s + b) * r + {RESIDUAL}
z = AllGather(y)
return y, z""", [("Sliced", 1, (B, F)), ("Sliced", 0, (F, H)), ("Replicated", None, (H,)), ("Sliced", 0, (B, H))], [0, None], scattered, [""]),
    "gathered": (f"""size B = {B}, H = {H}, F = {F}
Tensor x(fp32, [B, F], Sliced(0))
Tensor w(fp32, [F, H], Sliced(1))
Tensor b(fp32, [H], Sliced(0))
y = Max(Tanh(MatMul(AllGather(x), w)) - b, b * 0.1)
m = Mean(y, 1)
return y, m""", [("Sliced", 0, (B, F)), ("Sliced", 1, (F, H)), ("Sliced", 0, (H,))], [1, None], gathered, [""]),
    "scalars": (f"""size B = {B}, H = {H}
Tensor x(fp32, [B, H], Replicated)
Tensor y(fp32, [H], Replicated)
e = Exp(-Slice(x)) + Sqrt(Abs(Slice(x)) + 1)
t = ReduceTensor("+", e)
z = AllGather(e) / Norm(e) * Log(y * y + 3) - y / (Pow(x, 2) + 1)
return z, t""", [("Replicated", None, (B, H)), ("Replicated", None, (H,))], [None, "local"], scalars, [""]),
    "experts": (f"""size T = {2 * ranks}, H = {H}, F = {F}
Tensor x(fp32, [T, H], Local)
Tensor w1(fp32, [H, F], Local)
Tensor w2(fp32, [F, H], Local)
y = AllToAll(MatMul(ReLU(MatMul(AllToAll(x), w1)), w2))
return y""", [("Local", None, (2 * ranks, H)), ("Local", None, (H, F)), ("Local", None, (F, H))], ["local"], experts, [""]),
    "dispatched": (f"""size T = 4, H = {H}, C = {ROWS}
Tensor x(fp32, [T, H], Local)
Tensor c(fp32, [{ranks}], Local)
y = AllToAllV(x, Cast(int32, Abs(c) * 2), C)
z = c * C
return y, z""", [("Local", None, (4, H)), ("Local", None, (ranks,))], ["local", "local"], dispatched, [""]),
    "local": (f"""size B = {B}, H = {H}
Tensor x(fp32, [B, H], Local)
Tensor y(fp32, [B, H], Local)
Tensor b(fp32, [H], Replicated)
z = x * y + b * (RANK + 1) / WORLD + Min(x, y) + LayerNorm(x, b, b, 0.1)
return z""", [("Local", None, (B, H)), ("Local", None, (B, H)), ("Replicated", None, (H,))], ["local"], local, [""]),
}


SIZES = {"tail": {"F": F}, "scattered": {"B": B, "F": F}, "gathered": {"B": B, "H": H}, "dispatched": {"C": ROWS}}  # what is cut in all tensors that have it


def everyones(kinds, generator):
    """Of each input, what the ranks have. A replicated one is one tensor, read by all."""
    result = []
    for kind, dim, shape in kinds:
        if kind == "Local":
            result.append([torch.randn(shape, generator=generator).requires_grad_() for _ in range(ranks)])
        elif kind == "Replicated":
            result.append([torch.randn(shape, generator=generator).requires_grad_()] * ranks)
        else:
            result.append([each.clone().requires_grad_() for each in cut(torch.randn(shape, generator=generator), dim)])
    return result


def called(operator, name, inputs, seed):
    made = operator(*inputs, seed)
    return made if isinstance(made, tuple) else (made,)


def checked(name, operator, kinds, laid, reference, seed=11):
    generator = torch.Generator().manual_seed(ranks)
    inputs = everyones(kinds, generator)
    want = reference(*inputs)
    cotangents = [[torch.randn(each.shape, generator=generator) for each in parts] for parts in want]
    loss = sum((parts[r] * weights[0 if layout is None else r]).sum() for parts, weights, layout in zip(want, cotangents, laid)
               for r in range(1 if layout is None else ranks))
    gradients_ = torch.autograd.grad(loss, [each for parts in inputs for each in dict.fromkeys(parts)])
    own, at = [], 0
    for parts in inputs:
        shared = len(dict.fromkeys(parts)) == 1 and ranks > 1
        own.append(gradients_[at + (0 if shared else rank)])
        at += 1 if shared else ranks
    mine = [parts[rank].detach().clone().to(place).requires_grad_() for parts in inputs]
    have = called(operator, name, mine, seed)
    assert len(have) == len(want)
    for result, parts in zip(have, want):
        assert result.shape == parts[rank].shape and torch.allclose(result.cpu(), parts[rank], rtol=1e-4, atol=1e-5), f"{name}: rank {rank} has another result"
    weights = [each[0 if layout is None else rank].to(place) for each, layout in zip(cotangents, laid)]
    got = torch.autograd.grad(sum((a * b).sum() for a, b in zip(have, weights)), mine)
    for k, (a, b) in enumerate(zip((each.cpu() for each in got), own)):
        assert a.shape == b.shape and torch.allclose(a, b, rtol=1e-4, atol=2e-5), f"{name}: rank {rank}, gradient {k}: {(a - b).abs().max()} apart"
    return mine


def traced(name, operator, inputs, laid):
    """What the current PyTorch asks of operators."""
    from torch._dynamo.utils import counters
    loose = dict(rtol=1e-4, atol=1e-5)
    told = torch.library.opcheck(operator, (*inputs, 11), **loose)
    assert set(told.values()) == {"SUCCESS"}, told
    torch._dynamo.reset()
    counters.clear()

    def model(*inputs):
        made = operator(*inputs, 11)
        return sum(each.sin().sum() for each in (made if isinstance(made, tuple) else (made,)))

    want = torch.autograd.grad(model(*inputs), inputs)
    for backend in ("aot_eager", "inductor") if name == "tail" else ("aot_eager",):
        torch._dynamo.reset()
        have = torch.autograd.grad(torch.compile(model, fullgraph=True, backend=backend)(*inputs), inputs)
        assert all(torch.allclose(a, b, **loose) for a, b in zip(have, want)), f"{name}: another gradient under torch.compile, {backend}"
    assert not counters["graph_break"], counters["graph_break"]

    class Module(torch.nn.Module):
        def forward(self, *inputs):
            return operator(*inputs, 11)

    exported = torch.export.export(Module(), tuple(inputs))
    assert any(node.target is operator.default for node in exported.graph.nodes), f"{name} is not in what was exported"
    with torch.no_grad():
        assert all(torch.equal(a, b) for a, b in zip(torch.utils._pytree.tree_leaves(exported.module()(*inputs)), called(operator, name, inputs, 11)))


def text_of(name):
    file = pathlib.Path(folder) / f"{name}_{ranks}.chorale"
    if rank == 0:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"workload {name}\n" + PROGRAMS[name][0] + "\n")
    dist.barrier()
    return file


count = 0
for name, (_, kinds, laid, reference, scripts) in PROGRAMS.items():
    for number, script in enumerate(scripts):
        loaded = workload.load(text_of(name), f"full:{ranks}", directory=folder, apply=script, sizes=SIZES.get(name), device=place)
        operator = loaded.register(f"{name}_{number}")
        inputs = checked(name, operator, kinds, laid, reference)
        checked(name, lambda *values: loaded(values[-1], **dict(zip((row["name"] for row in loaded.rows), values[:-1]))), kinds, laid, reference)
        if current:
            traced(name, operator, inputs, laid)
        count += 1

# What has no formula says so, where it is asked; what is changed in place is refused.
PROGRAMS["maxima"] = (f"size H = {H}\nTensor x(fp32, [H], Local)\nm = AllReduce(\"max\", x)\nreturn m", None, None, None, None)
maxima = workload.load(text_of("maxima"), f"full:{ranks}", directory=folder, device=place).register()
x = torch.randn(H, generator=torch.Generator().manual_seed(rank)).to(place).requires_grad_()
try:
    maxima(x).sum().backward()
    raise AssertionError("a maximum has a gradient")
except RuntimeError as error:
    assert "torch.ops.chorale.maxima has no gradient" in str(error) and "AllReduce of max" in str(error), error
PROGRAMS["step"] = (f"size H = {H}\nTensor g(fp32, [H], Local)\nTensor p(fp32, [H], Replicated)\nScalar lr(fp32)\n"
                    "p_ = Update(p, p - lr * AllReduce(\"+\", g))\nreturn p_", None, None, None, None)
step = workload.load(text_of("step"), f"full:{ranks}", directory=folder, device=place).register()
p, g = torch.ones(H, device=place), torch.full((H,), float(rank), device=place)
step(g, p, 0.5)
assert torch.equal(p.cpu(), torch.full((H,), 1 - 0.5 * ranks * (ranks - 1) / 2))
try:
    step(g, p.requires_grad_(), 0.5)
    raise AssertionError("a tensor that requires a gradient is changed in place")
except RuntimeError as error:
    assert "changes p in place" in str(error), error
if current:  # floats of 8 bits, saturated, are PyTorch's of what fits
    PROGRAMS["short"] = ("size N = 4\nTensor x(fp32, [N], Local)\na = Cast(e4m3, x)\nb = Cast(e5m2, x)\nc = Cast(fp32, a) + Cast(fp32, b)\nreturn a, b, c",
                         None, None, None, None)
    short = workload.load(text_of("short"), f"full:{ranks}", directory=folder, device=place).register()
    generator = torch.Generator().manual_seed(rank)
    codes = torch.arange(256, dtype=torch.uint8)
    known = torch.cat([codes.view(kind).float() for kind in (torch.float8_e4m3fn, torch.float8_e5m2)])
    known = known[known.isfinite()].sort()[0]
    x = torch.cat([known, (known[1:] + known[:-1]) / 2, torch.randn(20000, generator=generator) * 2.0 ** torch.randint(-20, 20, (20000,), generator=generator)])
    a, b, c = (each.cpu() for each in short(x.to(place), 0))
    for have, most, kind in ((a, 448, torch.float8_e4m3fn), (b, 57344, torch.float8_e5m2)):
        assert have.dtype == kind and torch.equal(have.view(torch.uint8), x.clamp(-most, most).to(kind).view(torch.uint8)), kind
    assert torch.equal(c, a.float() + b.float())
    p = torch.ones(H, device=place)
    assert set(torch.library.opcheck(step, (g, p, 0.5)).values()) == {"SUCCESS"}
    count += 1
    torch._dynamo.reset()
    torch.compile(lambda g, p: step(g, p, 0.5), fullgraph=True)(g, p)
if rank == 0:
    print(f"{count} operators on {ranks} ranks, tensors on {place}, PyTorch {torch.__version__}: results and gradients are those of all ranks in one process"
          f"{'; opcheck passes, torch.compile has no graph break, torch.export works' if current else ''}")
dist.barrier()
