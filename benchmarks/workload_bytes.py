#!/usr/bin/env python3
"""Bytes of memory of RMSNorm behind an AllReduce: examples/rms_norm.chorale, of which only the norm is returned, compiled for threads
with a counter in place of each load and store (memory/counter.cpp), which has a cache of its own for each rank.

Printed for each element of a rank's slice: bytes read and written in all, and how many times the activation is read and written there
beyond what any schedule has to move: the ReduceScatter reads the summands of all ranks, the AllGather reads and writes the other slices.
What remains is the residual, read once, and the norm, written once, where nothing is passed over a second time.

Usage: workload_bytes.py CHORALE [--ranks 4] [--tokens 512] [--hidden 1024] [--cache 131072] [--target 1.1] [--last 3]
Exit code 1 if the fused kernel reads or writes more than --target times that.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

REDUCE = "fuse(k; h, y_1, y_2, y); split(sum, rs, Sliced(0)); reorder(sum; k)"
SCHEDULES = {"ReduceScatter, operations, AllGather": "split(sum, rs, Sliced(0)); reorder(sum; h, y_1, y_2, y)",
             "ReduceScatter, kernel, AllGather": REDUCE,
             "one kernel": REDUCE + "; fuse(all; rs, s_k, y)"}
MAIN = """
#include <cstdio>
#include <memory>
#include <vector>
#include "rms_norm.h"
#include "runtime/exchange/threads.h"
#include "counter.h"

namespace rms_norm = workloads::of_rms_norm;
int main() {{
  rms_norm::Sizes s;
  s.of_B = rms_norm::kRanks, s.of_S = {tokens} / rms_norm::kRanks, s.of_H = {hidden};
  std::vector<std::vector<chorale::Bfloat16>> x(rms_norm::kRanks), r = x, w = x, y = x;
  chorale::on_thread_ranks(rms_norm::kRanks, [&](chorale::ThreadTransport& transport) {{
    const auto rank = static_cast<std::size_t>(transport.rank());
    x[rank].assign({tokens} * {hidden}, chorale::Bfloat16(1.0f)), r[rank] = y[rank] = x[rank];
    w[rank].assign({hidden}, chorale::Bfloat16(1.0f));
    rms_norm::Tensors t;
    t.of_x = x[rank].data(), t.of_r = r[rank].data(), t.of_w = w[rank].data(), t.of_y = y[rank].data();
    rms_norm::Program<chorale::ThreadTransport> program(transport, s);
    program.run(t);
    transport.barrier();
    start_counting();
    program.run(t);
    const MemoryBytes bytes = counted_bytes();
    const double read = transport.most(static_cast<double>(bytes.read)), written = transport.most(static_cast<double>(bytes.written));
    if (rank == 0) std::printf("%.0f %.0f\\n", read, written);
  }});
}}
"""


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("chorale", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--cache", type=int, default=131072)
    parser.add_argument("--target", type=float, default=1.1)
    parser.add_argument("--last", type=int, default=len(SCHEDULES), help="schedules")
    given = parser.parse_args()
    here = pathlib.Path(__file__).resolve().parent
    counter = here / "memory"
    text = (here.parent / "examples/rms_norm.chorale").read_text()
    assert text.rstrip().endswith("return y, h")
    slice_bytes = given.tokens * given.hidden // given.ranks * 2
    print(f"rms_norm, bf16, {given.tokens} tokens of {given.hidden}, {given.ranks} ranks as threads, a link between any two, a cache of {given.cache} bytes each;\n"
          f"an element of a rank's slice: {'bytes read':>41} {'written':>8}   the activation beside messages: read, written")
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "rms_norm.chorale").write_text(text.replace("return y, h", "return y"))

        def run(*command):
            done = subprocess.run([str(each) for each in command], capture_output=True, text=True, cwd=work)
            if done.returncode:
                sys.exit(done.stderr)
            return done.stdout

        for number, (name, script) in enumerate(list(SCHEDULES.items())[-given.last:]):
            folder = work / str(number)
            run(given.chorale.resolve(), "compile", "rms_norm.chorale", "--machine", f"full:{given.ranks}", "--ranks", given.ranks, "--apply", script,
                "--set", f"B={given.ranks}", "--set", f"S={given.tokens // given.ranks}", "--set", f"H={given.hidden}", "--target", "threads", "-o", folder)
            (folder / "count.cpp").write_text(MAIN.format(tokens=given.tokens, hidden=given.hidden))
            flags = ["-std=c++17", "-O1", "-pthread", "-I", folder, "-I", counter]
            run(os.environ.get("CXX", "g++"), *flags, "-fsanitize=thread", "-fno-builtin-memcpy", "-fno-builtin-memmove", "-c", folder / "count.cpp",
                "-o", folder / "count.o")
            run(os.environ.get("CXX", "g++"), *flags, f"-DCHORALE_CACHE={given.cache}", folder / "count.o", counter / "counter.cpp", "-o", folder / "count",
                "-Wl,--wrap=memcpy,--wrap=memmove")
            read, written = (int(number) / slice_bytes * 2 for number in re.findall(r"\d+", run(folder / "count")))
            passes = [read / 2 - (2 * given.ranks - 1), written / 2 - (given.ranks - 1)]
            print(f"  {name:58} {read:12.2f} {written:8.2f} {passes[0]:36.2f} {passes[1]:8.2f}", flush=True)
    if max(passes) > given.target:
        sys.exit(1)


if __name__ == "__main__":
    main()
