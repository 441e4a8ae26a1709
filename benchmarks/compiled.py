#!/usr/bin/env python3
"""The end of a layer with tensor parallelism, product -> AllReduce -> bias, ReLU, residual, by
torch.compile(backend="chorale"): what the backend measures for the program and for PyTorch itself, which it prints.
Needs the current PyTorch (benchmarks/torch_env.sh).

Usage: CHORALE_TORCH_PYTHON=FOLDER/bin/python compiled.py CHORALE [--rows 1024] [--width 1024] [--times 3] [--ranks 2]
"""
import argparse
import os
import pathlib
import sys

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("chorale")
parser.add_argument("--rows", type=int, default=1024)
parser.add_argument("--width", type=int, default=1024)
parser.add_argument("--times", type=int, default=3)
parser.add_argument("--ranks", type=int, default=2)
parser.add_argument("--current", action="store_true", help=argparse.SUPPRESS)  # for the ranks
arguments = parser.parse_args()
root = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(root / "tests" / "python")]
from torch_ranks import started  # noqa: E402

os.environ["CHORALE"] = str(pathlib.Path(arguments.chorale).resolve())
sys.argv.append("--current")
torch = started([arguments.ranks])
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
