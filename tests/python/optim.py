#!/usr/bin/env python3
"""Training with the fused optimizers against DistributedDataParallel (Adam) and a plain LAMB: the same
losses, and a rank has 1/p of the state. Then random training (groups, parameters without gradients,
clipping, states that are saved and loaded) against PyTorch's optimizers over gradients that are averaged
first. Started without a rank, it starts itself as this many processes.

Usage: optim.py CHORALE FOLDER [RANKS...] [--current]
"""
import contextlib
import copy
import datetime
import io
import logging
import os
import pathlib
import random
import sys
import time

from torch_ranks import started

chorale, folder = sys.argv[1], sys.argv[2]
os.environ["CHORALE"] = chorale
counts = [int(each) for each in sys.argv[3:] if each != "--current"] or [2, 3]
torch = started(counts)
import torch.distributed as dist  # noqa: E402

from chorale import agreement, fused as fused_optimizers, optim  # noqa: E402
from plain_lamb import PlainLAMB  # noqa: E402

rank, ranks = dist.get_rank(), dist.get_world_size()
least, most = ranks == min(counts), ranks == max(counts)  # a library takes its compiler seconds: not all of them for each


def model():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(7, 33), torch.nn.Tanh(), torch.nn.Linear(33, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))


def batches(count=30):
    """Each rank has its own part; what is to be learned is the same."""
    generator = torch.Generator().manual_seed(100 + rank)
    for _ in range(count):
        x = torch.randn(16, 7, generator=generator)
        yield x, x.pow(2).sum(1, keepdim=True).sin()


def losses(net, optimizer):
    result = []
    for x, y in batches():
        loss = torch.nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        result.append(loss.item())
    return torch.tensor(result)


def replicas(name, params):
    """The parameters, which are the same bits on all ranks."""
    flat = torch.cat([p.detach().reshape(-1) for p in params])
    everyone = [torch.empty_like(flat) for _ in range(ranks)]
    dist.all_gather(everyone, flat)
    assert all(torch.equal(flat.view(torch.int32), other.view(torch.int32)) for other in everyone), f"{name}: parameters differ between ranks"
    return flat


def compare(name, plain, fused, states=2):
    net = torch.nn.parallel.DistributedDataParallel(model()) if ranks > 1 else model()
    want = losses(net, plain(net.parameters()))
    net = model()
    optimizer = fused(net.parameters())
    have = losses(net, optimizer)
    worst = ((have - want).abs() / want.abs()).max().item()
    assert worst < 2e-5, f"{name}: rank {rank}: losses differ by {worst}"
    flat = replicas(name, net.parameters())
    state = sum(each.numel() for rows in optimizer.rows for row in rows for each in row.states.values())
    whole = states * flat.numel()
    most = whole // ranks + 2 * sum(len(rows) for rows in optimizer.rows)
    assert state <= most, f"{name}: {state} elements of state of {whole}"
    if rank == 0:
        print(f"{name}: {len(want)} steps on {ranks} ranks: losses {want[0]:.4f} to {want[-1]:.4f}, apart by at most {worst:.1e} of them; "
              f"rank 0 has {state} of {whole} elements of state")


compare("Adam", lambda p: torch.optim.Adam(p, lr=1e-2), lambda p: optim.FusedAdam(p, lr=1e-2, directory=folder))
if most:
    compare("Adam with weight decay", lambda p: torch.optim.Adam(p, lr=1e-2, eps=1e-6, weight_decay=0.1),
            lambda p: optim.FusedAdam(p, lr=1e-2, eps=1e-6, weight_decay=0.1, directory=folder))
    compare("AdamW", lambda p: torch.optim.AdamW(p, lr=1e-2), lambda p: optim.FusedAdamW(p, lr=1e-2, directory=folder))
    compare("SGD", lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, dampening=0.1, weight_decay=0.01),
            lambda p: optim.FusedSGD(p, lr=1e-2, momentum=0.9, dampening=0.1, weight_decay=0.01, directory=folder), states=1)
    compare("LAMB", lambda p: PlainLAMB(p, lr=1e-2, weight_decay=0.01), lambda p: optim.FusedLAMB(p, lr=1e-2, weight_decay=0.01, directory=folder))


