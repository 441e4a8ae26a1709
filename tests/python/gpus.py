#!/usr/bin/env python3
"""Tensor programs on GPUs against PyTorch there: in three types, in place, beside other streams, in CUDA graphs,
and over NCCL; and what of the package leaves tensors on GPUs to PyTorch, or refuses them. Several ranks share a
GPU where there are fewer, which NCCL 2.30 and later allow with NCCL_MULTI_RANK_GPU_ENABLE=1.

Usage: gpus.py CHORALE FOLDER [--current] [--ranks N] [--rehearse] [ITEM...]
Without an item all that are for that many ranks, without a number 1 and 2 ranks. --rehearse: on the CPU, what
can be done there.
"""
import io
import logging
import os
import pathlib
import statistics
import sys

from torch_ranks import started

arguments = sys.argv[1:]
os.environ["CHORALE"], folder = arguments[0], arguments[1]
counts = [int(arguments[arguments.index("--ranks") + 1])] if "--ranks" in arguments else [1, 2]
wanted = [each for each in arguments[2:] if not each.startswith("--") and not each.isdigit()]
place = "cpu" if "--rehearse" in arguments else "cuda"  # what can be done without a GPU
torch = started(counts, gpus=place == "cuda")

import torch.distributed as dist  # noqa: E402

from chorale import updates, workload  # noqa: E402
from chorale.exchanges import part  # noqa: E402
from chorale.logs import log  # noqa: E402
from plain_lamb import PlainLAMB  # noqa: E402

rank, ranks = dist.get_rank(), dist.get_world_size()
TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
ITEMS = {}


def item(least, most=1 << 30):
    """For at least and at most that many ranks."""
    def named(function):
        ITEMS[function.__name__] = (least, most, function)
        return function

    return named


def refused(kind, says, call):
    try:
        call()
    except kind as error:
        assert says in str(error), f"{says!r} is not said: {error}"
    else:
        raise AssertionError(f"is taken, where {says!r} was to be refused")


def loaded(text, script="", **options):
    file = pathlib.Path(folder) / f"{text.split()[1]}_{os.getpid()}.chorale"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    try:
        return workload.load(file, f"full:{max(2, ranks)}", apply=script, directory=folder, **{"device": place, **options})
    finally:
        file.unlink()


def own(seed=0):
    return torch.Generator().manual_seed(1000 * seed + rank)


def everyones(seed=0):
    return torch.Generator().manual_seed(1000 * seed + 777)


def whole_numbers(shape, kind, generator):
    """-1, 0 and 1: no sum of them is rounded."""
    return torch.randint(-1, 2, shape, generator=generator).to(kind).to(place)


def random(shape, generator):
    return torch.randn(shape, generator=generator).to(place)


def summed(x):
    x = x.clone()
    dist.all_reduce(x)
    return x


def apart(a, b):
    return (a.float() - b.float()).abs().max().item()


POINTWISE = """workload pointwise
size N = 1024, H = 64
Tensor x({kind}, [N, H], Replicated)
Tensor b({kind}, [H], Replicated)
Tensor s(fp32, [N, H], Replicated)
Scalar f(fp32)
y = Tanh(x * f + b) + Select(x > 0, x, b)
z = Cast({kind}, RMSNorm(Cast(fp32, x), Cast(fp32, b), 1e-5))
s_ = Update(s, 0.5 * s + Cast(fp32, x))
t = ReduceTensor("+", s_)
return y, z, s_, t
"""
PRODUCT = """workload product
size M = 64, K = 64, N = 64
Tensor a({kind}, [M, K], Replicated)
Tensor b({kind}, [K, N], Replicated)
c = MatMul(a, b)
return c
"""
TAIL = """workload tail
size B = 64, H = 64, F = 64
Tensor x({kind}, [B, F], Local)
Tensor w({kind}, [F, H], Local)
Tensor b({kind}, [H], Replicated)
Tensor r({kind}, [B, H], Replicated)
Scalar scale(fp32)
layer = MatMul(x, w)
sum = AllReduce("+", layer)
y = Cast({kind}, Cast(fp32, sum + b) * scale) + r
return y
"""
SCRIPTS = ["", "split(sum, rs); reorder(sum; y); fuse(all; rs, s_y, y)",
           "split(sum, rs); reorder(sum; y); fuse(all; rs, s_y, y); overlap(o; layer, all)"]
