#!/usr/bin/env python3
"""A job of PyTorch over gloo, profiled by PyTorch: what 'chorale job' reads are the calls that the job makes.

A PyTorch without Kineto (Debian's) writes traces without sizes, which are refused by saying so; there the
profiler's own list of events, which has them, is written in the form that Kineto has.

Usage: job_torch.py CHORALE
"""
import json
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run, run_chorale, work  # noqa: E402

RANKS = 3
(work / "train.py").write_text("""
import json, os, sys
import torch, torch.distributed as dist, torch.multiprocessing as processes
from torch.profiler import ProfilerActivity, profile

def work(rank, ranks, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=ranks)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiled:
        for _ in range(4):
            dist.all_reduce(torch.ones(10, 100))
        dist.all_reduce(torch.ones(7))
        dist.broadcast(torch.ones(77), 0)
        dist.all_gather([torch.empty(50, 2) for _ in range(ranks)], torch.ones(50, 2))
        dist.reduce(torch.ones(5), 0)
    profiled.export_chrome_trace(f"{folder}/trace_{rank}.json")
    events = [{"ph": "X", "name": e.name, "ts": e.time_range.start, "dur": e.time_range.elapsed_us(), "args": {"Input Dims": e.input_shapes}}
              for e in profiled.events() if e.name.startswith("gloo:")]
    json.dump({"distributedInfo": {"backend": "gloo", "rank": rank, "world_size": ranks}, "traceEvents": events}, open(f"{folder}/events_{rank}.json", "w"))

if __name__ == "__main__":
    processes.start_processes(work, args=(int(sys.argv[1]), sys.argv[2]), nprocs=int(sys.argv[1]), start_method="fork")
""")
run(sys.executable, "train.py", RANKS, work, env={"OMP_NUM_THREADS": "1"})
want = {("allreduce", 4000): 4, ("allreduce", 28): 1, ("broadcast", 308): 1, ("allgather", RANKS * 400): 1, ("reduce", 20): 1}
whole = [str(work / f"trace_{rank}.json") for rank in range(RANKS)]
with_sizes = any("Input Dims" in pathlib.Path(file).read_text() for file in whole)
if not with_sizes:
    refused("job", *whole, says="all_reduce without a size")
    assert all(any(json.loads((work / f"events_{rank}.json").read_text())["traceEvents"]) for rank in range(RANKS))
for files in ([f"events_{rank}.json" for rank in range(RANKS)], *([whole] if with_sizes else [])):
    found = json.loads(run_chorale("job", *files, "--json", "-"))
    assert {(row["collective"], row["message_bytes"]): row["calls"] for row in found["calls"]} == want, found["calls"]
    assert all(row["ranks"] == RANKS and row["us"] > 0 for row in found["calls"]), found["calls"]