def refused(kind, says, call, *values):
    try:
        call(*values)
    except kind as error:
        assert says in str(error), f"{says!r} is not said: {error}"
    else:
        raise AssertionError(f"is taken, where {says!r} was to be refused")


refused(ValueError, "float32, bfloat16 or float16", lambda: optim.FusedAdam([torch.zeros(3, dtype=torch.float64)], directory=folder))


def averaged(params):
    """Instead of DistributedDataParallel: what has a gradient on some rank has the average."""
    for p in params:
        has = torch.tensor(float(p.grad is not None))
        dist.all_reduce(has)
        if has > 0:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad.clone()
            dist.all_reduce(p.grad)
            p.grad /= ranks


SHAPES = [(5, 3), (7,), (1,), (4, 2, 3), (33,), (2,), ()]


def random_training(name, fused, plain, seed):
    """Ours and PyTorch's side by side. Whatever is drawn before a rank's own data is drawn alike on all
    ranks."""
    draw, own = random.Random(seed), torch.Generator().manual_seed(1000 * seed + rank)
    start = torch.Generator().manual_seed(seed)
    first = [torch.randn(shape, generator=start) for shape in SHAPES]
    ours, theirs = ([torch.nn.Parameter(each.clone()) for each in first] for _ in range(2))
    if rank > 0:
        with torch.no_grad():
            ours[0].add_(rank)  # parameters become those of the first rank

    def made(params, make, extra):
        optimizer = make([dict(params=params[:2], lr=0.03), dict(params=params[2:5], weight_decay=0.1)])
        if extra:
            optimizer.add_param_group(dict(params=params[5:], betas=(0.8, 0.99)))
        return optimizer

    late = draw.randrange(10)
    a, b = made(ours, fused, False), made(theirs, plain, False)
    copies = []  # parameters and optimizers that go on from a state that was saved
    worst, clipped, missing = 0.0, 0, 0
    for step in range(20):
        if step == late:
            for params, optimizer in [(ours, a), (theirs, b), *copies]:
                optimizer.add_param_group(dict(params=params[5:], betas=(0.8, 0.99)))
        if draw.random() < 0.3:
            for optimizer in (a, b, *(each for _, each in copies)):
                optimizer.param_groups[0]["lr"] *= 0.9
        none = [draw.random() < 0.2 for _ in SHAPES]                            # on no rank
        here = [draw.random() < 0.2 and draw.randrange(ranks) == rank or each for each in none]
        missing += sum(none)
        scales = [torch.randn(shape, generator=own) * 10 ** draw.uniform(-3, 2) for shape in SHAPES]
        limit, order, to_none = draw.choice([None, 0.5, 100.0]), draw.choice([2.0, 1.0, float("inf")]), draw.random() < 0.7
        for params, optimizer in [(ours, a), (theirs, b), *copies]:
            for p in params:
                p.grad = None
            optimizer.zero_grad(set_to_none=to_none)
            loss = sum((p * scale + p**2).sum() for p, scale, leave in zip(params, scales, here) if not leave)
            if torch.is_tensor(loss):
                loss.backward()
            live = params if step >= late else params[:5]
            if optimizer is b:
                averaged(live)
                if limit is not None:
                    want = torch.nn.utils.clip_grad_norm_(live, limit, order)
            elif limit is not None:
                have = optimizer.clip_grad_norm_(limit, order)
            optimizer.step()
            if optimizer is a:
                replicas(f"{name} {seed}, step {step}", params)
        if limit is not None:
            assert abs(have - want) <= 1e-5 * want + 1e-6, f"{name} {seed}: a norm of {have} for {want}"
            clipped += bool(want > limit)
        for p, q in zip(ours, theirs):
            worst = max(worst, ((p - q).abs() / (q.abs() + 0.1)).max().item())
        for params, optimizer in copies:
            assert all(torch.equal(p, q) for p, q in zip(ours, params)), f"{name} {seed}, step {step}: what was resumed goes elsewhere"
        if draw.random() < 0.15:
            params = [torch.nn.Parameter(p.detach().clone()) for p in ours]
            file = io.BytesIO()
            torch.save(a.state_dict(), file)
            file.seek(0)
            copies.append((params, made(params, fused, step >= late)))
            copies[-1][1].load_state_dict(torch.load(file))
        if draw.random() < 0.15:  # from PyTorch's state, and to it
            theirs_again, state = [torch.nn.Parameter(q.detach().clone()) for q in ours], a.state_dict()
            b = made(theirs_again, plain, step >= late)
            b.load_state_dict(state)
            theirs = theirs_again
            params = [torch.nn.Parameter(p.detach().clone()) for p in ours]
            again = made(params, fused, step >= late)
            again.load_state_dict(b.state_dict())
            assert all(torch.equal(torch.as_tensor(one), torch.as_tensor(other)) for k in state["state"] for one, other in
                       zip(state["state"][k].values(), again.state_dict()["state"][k].values())), "a state changes on its way"
    assert worst < 1e-4, f"{name} {seed}: parameters differ by {worst}"
    return worst, clipped, missing, len(copies)