# One rank has nothing to send: what is left of Adam is a loop.
ALONE = """workload alone
size N = 1024
Tensor g({kind}, [N], Replicated)
Tensor p({kind}, [N], Replicated)
Tensor m(fp32, [N], Replicated)
Tensor v(fp32, [N], Replicated)
Scalar lr(fp32)
Scalar correction1(fp32)
Scalar correction2(fp32)
c = Cast(fp32, g)
m_ = Update(m, 0.9 * m + 0.1 * c)
v_ = Update(v, 0.999 * v + 0.001 * c * c)
p_ = Update(p, Cast({kind}, Cast(fp32, p) - lr / correction1 * (m_ / (Sqrt(v_) / correction2 + 1e-8))))
return p_
"""
ALONE_SCRIPT = "fuse(update; c, m_, v_, p_)"


def corrections(step):
    return dict(correction1=1 - 0.9**step, correction2=(1 - 0.999**step)**0.5)


@item(1, 1)
def alone():
    """Programs that send nothing, of one rank."""
    worst = {}
    for name, kind in TYPES.items():
        program = loaded(POINTWISE.format(kind=name))
        x, b, s = random((1000, 33), own()).to(kind), random((33,), own(1)).to(kind), random((1000, 33), own(2))
        before, f = s.clone(), 0.3
        for _ in range(2):
            y, z, s_, t = program(x=x, b=b, s=s, f=f)
            want_s = 0.5 * before + x.float()
            want_y = (torch.tanh(x.float() * f + b.float()) + torch.where(x > 0, x, b).float()).to(kind)
            want_z = (x.float() * torch.rsqrt(x.float().pow(2).mean(1, keepdim=True) + 1e-5) * b.float()).to(kind)
            assert s_.data_ptr() == s.data_ptr() and torch.allclose(s, want_s, rtol=1e-6, atol=1e-6), apart(s, want_s)
            worst[name] = max(worst.get(name, 0), apart(y, want_y), apart(z, want_z))
            loose = dict(rtol=1e-5, atol=1e-5) if name == "fp32" else dict(rtol=2e-2, atol=2e-2)
            assert torch.allclose(y, want_y, **loose) and torch.allclose(z, want_z, **loose), f"{name}: {worst[name]} apart"
            assert abs(t.item() - want_s.double().sum().item()) < 1e-3 * want_s.abs().sum().item()
            before = s.clone()
        product = loaded(PRODUCT.format(kind=name))
        a, b = whole_numbers((77, 100), kind, own()), whole_numbers((100, 55), kind, own(1))
        assert torch.equal(product(a=a, b=b), a @ b), f"{name}: another product"
    return ", ".join(f"{name} apart by at most {value:.1e}" for name, value in worst.items()) + "; products are the same"


@item(1, 1)
def streams():
    """What is in the caller's stream before is done before, and what is there next afterwards."""
    program = loaded(ALONE.format(kind="fp32"), ALONE_SCRIPT)
    count = (1 << 22) + 3
    side = [torch.cuda.Stream() for _ in range(3)] if place == "cuda" else [None] * 3
    for number in range(12):
        with torch.cuda.stream(side[number % 3]):
            x = torch.ones(count, device=place)
            for _ in range(20):
                x = x * 1.0
            p, m, v = torch.zeros(count, device=place), torch.zeros(count, device=place), torch.zeros(count, device=place)
            program(g=x * (number + 1), p=p, m=m, v=v, lr=1.0, correction1=1.0, correction2=1.0)
            have = m / (number + 1) * 10
            assert torch.allclose(have, torch.ones_like(have)), f"run {number}: {apart(have, torch.ones_like(have))} apart"
    return "12 runs on 3 streams"


