#!/usr/bin/env python3
"""Time of chorale.optim.FusedAdam against PyTorch's own: an optimizer's step by itself, against an AllReduce
and Adam(fused=True), and the whole step of a perceptron, against DistributedDataParallel and
Adam(fused=True), and against FSDP2, also with chorale.fsdp. All in the same processes, interleaved, medians;
ratios, since machines are shared, of elapsed time and of the processor time of all ranks, which other
processes disturb less. Needs the current PyTorch (benchmarks/torch_env.sh). CHORALE_SHM_DISABLE=1: messages
go over gloo.

Usage: CHORALE_TORCH_PYTHON=FOLDER/bin/python optimizers.py CHORALE [--elements 4194304] [--widths 1024,3200] [--rounds 9] [--fsdp 0] [--ranks 2]
"""
import os
import statistics
import subprocess
import time

from ranks import asked

arguments, torch = asked(__doc__, limit=1200, elements=1 << 22, widths=[1024, 3200], rounds=9, fsdp=1)  # 3M and 31M parameters
import torch.distributed as dist  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402

from chorale import fsdp, optim  # noqa: E402

rank, ranks = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (ranks,))


def interleaved(name, runs, rounds):
    """Prints median seconds of each, as the slowest rank has them, and the ratios to those of the first: of each
    round, and, of all rounds and ranks, of processor time."""
    names, times, used = list(runs), [[] for _ in runs], torch.zeros(len(runs), dtype=torch.float64)
    for number in range(rounds + 2):
        for k in range(len(runs)):
            which = (k + number) % len(runs)
            dist.barrier()
            begin, before = time.perf_counter(), time.process_time()
            runs[names[which]]()
            took, after = torch.tensor(time.perf_counter() - begin), time.process_time()
            dist.all_reduce(took, dist.ReduceOp.MAX)
            if number > 1:
                times[which].append(took.item())
                used[which] += after - before
    dist.all_reduce(used)
    if rank == 0:
        print(f"{name}: {names[0]} {1e3 * statistics.median(times[0]):.1f} ms, of a processor {1e3 * used[0] / ranks / rounds:.1f} ms")
        for k in range(1, len(runs)):
            ratios = sorted(b / a for a, b in zip(times[0], times[k]))
            print(f"  {names[k]} {1e3 * statistics.median(times[k]):.1f} ms, of a processor {1e3 * used[k] / ranks / rounds:.1f} ms; ratio "
                  f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), of processor time {used[k] / used[0]:.2f}", flush=True)


def steps():
    count = arguments.elements
    p, q = (torch.nn.Parameter(torch.randn(count)) for _ in range(2))
    plain, fused = torch.optim.Adam([p], fused=True), optim.FusedAdam([q])
    p.grad, q.grad = torch.randn(count), torch.randn(count)
    fused.step()  # takes the gradient where it reduces it

    def base():
        dist.all_reduce(p.grad)
        p.grad /= ranks
        plain.step()

    interleaved(f"optimizer's step, {count} parameters", {"all_reduce and Adam(fused)": base, "FusedAdam": fused.step}, 4 * arguments.rounds)


def perceptron(width):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU(),
                               torch.nn.Linear(width, width))


def sharded(width, fuses):
    model = perceptron(width)
    for layer in model:
        if list(layer.parameters()):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    if fuses:
        fsdp.fuse(model)
    return model, torch.optim.Adam(model.parameters(), fused=True)


def whole(width):
    theirs, ours = torch.nn.parallel.DistributedDataParallel(perceptron(width)), perceptron(width)
    x, y = torch.randn(64, width), torch.randn(64, width)
    count = sum(p.numel() for p in ours.parameters())

    def step(model, optimizer):
        def run():
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

        return run

    runs = {"DistributedDataParallel and Adam(fused)": step(theirs, torch.optim.Adam(theirs.parameters(), fused=True)),
            "FusedAdam": step(ours, optim.FusedAdam(ours.parameters()))}
    if arguments.fsdp:
        runs.update({"FSDP2 and Adam(fused)": step(*sharded(width, False)), "the same with chorale.fsdp": step(*sharded(width, True))})
    interleaved(f"whole step, {count} parameters", runs, arguments.rounds)


if rank == 0:
    commit = subprocess.run(["git", "-C", os.path.dirname(__file__) or ".", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    load = os.getloadavg()
    shares = "messages over gloo" if os.environ.get("CHORALE_SHM_DISABLE") == "1" else "shared memory"
    print(f"{ranks} processes over gloo ({shares} where programs are), 1 thread each, {os.cpu_count()} hardware threads, load {load[0]:.1f}; commit {commit}; PyTorch {torch.__version__}; "
          f"{arguments.rounds} rounds (of the optimizer by itself {4 * arguments.rounds}), medians", flush=True)
steps()
for width in arguments.widths:
    whole(width)