for name, fused, plain in [*[("Adam", optim.FusedAdam, torch.optim.Adam), ("AdamW", optim.FusedAdamW, torch.optim.AdamW), ("LAMB", optim.FusedLAMB, PlainLAMB)] * most,
                          ("SGD", lambda p, lr, **o: optim.FusedSGD(p, lr=lr, momentum=0.9, nesterov=ranks == 2, **o),
                           lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9, nesterov=ranks == 2))]:
    worst, clipped, missing, resumed = random_training(name, lambda p: fused(p, lr=0.01, directory=folder), lambda p: plain(p, lr=0.01), 2 * ranks)
    assert clipped > 1 and missing > 15 and resumed > 0, (clipped, missing, resumed)
    if rank == 0:
        print(f"{name}: a random training of 20 steps on {ranks} ranks: parameters apart by at most {worst:.1e}, "
              f"{clipped} norms clipped, {missing} gradients missing, {resumed} resumed, bit by bit")

# Halves: masters of fp32. Against Adam on parameters of fp32 whose gradients are those of the halves, rounded
# after each step.
for kind in [torch.bfloat16] * most + [torch.float16] * least:
    generator = torch.Generator().manual_seed(7)
    ours = [torch.nn.Parameter(torch.randn(shape, generator=generator).to(kind)) for shape in SHAPES]
    masters = [torch.nn.Parameter(p.detach().float()) for p in ours]
    optimizer, plain_one = optim.FusedAdamW(ours, lr=0.01, directory=folder), torch.optim.AdamW(masters, lr=0.01)
    for step in range(8):
        generator = torch.Generator().manual_seed(50 * step + rank)
        for p, master in zip(ours, masters):
            gradient = (torch.randint(-8, 8, p.shape, generator=generator) / 8).to(kind)  # sums that no type rounds
            p.grad, master.grad = gradient.clone(), gradient.float()
            dist.all_reduce(master.grad)
            master.grad /= ranks
        optimizer.step()
        plain_one.step()
        if step == 4:
            state, copies = optimizer.state_dict(), [torch.nn.Parameter(p.detach().clone()) for p in ours]
            again = optim.FusedAdamW(copies, lr=0.01, directory=folder)
            again.load_state_dict(copy.deepcopy(state))
        elif step > 4:
            for p, q in zip(ours, copies):
                q.grad = p.grad.clone()
            again.step()
            assert all(torch.equal(p, q) for p, q in zip(ours, copies)), f"{kind}: what was resumed goes elsewhere"
    for row in (row for rows in optimizer.rows for row in rows):
        want = torch.cat([master.detach().reshape(-1) for master in masters])[optimizer.part(row.flat.numel())]
        assert torch.allclose(row.states["w"], want, rtol=1e-4, atol=1e-4), f"{kind}: masters differ by {(row.states['w'] - want).abs().max()}"
    assert all(torch.allclose(p.float(), master, rtol=2e-2, atol=1e-2) for p, master in zip(ours, masters))
    if rank == 0:
        print(f"AdamW of {kind}: masters are those of fp32, a resumed run has the same bits")