@item(1, 1)
def refusals():
    program = loaded(PRODUCT.format(kind="fp32"))
    a, b = torch.ones(4, 4), torch.ones(4, 4)
    if place == "cuda":
        refused(ValueError, "a is on cpu, and product on cuda:0", lambda: program(a=a, b=b))
        refused(NotImplementedError, "CPU", lambda: program.register("product_refused")(a, b))
    assert program.zeros(3, torch.float32).device.type == program.empty(3, torch.float32).device.type == place
    a, b = a.to(place), b.to(place)
    refused(TypeError, "a is torch.float64", lambda: program(a=a.double(), b=b))
    refused(ValueError, "a side of 5", lambda: program(a=a, b=torch.ones(5, 4, device=place)))
    refused(ValueError, "device is 'cpu' or 'cuda'", lambda: loaded(PRODUCT.format(kind="fp32"), device="cuda:0"))
    assert torch.equal(program(a=a.t(), b=b), a.t() @ b)
    alone = loaded(ALONE.format(kind="fp32"), ALONE_SCRIPT)
    wide = torch.zeros(8, 2, device=place)[:, 0]
    refused(ValueError, "not contiguous", lambda: alone(g=wide, p=wide, m=wide, v=wide, lr=1.0, **corrections(1)))
    return "each in one line"


def replayed(call, inputs, results):
    """What a captured call gives after its inputs have changed, and what the call gives then; `results` are
    those of inputs that it changes."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = call()
    generator = own(9)
    start = [random(each.shape, generator).abs().to(each.dtype) for each in inputs]
    found = []
    for run in (graph.replay, call):
        for each, value in zip(inputs, start):
            each.copy_(value)
        for _ in range(2):
            again = run()
        again = made if run == graph.replay else again
        found.append([each.clone() for each in [*results, *(again if isinstance(again, tuple) else (again,))]])
    return found


@item(1, 1)
def graph_alone():
    program = loaded(ALONE.format(kind="fp32"), ALONE_SCRIPT)
    g, p, m, v = (random((5003,), own(k)).abs() for k in range(4))

    def call():
        return program(g=g, p=p, m=m, v=v, lr=0.1, **corrections(3))

    if place == "cpu":
        call()
        return "not on the CPU"
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            refused(RuntimeError, "call it once before the graph is captured", call)
            p.add_(1)  # a graph is not empty
    finally:
        torch.cuda.synchronize()
    call()
    replays, calls = replayed(call, (g, p, m, v), (p, m, v))
    assert all(torch.equal(a, b) for a, b in zip(replays, calls)), "a replay gives something else"
    return "a replay has the bits of a call"


def median_ms(call, count=20, warm=5):
    for _ in range(warm):
        call()
    times = []
    for _ in range(count):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


@item(1, 1)
def speed():
    """Adam of 2^26 parameters, and products, beside PyTorch's."""
    if place == "cpu":
        count, side = 1 << 12, 64
    else:
        count, side = 1 << 26, 4096
    program = loaded(ALONE.format(kind="fp32"), ALONE_SCRIPT)
    g = random((count,), own())
    p = random((count,), own(1))
    q = torch.nn.Parameter(p.clone())
    q.grad = g.clone()
    theirs = torch.optim.Adam([q], lr=1e-3, fused=True)
    m, v, steps = torch.zeros_like(p), torch.zeros_like(p), [0]

    def ours():
        steps[0] += 1
        program(g=g, p=p, m=m, v=v, lr=1e-3, **corrections(steps[0]))

    for _ in range(3):
        ours()
        theirs.step()
    worst = ((p - q.detach()).abs() / (q.detach().abs() + 0.1)).max().item()
    assert worst < 1e-5, f"parameters are {worst} apart after 3 steps"
    told = [f"parameters after 3 steps apart by at most {worst:.1e}"]
    if place == "cuda":
        rounds = [(median_ms(ours), median_ms(theirs.step)) for _ in range(3)]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            ours()
        told += [f"Adam of 2^26 parameters, median of 20, three times in turn: {a:.3f} ms ({28 * count / a / 1e9:.2f} TB/s), "
                 f"PyTorch's fused one {b:.3f} ms" for a, b in rounds]
        told.append(f"in a graph {median_ms(graph.replay):.3f} ms")
        small = 1 << 12
        few = [each[:small].clone() for each in (g, p, m, v)]
        few_q = torch.nn.Parameter(p[:small].clone())
        few_q.grad = g[:small].clone()
        few_theirs = torch.optim.Adam([few_q], lr=1e-3, fused=True)
        a = median_ms(lambda: program(**dict(zip("gpmv", few)), lr=1e-3, **corrections(3)))
        told.append(f"of 2^12 parameters {1e3 * a:.0f} us a call, PyTorch's {1e3 * median_ms(few_theirs.step):.0f} us")
    for name in ("fp32", "bf16"):
        a, b = (random((side, side), own(k)).to(TYPES[name]) for k in range(2))
        for how in ("built-in", "cuBLAS"):
            product = loaded(PRODUCT.format(kind=name), **({"compiler": CUBLAS} if place == "cuda" and how == "cuBLAS" else {}))
            c = product(a=a, b=b)
            want = a @ b
            assert apart(c, want) < (1e-2 if name == "fp32" else 4) * side**0.5 / 64, f"{name}, {how}: {apart(c, want)} apart"
            if place == "cuda":
                told.append(f"product of {side}, {name}, {how}: {median_ms(lambda: product(a=a, b=b), 5, 1):.3f} ms")
        if place == "cuda":
            told.append(f"PyTorch's {median_ms(lambda: a @ b):.3f} ms")
    return "\n    ".join(told)


