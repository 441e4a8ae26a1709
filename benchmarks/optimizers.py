#!/usr/bin/env python3
"""Time of chorale.optim.FusedAdam against PyTorch's own: an optimizer's step by itself, against an AllReduce
and Adam(fused=True), and the whole step of a perceptron, against DistributedDataParallel and
Adam(fused=True). All in the same processes, interleaved, medians; ratios, since machines are shared, of
elapsed time and of processor time, which other processes disturb less. Needs the current PyTorch
(benchmarks/torch_env.sh).

Usage: CHORALE_TORCH_PYTHON=FOLDER/bin/python optimizers.py CHORALE [--elements 4194304] [--widths 1024,3200] [--rounds 9] [--ranks 2]
"""
import os
import statistics
import subprocess
import time

from ranks import asked

arguments, torch = asked(__doc__, limit=1200, elements=1 << 22, widths=[1024, 3200], rounds=9)  # 3M and 31M parameters
import torch.distributed as dist  # noqa: E402

from chorale import optim  # noqa: E402

rank, ranks = dist.get_rank(), dist.get_world_size()


def interleaved(name, base, ours, rounds):
    """Median seconds of both, as the slowest rank has them, and the ratio of each round; of all rounds that
    of processor time."""
    times, used = [[], []], [[], []]
    for number in range(rounds + 2):
        for which in (0, 1) if number % 2 else (1, 0):
            dist.barrier()
            begin, before = time.perf_counter(), time.process_time()
            (base, ours)[which]()
            took, after = torch.tensor(time.perf_counter() - begin), time.process_time()
            dist.all_reduce(took, dist.ReduceOp.MAX)
            if number > 1:
                times[which].append(took.item())
                used[which].append(after - before)
    ratios = sorted(b / a for a, b in zip(*times))
    if rank == 0:
        print(f"{name}: {1e3 * statistics.median(times[0]):.1f} ms, FusedAdam {1e3 * statistics.median(times[1]):.1f} ms; ratio of FusedAdam "
              f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), of processor time {sum(used[1]) / sum(used[0]):.2f}", flush=True)


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

    interleaved(f"optimizer's step, {count} parameters: all_reduce and Adam(fused)", base, fused.step, 4 * arguments.rounds)


def perceptron(width):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU(),
                               torch.nn.Linear(width, width))


def whole(width):
    theirs, ours = torch.nn.parallel.DistributedDataParallel(perceptron(width)), perceptron(width)
    plain, fused = torch.optim.Adam(theirs.parameters(), fused=True), optim.FusedAdam(ours.parameters())
    x, y = torch.randn(64, width), torch.randn(64, width)

    def step(model, optimizer):
        def run():
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()

        return run

    count = sum(p.numel() for p in ours.parameters())
    interleaved(f"whole step, {count} parameters: DistributedDataParallel and Adam(fused)", step(theirs, plain), step(ours, fused), arguments.rounds)


if rank == 0:
    commit = subprocess.run(["git", "-C", os.path.dirname(__file__) or ".", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    load = os.getloadavg()
    print(f"{ranks} processes over gloo, 1 thread each, {os.cpu_count()} hardware threads, load {load[0]:.1f}; commit {commit}; PyTorch {torch.__version__}; "
          f"{arguments.rounds} rounds (of the optimizer by itself {4 * arguments.rounds}), medians", flush=True)
steps()
for width in arguments.widths:
    whole(width)
