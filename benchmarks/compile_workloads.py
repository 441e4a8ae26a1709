#!/usr/bin/env python3
"""Compiles the examples, as they are and in the schedules of the paper, as CUDA for sm_80 and sm_90, and
reports how many registers their kernels take and how many bytes they spill. Needs nvcc, and no GPU.

Usage: compile_workloads.py [NAME ...] [--architectures sm_80 sm_90]. Exit code 1 if anything did not compile or spills,
2 without nvcc.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
ADAM = "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v);"
MIXED = "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, w_, p_); asSlice(m); asSlice(v); asSlice(w);"
LAYER = "split(sum, rs); reorder(sum; out); fuse(k; rs, s_out, out)"
SCHEDULES = {  # of the examples: their name, the number of ranks, the transformations
    "adam": ("adam", 4, ADAM + "fuse(k; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)"),
    "adam_mixed": ("adam_mixed", 4, MIXED + "fuse(k; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_w_, s_p_, p_)"),
    "sgd": ("sgd", 4, "split(sum, rs); reorder(sum; v_, p_); asSlice(v); fuse(k; rs, s_v_, s_p_, p_)"),
    "lamb": ("lamb", 4, "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, u, p_); asSlice(m); asSlice(v)"),
    "self_attention": ("self_attention", 4, LAYER),
    "mlp": ("mlp", 4, LAYER),
    "pipeline": ("pipeline", 2, "fuse(k; send, output); split(sum, rs); reorder(sum; k)"),
    "moe": ("moe", 4, ""),
    # Kernels that go row by row, and what moves elements.
    "rms_norm": ("rms_norm", 4, "fuse(k; h, y_1, y_2, y); split(sum, rs, Sliced(1)); reorder(sum; k); fuse(all; rs, s_k, y)"),
    "attention": ("attention", 4, "fuse(norm; n_1, n_2, n); fuse(softmax; p_1, p_2, p_3, p_4, p)"),
    "moe_top2": ("moe_top2", 4, ""),
    # Products beside communication.
    "self_attention_beside": ("self_attention", 4, LAYER + "; overlap(o; layer, k)"),
    "moe_beside": ("moe", 4, "overlap(o; there, up, inner, down, back)"),
}

parser = argparse.ArgumentParser()
parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SCHEDULES))
parser.add_argument("--architectures", nargs="*", default=["sm_80", "sm_90"], metavar="ARCH")
parser.add_argument("--chorale", type=pathlib.Path, default=root / "build/release/bin/chorale")
options = parser.parse_args()
os.environ["PATH"] += os.pathsep + "/usr/local/cuda/bin"
if shutil.which("nvcc") is None:
    print("benchmarks/compile_workloads.py: there is no nvcc", file=sys.stderr)
    sys.exit(2)


def kernels(text):
    """What ptxas states: (architecture, is it a launch of all ranks, registers, spilled bytes, stack) of each
    kernel."""
    for part in text.split("Compiling entry function '")[1:]:
        frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part)
        yield (re.search(r"' for '(sm_\d+)'", part)[1], "fused_kernel" in part.split("'")[0],
               int(re.search(r"Used (\d+) registers", part)[1]), int(frame[2]) + int(frame[3]), int(frame[1]))


bad = 0
print(subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout.strip().splitlines()[-1])
for name in options.names or SCHEDULES:
    example, ranks, script = SCHEDULES[name]
    with tempfile.TemporaryDirectory() as folder:
        command = [options.chorale, "compile", root / f"examples/{example}.chorale", "--machine", f"ring:{ranks}", "--ranks",
                   str(ranks), "--target", "cuda", "-o", folder]
        emitted = subprocess.run(command + (["--apply", script] if script else []), capture_output=True, text=True)
        built = subprocess.run(["make", "-s", "-C", folder, "report", f"ARCH={' '.join(options.architectures)}"],
                               capture_output=True, text=True)
    found = list(kernels(built.stdout + built.stderr))
    if emitted.returncode != 0 or built.returncode != 0 or not found:
        bad += 1
        print(f"{name}: FAILED: {(emitted.stderr + built.stderr)[-300:]}")
        continue
    for arch in options.architectures:
        for fused in [True, False]:
            here = [kernel for kernel in found if kernel[0] == arch and kernel[1] == fused]
            if here:
                bad += any(kernel[3] > 0 for kernel in here)
                print(f"{name}, {ranks} ranks, {arch}, {'launches of all ranks' if fused else 'other kernels'}: {len(here)}, "
                      f"at most {max(k[2] for k in here)} registers, {max(k[3] for k in here)} bytes spilled, "
                      f"{max(k[4] for k in here)} bytes of stack", flush=True)
sys.exit(1 if bad else 0)
