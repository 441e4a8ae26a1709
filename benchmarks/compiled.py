#!/usr/bin/env python3
"""Ends of layers with tensor parallelism by torch.compile(backend="chorale"), beside eager PyTorch and inductor,
in interleaved rounds: product, AllReduce, bias, ReLU, residual; a perceptron with a gate and RMSNorm, whose
residual is each rank's own; the same over sizes of which no program is faster. Needs the current PyTorch
(benchmarks/torch_env.sh).

Usage: CHORALE_TORCH_PYTHON=FOLDER/bin/python compiled.py CHORALE [--rows 512] [--width 512] [--times 3] [--ranks 2]
"""
import os
import statistics
import sys
import time

from ranks import asked

arguments, torch = asked(__doc__, limit=1100, rows=512, width=512, times=3)
import torch.distributed as dist  # noqa: E402
from torch.nn.functional import rms_norm, silu  # noqa: E402

import chorale.compiler  # noqa: E402,F401

ROUNDS = 15
OPTIONS = {"replicated": ["b", "r"]}


def layer(x, w, b, r):
    y = x @ w
    dist.all_reduce(y)
    return torch.relu(y + b) + r


def gate(x, w1, w3, w2, h):
    y = (silu(x @ w1) * (x @ w3)) @ w2
    dist.all_reduce(y)
    h = h + y
    return rms_norm(h, (h.shape[-1],), eps=1e-5), h


def milliseconds(functions, given):
    """Of functions that all ranks call, in rounds of one call of each: the median by the slowest rank, and the
    processor time of all ranks."""
    times, work = [[] for _ in functions], [0.0 for _ in functions]
    for number in range(ROUNDS + 2):
        for k, function in enumerate(functions):
            dist.barrier()
            begin, busy = time.perf_counter(), time.process_time()
            function(*given)
            if number > 1:
                times[k].append(time.perf_counter() - begin)
                work[k] += (time.process_time() - busy) / ROUNDS
    medians, work = torch.tensor([statistics.median(each) for each in times]), torch.tensor(work)
    dist.all_reduce(medians, dist.ReduceOp.MAX)
    dist.all_reduce(work)
    return (1e3 * medians).tolist(), (1e3 * work).tolist()


def measured(name, function, given):
    for _ in range(arguments.times):
        torch._dynamo.reset()
        others = [torch.compile(function, backend="inductor"), torch.compile(function, backend="chorale", options=OPTIONS)]
        found = milliseconds([function, *others], given)
        if dist.get_rank() == 0:
            print(f"{name}: " + "; ".join(f"{kind} {eager:.2f} ms eager, inductor {inductor / eager:.2f} of that, chorale {ours / eager:.2f}"
                                          for kind, (eager, inductor, ours) in zip(("elapsed", "processor time"), found)), flush=True)


rows, width, inner = arguments.rows, arguments.width, arguments.width // arguments.ranks
if dist.get_rank() == 0:
    print(f"{arguments.ranks} processes over gloo, 1 thread each, {os.cpu_count()} hardware threads, load {os.getloadavg()[0]:.1f}; "
          f"PyTorch {torch.__version__}", file=sys.stderr)
with torch.no_grad():
    for size in (rows, max(1, rows // 64)):
        x, h = torch.randn(size, inner), torch.randn(size, width)
        measured(f"layer {size} x {inner} by {inner} x {width}", layer, (x, torch.randn(inner, width), torch.zeros(width), torch.zeros(size, width)))
        weights = torch.randn(width, inner) / 8, torch.randn(width, inner) / 8, torch.randn(inner, width)
        measured(f"gate {size} x {width} by {width} x {inner}", gate, (h, *weights, h))