# Buckets are reduced during the backward pass, in one order on all ranks; several backward passes, without
# and within no_sync().
fused_optimizers.BUCKET = 100
net, twin = model(), model()
optimizer, plain_one = optim.FusedSGD(net.parameters(), lr=0.1, directory=folder), torch.optim.SGD(twin.parameters(), lr=0.1)
assert len(optimizer.order) > 3, "one bucket"
fused_optimizers.BUCKET = 25 << 20
for step, (x, y) in enumerate(batches(6)):
    halves = [slice(0, 8), slice(8, 16)] if step % 2 else [slice(0, 16)]
    optimizer.zero_grad()
    twin.zero_grad()
    for number, each in enumerate(halves):
        context = optimizer.no_sync() if step == 3 and number == 0 else contextlib.nullcontext()
        with context:
            torch.nn.functional.mse_loss(net(x[each]), y[each]).backward()
        torch.nn.functional.mse_loss(twin(x[each]), y[each]).backward()
        assert optimizer.next == (0 if step == 3 and number == 0 else len(optimizer.order)), "no bucket was reduced during the backward pass"
    averaged(list(twin.parameters()))
    plain_one.step()
    if step == 4:
        optimizer.zero_grad()  # a step that is left out
        continue_with = [p.detach().clone() for p in net.parameters()]
        with torch.no_grad():
            for p, q in zip(twin.parameters(), continue_with):
                p.copy_(q)
    else:
        want = torch.nn.utils.clip_grad_norm_(twin.parameters(), 1e9)
        assert abs(optimizer.clip_grad_norm_(1e9) - want) <= 1e-6 * want, "another norm"
        optimizer.step()
    assert all(torch.allclose(p, q, rtol=1e-5, atol=1e-6) for p, q in zip(net.parameters(), twin.parameters())), f"step {step}: other parameters"
replicas("buckets", net.parameters())

# GradScaler: the scale leaves the sums, too, and an overflow on one rank leaves the step out on all. Passes
# that only add, autocast and clipping beside it.
for fused, plain in [(optim.FusedSGD, torch.optim.SGD), (optim.FusedAdam, torch.optim.Adam)] if hasattr(torch.amp, "GradScaler") else []:
    for clips in (False, True):
        net, twin = model(), model()
        both = [(net, fused(net.parameters(), lr=0.01, directory=folder)), (twin, plain(twin.parameters(), lr=0.01))]
        scalers = [torch.amp.GradScaler("cpu", init_scale=1024.0) for _ in both]
        for step, (x, y) in enumerate(batches(5)):
            overflow = float("inf") if step == 2 and rank == ranks - 1 else 1.0
            for (each, optimizer), scaler in zip(both, scalers):
                optimizer.zero_grad()
                for half in (slice(0, 8), slice(8, 16)):
                    with optimizer.no_sync() if each is net and half.start == 0 else contextlib.nullcontext(), torch.autocast("cpu", enabled=step % 2 == 0):
                        loss = torch.nn.functional.mse_loss(each(x[half]), y[half]) * overflow
                    scaler.scale(loss).backward()
                if each is twin:
                    averaged(list(twin.parameters()))
                if clips:
                    scaler.unscale_(optimizer)
                    optimizer.clip_grad_norm_(0.1) if each is net else torch.nn.utils.clip_grad_norm_(twin.parameters(), 0.1)
                scaler.step(optimizer)
                scaler.update()
            assert scalers[0].get_scale() == scalers[1].get_scale() == (512.0 if step > 1 else 1024.0), "another scale"
            assert all(torch.allclose(p, q, rtol=1e-5, atol=1e-6) for p, q in zip(net.parameters(), twin.parameters())), f"{fused.__name__}, clips {clips}, step {step}: other parameters under a scale"
        replicas("scaled", net.parameters())

# A state of these ranks on another number of them; one has nothing to reduce.
fewer = dist.new_group(list(range(ranks - 1)))
params = [torch.nn.Parameter(torch.arange(7.0))]
optimizer = optim.FusedAdam(params, directory=folder)
for k in range(3):
    optimizer.zero_grad()
    (params[0] * (k + rank)).sum().backward()
    optimizer.step()
state = optimizer.state_dict()
if ranks == 2 and rank == 0:
    refused(ValueError, "one rank", lambda: optim.FusedAdam([torch.zeros(3)], directory=folder, process_group=fewer))
