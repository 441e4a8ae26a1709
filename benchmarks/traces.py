#!/usr/bin/env python3
"""What `chorale job` needs to read profiles of PyTorch: seconds, those of the processor, and the peak of its
resident memory, in which the pages of the mapped file are. The profiles are made here: of 50 events one is a kernel of NCCL, the others
operators, as record_shapes writes them.

Usage: benchmarks/traces.py [MB ...] [--ranks 1]     (10 100 500; each rank has a profile of so many MB of 10^6)
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

package = pathlib.Path(__file__).resolve().parents[1] / "python"


def read(files):
    sys.path.insert(0, str(package))
    sys.modules["chorale._chorale"] = None  # as the command has it
    from chorale import traces
    started = time.perf_counter()
    job = traces.job_of(files)
    print(json.dumps([time.perf_counter() - started, time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                      sum(row["calls"] for row in job["calls"]), len(job["mismatches"])]))


def events(rank, ranks):
    """One text each, without end."""
    group = {"Group size": ranks, "Process Group Name": "0", "Process Group Ranks": str(list(range(ranks)))}
    number = 0
    while True:
        if number % 50:
            yield json.dumps({"ph": "X", "cat": "cpu_op", "name": "aten::linear", "pid": rank, "tid": 1, "ts": number * 5, "dur": 4, "args": {
                "External id": number, "Ev Idx": number, "Input Dims": [[4096, 1024], [1024, 1024], []], "Input type": ["c10::BFloat16", "c10::BFloat16", ""]}})
        else:
            elements = 1 << number // 50 % 20
            yield json.dumps({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": rank, "tid": 7, "ts": number * 5, "dur": 3, "args": {
                "Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements, "dtype": "BFloat16", **group}})
        number += 1


def write(file, size, rank, ranks):
    """Returns the kernels."""
    kernels = 0
    with open(file, "w") as out:
        written = out.write(json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}})[:-1] + ', "traceEvents": [\n')
        for number, event in enumerate(events(rank, ranks)):
            kernels += number % 50 == 0
            written += out.write((",\n" if number else "") + event)
            if written >= size:
                break
        out.write("\n]}")
    return kernels


if sys.argv[1:2] == ["--read"]:
    read(sys.argv[2:])
    sys.exit()
arguments = argparse.ArgumentParser()
arguments.add_argument("megabytes", type=int, nargs="*", default=[10, 100, 500])
arguments.add_argument("--ranks", type=int, default=1)
asked = arguments.parse_args()
print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors; profiles of {asked.ranks} rank{'s' * (asked.ranks > 1)}")
print(f"{'MB each':>8} {'seconds':>8} {'processor':>9} {'peak MiB':>9} {'calls':>8}")
for size in asked.megabytes:
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/rank_{rank}.json" for rank in range(asked.ranks)]
        kernels = {write(file, size * 10**6, rank, asked.ranks) for rank, file in enumerate(files)}
        done = subprocess.run([sys.executable, __file__, "--read", *files], capture_output=True, text=True, check=True)
        seconds, processor, peak, calls, mismatches = json.loads(done.stdout)
        assert calls == max(kernels) and mismatches == (len(kernels) > 1), (kernels, calls, mismatches)
        print(f"{size:>8} {seconds:>8.2f} {processor:>9.2f} {peak:>9.0f} {calls:>8}", flush=True)
