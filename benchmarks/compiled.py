#!/usr/bin/env python3
"""The end of a layer with tensor parallelism, product -> AllReduce -> bias, ReLU, residual, by
torch.compile(backend="chorale"): what the backend measures for the program and for PyTorch itself, which it
prints. Needs the current PyTorch (benchmarks/torch_env.sh).

Usage: CHORALE_TORCH_PYTHON=FOLDER/bin/python compiled.py CHORALE [--rows 1024] [--width 1024] [--times 3] [--ranks 2]
"""
import os
import sys

from ranks import asked

arguments, torch = asked(__doc__, rows=1024, width=1024, times=3)
import torch.distributed as dist  # noqa: E402
import torch.distributed._functional_collectives as collectives  # noqa: E402

import chorale.compiler  # noqa: E402,F401


def layer(x, w, b, r):
    return torch.relu(collectives.all_reduce(x @ w, "sum", dist.group.WORLD) + b) + r


rows, width, inner = arguments.rows, arguments.width, arguments.width // arguments.ranks
if dist.get_rank() == 0:
    print(f"{arguments.ranks} processes over gloo, 1 thread each, {os.cpu_count()} hardware threads, load {os.getloadavg()[0]:.1f}; "
          f"PyTorch {torch.__version__}; {rows} x {inner} by {inner} x {width}", file=sys.stderr)
for _ in range(arguments.times):
    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(layer, backend="chorale", options=dict(replicated=["b", "r"], inner="eager"))(
            torch.randn(rows, inner), torch.randn(inner, width), torch.zeros(width), torch.zeros(rows, width))