elif rank < ranks - 1:
    other = optim.FusedAdam([torch.nn.Parameter(params[0].detach().clone())], directory=folder, process_group=fewer)
    other.load_state_dict(state)
    again = other.state_dict()
    assert all(torch.equal(state["state"][0][key], again["state"][0][key]) for key in state["state"][0]), "a state is not that of another number of ranks"
dist.barrier()

# What is refused, on all ranks at once, also where one rank only is at fault.
for change, alone in [(lambda: torch.nn.utils.clip_grad_norm_(params, 0.1), False), (lambda: params[0].grad.mul_(2), True)]:
    optimizer.zero_grad()
    (params[0] * 2).sum().backward()
    if not alone or rank == 0:
        change()
    refused(RuntimeError, "another rank" if alone and rank > 0 else "clip_grad_norm_(max_norm)", optimizer.step)
optimizer.zero_grad()
(params[0] * 2).sum().backward()
assert optimizer.clip_grad_norm_(1e9) > 0 and optimizer.clip == 1
assert optimizer.clip_grad_norm_(1.0) > 1
refused(RuntimeError, "call step() or zero_grad() first", lambda: (params[0] * 2).sum().backward())
optimizer.zero_grad()
before = params[0].detach().clone()
params[0].grad = torch.ones(7) * rank  # given by hand
optimizer.step()
assert not torch.equal(before, params[0])
for damage, says in [(lambda s: s["param_groups"].append({}), "2 groups"), (lambda s: s["param_groups"][0].update(amsgrad=True), "amsgrad"),
                     (lambda s: s["param_groups"][0].update(program="lamb"), "is of lamb"), (lambda s: s["param_groups"][0].pop("betas"), "without betas"),
                     (lambda s: s["state"][0].update(exp_avg=torch.zeros(3)), "of its shape"), (lambda s: s["state"][0].pop("exp_avg_sq"), "exp_avg_sq"),
                     (lambda s: s["param_groups"][0].update(rows=[[0], [0]]), "rows of parameters")]:
    damaged = copy.deepcopy(state)
    damage(damaged)
    refused(ValueError, says, optimizer.load_state_dict, damaged)
refused(ValueError, "not negative", optimizer.add_param_group, dict(params=[torch.nn.Parameter(torch.zeros(2))], lr=-1.0))
assert len(optimizer.param_groups) == len(optimizer.rows) == 1
refused(ValueError, "same model", lambda: optim.FusedAdam([torch.zeros(3 + rank)], directory=folder))

# An operator of PyTorch: what it gives for the self-attention of examples/, against PyTorch's own sums, and
# shapes on "meta".
from chorale import workload  # noqa: E402

# On GPUs where PyTorch has them, and refused where it has not.
if not torch.cuda.is_available():
    try:
        workload.load("none.chorale", f"ring:{ranks}", device="cuda")
        raise AssertionError("a GPU is taken that is not there")
    except RuntimeError as error:
        assert str(error).startswith("device='cuda': this PyTorch ") and str(error).endswith("; take device='cpu'"), error

text = pathlib.Path(folder) / "tail.chorale"
if rank == 0:
    text.write_text("""workload tail
size B = 4
size H = 8
Tensor x(fp32, [B, H], Local)
Tensor b(fp32, [H], Replicated)
Tensor r(fp32, [B, H], Replicated)
Scalar scale(fp32)
sum = AllReduce("+", x)
y = (sum + b) * scale + r
return y
""")
dist.barrier()
how = dict(apply="split(sum, rs); reorder(sum; y); fuse(all; rs, s_y, y)")
tail = workload.load(text, f"ring:{ranks}", directory=folder, **how).register()
generator = torch.Generator().manual_seed(rank)
x, b, r = torch.randint(-8, 8, (5, 7), generator=generator).float(), torch.arange(7.0), torch.ones(5, 7)
total = x.clone()
dist.all_reduce(total)
y = torch.ops.chorale.tail(x, b, r.requires_grad_(), 0.5)
assert torch.equal(y, (total + b) * 0.5 + 1), "the operator gives something else"
y.sum().backward()
assert torch.equal(r.grad, torch.ones(5, 7)), "the gradient of a residual"
with torch.no_grad():
    assert not torch.ops.chorale.tail(x, b, r, 0.5).requires_grad