CUBLAS = "nvcc -DCHORALE_CUBLAS -lcublas"


@item(2)
def products():
    """A product, AllReduce, and what follows, in three types and by three schedules."""
    for name, kind in TYPES.items():
        for script in SCRIPTS if name != "bf16" else SCRIPTS[:2]:
            program = loaded(TAIL.format(kind=name), script)
            for rows, inner, columns in ((24, 16, 40), (7, 5, 3)):
                x, w = whole_numbers((rows, inner), kind, own()), whole_numbers((inner, columns), kind, own(1))
                b, r = whole_numbers((columns,), kind, everyones()), whole_numbers((rows, columns), kind, everyones(1))
                want = ((summed(x @ w) + b).float() * 0.5).to(kind) + r
                have = program(x=x, w=w, b=b, r=r, scale=0.5)
                assert have.device.type == place and torch.equal(have, want), f"{name}, {script!r}: {apart(have, want)} apart"
    program = loaded(TAIL.format(kind="fp32"), SCRIPTS[1])
    x, w, b, r = random((64, 32), own()), random((32, 48), own(1)), random((48,), everyones()), random((64, 48), everyones(1))
    have, want = program(x=x, w=w, b=b, r=r, scale=0.5), (summed(x @ w) + b) * 0.5 + r
    assert torch.allclose(have, want, rtol=1e-4, atol=1e-4), apart(have, want)
    return f"8 programs, {len(TYPES)} types: PyTorch's bits where nothing is rounded"


