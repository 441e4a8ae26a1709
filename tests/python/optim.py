#!/usr/bin/env python3
"""Training with the fused optimizers against DistributedDataParallel (Adam) and a plain LAMB: the same losses, and a rank has
1/p of the state. Started without a rank, it starts itself as so many processes.

Usage: optim.py CHORALE FOLDER [RANKS]
"""
import os
import pathlib
import socket
import subprocess
import sys

chorale, folder = sys.argv[1], sys.argv[2]
ranks = int(sys.argv[3]) if len(sys.argv) > 3 else 3
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))
try:
    import torch
    import torch.distributed as dist
except ImportError:
    print("left out: there is no PyTorch (Debian: python3-torch)")
    sys.exit(77)

if "RANK" not in os.environ:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = [subprocess.Popen([sys.executable, *sys.argv],
                                  env={**os.environ, "RANK": str(n), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
                                       "MASTER_PORT": str(port), "CHORALE": chorale, "OMP_NUM_THREADS": "1"}) for n in range(ranks)]
    codes = [process.wait(timeout=280) for process in processes]
    sys.exit(max(abs(code) for code in codes))

from chorale import optim  # noqa: E402
from plain_lamb import PlainLAMB  # noqa: E402

dist.init_process_group("gloo")
rank = dist.get_rank()


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


def compare(name, plain, fused):
    net = torch.nn.parallel.DistributedDataParallel(model()) if ranks > 1 else model()
    want = losses(net, plain(net.parameters()))
    net = model()
    optimizer = fused(net.parameters())
    have = losses(net, optimizer)
    worst = ((have - want).abs() / want.abs()).max().item()
    assert worst < 2e-5, f"{name}: rank {rank}: losses differ by {worst}"
    flat = torch.cat([p.detach().reshape(-1) for p in net.parameters()])
    everyone = [torch.empty_like(flat) for _ in range(ranks)]
    dist.all_gather(everyone, flat)
    assert all(torch.equal(flat, other) for other in everyone), f"{name}: parameters differ between ranks"
    state = sum(row["m"].numel() + row["v"].numel() for rows in optimizer.lists for row in rows)
    whole = 2 * flat.numel()
    most = whole // ranks + 2 * sum(len(rows) for rows in optimizer.lists)
    assert state <= most, f"{name}: {state} elements of state of {whole}"
    if rank == 0:
        print(f"{name}: {len(want)} steps on {ranks} ranks: losses {want[0]:.4f} to {want[-1]:.4f}, apart by at most {worst:.1e} of them; "
              f"rank 0 has {state} of {whole} elements of state")


compare("Adam", lambda p: torch.optim.Adam(p, lr=1e-2), lambda p: optim.FusedAdam(p, lr=1e-2, directory=folder))
compare("Adam with weight decay", lambda p: torch.optim.Adam(p, lr=1e-2, eps=1e-6, weight_decay=0.1),
        lambda p: optim.FusedAdam(p, lr=1e-2, eps=1e-6, weight_decay=0.1, directory=folder))
compare("LAMB", lambda p: PlainLAMB(p, lr=1e-2, weight_decay=0.01), lambda p: optim.FusedLAMB(p, lr=1e-2, weight_decay=0.01, directory=folder))
try:
    optim.FusedAdam([torch.zeros(3, dtype=torch.float64)], directory=folder)
    raise AssertionError("parameters of another type are taken")
except ValueError as error:
    assert "float32" in str(error)

# An operator of PyTorch: what it gives for the self-attention of examples/, against PyTorch's own sums, and its fake form.
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
tail = workload.load(text, f"ring:{ranks}", directory=folder, apply="split(sum, rs); reorder(sum; y); fuse(all; rs, s_y, y)").register()
generator = torch.Generator().manual_seed(rank)
x, b, r = torch.randint(-8, 8, (5, 7), generator=generator).float(), torch.arange(7.0), torch.ones(5, 7)
total = x.clone()
dist.all_reduce(total)
y = torch.ops.chorale.tail(x, b, r.requires_grad_(), 0.5)
assert torch.equal(y, (total + b) * 0.5 + 1) and not y.requires_grad, "the operator gives something else"
fake = torch.ops.chorale.tail(x.to("meta"), b.to("meta"), r.detach().to("meta"), 0.5)
assert fake.shape == y.shape and fake.device.type == "meta"
for wrong, says in [(lambda: tail(x, b[:3], r, 0.5), "side of 3"), (lambda: tail(x.double(), b, r, 0.5), "float64"),
                    (lambda: tail(x.t(), b, r, 0.5), "contiguous")]:
    try:
        wrong()
        raise AssertionError(f"is taken, where {says} was to be refused")
    except (ValueError, TypeError) as error:
        assert says in str(error), error
if torch.cuda.is_available() and torch.cuda.device_count() >= ranks:
    torch.cuda.set_device(rank)
    workload.load(text, f"ring:{ranks}", directory=folder, device="cuda").register("tail_on_gpus")
    there = torch.ops.chorale.tail_on_gpus(x.cuda(), b.cuda(), r.detach().cuda(), 0.5)
    assert torch.equal(there.cpu(), y), "the operator gives something else on GPUs"
if rank == 0:
    print("torch.ops.chorale.tail: right, and refuses what is not")