assert not torch.ops.chorale.tail(x, b, r.detach(), 0.5).requires_grad
shapes = torch.ops.chorale.tail(x.to("meta"), b.to("meta"), r.detach().to("meta"), 0.5)
assert shapes.shape == y.shape and shapes.device.type == "meta"
loaded = workload.load(text, f"ring:{ranks}", directory=folder, **how)
for wrong, says in [(lambda: tail(x, b[:3], r, 0.5), "side of 3"), (lambda: tail(x.double(), b, r, 0.5), "float64"),
                    (lambda: tail(x.t(), b, r, 0.5), "side of"), (lambda: loaded(x=x, b=b, r=5, scale=0.5), "r is 5, and a tensor in tail")]:
    refused((ValueError, TypeError), says, wrong)
updates = torch.zeros(3, requires_grad=True)
refused(RuntimeError, "adam changes p in place", lambda: optimizer.updater("fp32")(d=updates, p=updates, m=updates, v=updates))
if torch.cuda.is_available() and torch.cuda.device_count() >= ranks:
    torch.cuda.set_device(rank)
    workload.load(text, f"ring:{ranks}", directory=folder, device="cuda").register("tail_on_gpus")
    there = torch.ops.chorale.tail_on_gpus(x.cuda(), b.cuda(), r.detach().cuda(), 0.5)
    assert torch.equal(there.cpu(), y), "the operator gives something else on GPUs"
if rank == 0:
    print("torch.ops.chorale.tail: right, and refuses what is not")

# What the module has beside: the first rank's, or refused by name on all ranks where one would train it.
torch.manual_seed(rank)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
net[2].requires_grad_(rank == 0)
refused((ValueError, RuntimeError), "2.weight requires a gradient", lambda: optim.FusedAdam([*net[0].parameters(), *net[1].parameters()], directory=folder, module=net))
net[2].requires_grad_(False)
optimizer = optim.FusedAdam([p for p in net.parameters() if p.requires_grad], directory=folder, module=net)
for _ in range(2):
    net(torch.randn(6, 3) + rank).sum().backward()
    optimizer.step()
assert not torch.equal(net[1].running_mean, torch.zeros(4))
net[1].momentum = 0.0  # a pass that takes the first rank's, and adds nothing of its own
net(torch.randn(6, 3) + rank)
replicas("a module's rest", [*net.parameters(), net[1].running_mean])

# A rank that is late is named on all, and one that leaves out a step ends it on all.
params = [torch.nn.Parameter(torch.arange(7.0))]
optimizer, store, told = optim.FusedAdam(params, directory=folder), dist.distributed_c10d._get_default_store(), io.StringIO()
logging.getLogger("chorale").addHandler(logging.StreamHandler(told))
agreement.PATIENCE = 0.5
missed = f"in step() of adam for rank {ranks - 1}"
for late in (True, False):
    optimizer.zero_grad()
    (params[0] * 2).sum().backward()
    if late and rank == ranks - 1:
        end = time.monotonic() + 60
        while time.monotonic() < end and not (missed in told.getvalue() and agreement._is_there(store, "missed")):
            time.sleep(0.05)
        assert time.monotonic() < end, "the first rank does not know who is late"
    if late and rank == 0:
        class Missed(logging.Handler):
            def emit(self, record):
                if missed in record.getMessage():
                    agreement._publish(store, "missed", "yes")
        logging.getLogger("chorale").addHandler(Missed())
    if late:
        optimizer.step()
        assert missed in told.getvalue() or 0 < rank < ranks - 1, f"a rank that is late is not named: {told.getvalue()}"
    elif rank == ranks - 1:
        optimizer.zero_grad()
        (params[0] * 2).sum().backward()
refused(RuntimeError, "a rank has left out a step", optimizer.step)

# The last: gloo closes a group on which a rank was waited for in vain.
fused_optimizers.PATIENCE = datetime.timedelta(seconds=1)
if rank == 0:
    refused(RuntimeError, "all ranks call it", optimizer.state_dict)
else:
    time.sleep(3)