def stepped(rule, kind, make, steps=3, count=5003, **scalars):
    """The programs of the optimizers against an optimizer of PyTorch over averaged gradients in fp32."""
    reduce, update = loaded(*updates.reduction(kind)), loaded(*updates.update(rule, kind))
    begin, length = part(count, ranks, rank)
    mine = slice(begin, begin + length)
    p = random((count,), everyones()).to(TYPES[kind])
    master = torch.nn.Parameter(p.float().clone())
    optimizer = make([master])
    states = {name: torch.zeros(length, device=place) for name in updates.RULES[rule][0].split()}
    if kind != "fp32":
        states["w"] = p[mine].float()
    for step in range(1, steps + 1):
        g = (torch.randint(-8, 9, (count,), generator=own(step)) / 8).to(place).to(TYPES[kind])
        master.grad = summed(g.float()) / ranks
        optimizer.step()
        d = reduce(g=g)
        update(d=d, p=p, **states, clip=1 / ranks, lr=0.01, beta1=0.9, beta2=0.999, rest1=1 - 0.9, rest2=1 - 0.999, eps=1e-8,
               decay=0.01, **corrections(step))
        have = states["w"] if kind != "fp32" else p[mine]
        assert torch.allclose(have, master.detach()[mine], rtol=1e-4, atol=1e-5), f"{rule}, {kind}, step {step}: {apart(have, master.detach()[mine])} apart"
        assert torch.equal(p, p if kind == "fp32" else summed(torch.zeros_like(p.float()).index_copy(
            0, torch.arange(begin, begin + length, device=place), states["w"].to(TYPES[kind]).float())).to(TYPES[kind]))
    everyone = [torch.empty_like(p) for _ in range(ranks)]
    dist.all_gather(everyone, p)
    assert all(torch.equal(each, p) for each in everyone), f"{rule}, {kind}: parameters differ between ranks"


@item(2)
def adam():
    for kind in TYPES:
        stepped("adamw", kind, lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.01))
    return "AdamW of fp32, fp16 and bf16, 3 steps, is PyTorch's"


@item(2)
def lamb():
    stepped("lamb", "fp32", lambda p: PlainLAMB(p, lr=0.01, weight_decay=0.01))
    return "3 steps are those of its paper"


EXAMPLE = "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); fuse(update; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)"


@item(2)
def graph():
    """A step of Adam, and a product with what follows, over NCCL in graphs."""
    step = loaded((pathlib.Path(__file__).parents[2] / "examples/adam.chorale").read_text().replace("ranks 4\n", ""),
                  EXAMPLE.replace("; fuse", "; asSlice(m); asSlice(v); fuse"))
    count = 5003
    length = part(count, ranks, rank)[1]
    g, p = random((count,), own()), random((count,), everyones())
    m, v = torch.zeros(length, device=place), torch.zeros(length, device=place)
    q = torch.nn.Parameter(p.clone())
    optimizer = torch.optim.Adam([q], lr=0.1)
    for t in range(1, 4):
        q.grad = summed(g) / ranks
        optimizer.step()
        step(g=g, p=p, m=m, v=v, lr=0.1, t=float(t))
    assert torch.allclose(p, q.detach(), rtol=1e-4, atol=1e-4), apart(p, q.detach())
    tail = loaded(TAIL.format(kind="fp32"), SCRIPTS[2])
    x, w, b, r = random((64, 32), own()), random((32, 48), own(1)), random((48,), everyones()), random((64, 48), everyones(1))
    tail(x=x, w=w, b=b, r=r, scale=0.5)
    if place == "cpu":
        return "not on the CPU"
    replays, calls = replayed(lambda: step(g=g, p=p, m=m, v=v, lr=0.1, t=4.0), (g, m, v), (m, v))
    assert all(torch.equal(a, b) for a, b in zip(replays[:2], calls[:2])), "a replay of Adam gives something else"
    replays, calls = replayed(lambda: tail(x=x, w=w, b=b, r=r, scale=0.5), (x, w), ())
    assert all(torch.equal(a, b) for a, b in zip(replays, calls)), "a replay of a product gives something else"
    return "3 steps are PyTorch's; replays of Adam, and of a product beside an AllReduce, have the bits of calls"


@item(2)
def optimizers():
    """Those of chorale.optim are for the CPU, and take states of GPUs."""
    from chorale import optim
    if place == "cuda":
        refused(ValueError, "on the CPU, and one of [3] is torch.float32 on cuda:", lambda: optim.FusedAdamW([torch.zeros(3, device=place)], directory=folder))
    start = torch.randn(7, generator=everyones())
    q, p = torch.nn.Parameter(start.to(place)), torch.nn.Parameter(start.clone())
    theirs, ours = torch.optim.AdamW([q], lr=0.01), optim.FusedAdamW([p], lr=0.01, directory=folder)
    for step in range(4):
        gradient = torch.randn(7, generator=own(step))
        q.grad, p.grad = summed(gradient.to(place)) / ranks, gradient.clone()
        if step == 2:
            ours.load_state_dict(theirs.state_dict())
        theirs.step()
        ours.step()
    assert torch.allclose(p, q.detach().cpu(), rtol=1e-5, atol=1e-6), apart(p, q.detach().cpu())
    if place == "cuda":
        over_nccl = dist.new_group(backend="nccl")
        refused(ValueError, "moves no tensors of the CPU", lambda: workload.load("none.chorale", "full:2", over_nccl))
    return "parameters on a GPU are refused; a state from there goes on, on the CPU"


@item(2)
def compiled():
    """torch.compile leaves collectives of tensors on GPUs alone, and says so."""
    import torch.distributed._functional_collectives as collectives
    from chorale import compiler  # noqa: F401
    told = io.StringIO()
    handler = logging.StreamHandler(told)
    log.addHandler(handler)
    weight, bias = random((32, 48), own()), random((48,), everyones())

    def model(x):
        return torch.relu(collectives.all_reduce(x @ weight, "sum", dist.group.WORLD) + bias)

    x = random((64, 32), own(1))
    torch._dynamo.reset()
    have = torch.compile(model, backend="chorale", options={"inner": "eager", "replicated": ["bias"], "directory": folder})(x)
    log.removeHandler(handler)
    assert torch.allclose(have, model(x), rtol=1e-4, atol=1e-4)
    if rank == 0 and place == "cuda":
        assert "left alone: its tensors are on no CPU" in told.getvalue(), told.getvalue()
    return "left alone, with the reason"


@item(2)
def sharded():
    """FSDP2's collectives of tensors on GPUs are left to PyTorch, with the reason."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    from chorale import fsdp
    told = io.StringIO()
    handler = logging.StreamHandler(told)
    log.addHandler(handler)
    mesh = init_device_mesh(place, (ranks,))

    def trained(fuses):
        torch.manual_seed(5)
        model = fully_shard(torch.nn.Sequential(torch.nn.Linear(16, 24), torch.nn.ReLU(), torch.nn.Linear(24, 16)).to(place), mesh=mesh)
        assert not fuses or fsdp.fuse(model, directory=folder) == 1
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            loss = model(random((8, 16), own(step))).square().mean()
            loss.backward()
            optimizer.step()
        return loss.item()

    have, want = trained(True), trained(False)
    log.removeHandler(handler)
    assert abs(have - want) <= 1e-5 * abs(want), (have, want)
    if rank == 0 and place == "cuda":
        assert "left to PyTorch: tensors are torch.float32 on cuda" in told.getvalue(), told.getvalue()
    return "left to PyTorch, with the reason; the same loss"


def main():
    for name, (least, most, function) in ITEMS.items():
        if name in wanted or not wanted and least <= ranks <= most:
            said = function()
            if rank == 0:
                print(f"{name}, {ranks} ranks, PyTorch {torch.__version__}: {said}", flush=True)
            dist.barrier()
    if place == "cuda":
        torch.cuda.synchronize()
    dist.destroy_process_group()


main()
