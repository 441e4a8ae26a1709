#!/usr/bin/env python3
"""Compiles the examples, as they are and in the schedules of the paper, as CUDA for sm_80 and sm_90, and
reports how many registers their kernels take and how many bytes they spill. Needs nvcc, and no GPU.

With --sass their machine code is read, of the first architecture: how wide loads and stores are, and what loops
call. Programs of halves have to have loads of 16 bytes, and no loop may divide 64-bit numbers, which is a call; those
that IEEE division and roots of floats make, for what is denormal, are counted. Needs nvdisasm (pip install nvidia-cuda-nvdisasm), or its path in NVDISASM.

Usage: compile_workloads.py [NAME ...] [--architectures sm_80 sm_90] [--sass]. Exit code 1 if anything did not compile,
spills, or is not as --sass has it; 2 without nvcc or nvdisasm.
"""
import collections
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
parser.add_argument("--sass", action="store_true")
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


WIDTHS = {None: 4, "U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}


def loops_and_widths(sass):
    """Of each function: its name, accesses of memory by their bytes, what loops call."""
    for part in re.split(r"^\.text\.", sass, flags=re.M)[1:]:
        lines, labels, at = [], {}, 0
        for line in part.splitlines():
            if label := re.match(r"(\.L_\S+):", line):
                labels[label[1]] = at
            if found := re.match(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line):
                lines.append((at, found[2]))
                at += 1
        widths, loops = collections.Counter(), []
        for number, text in lines:
            words = text.split()
            words = words[1:] if words[0].startswith("@") else words
            if access := re.match(r"(LDG?|STG?)\.E(?:\.(U8|S8|U16|S16|64|128))?", words[0]):
                widths[access[1][:2], WIDTHS[access[2]]] += 1
            target = re.search(r"`\((\.L_\S+?)\)", text)
            if words[0].startswith("BRA") and target and labels.get(target[1], at) <= number:
                loops.append((labels[target[1]], number))
        calls = [text for number, text in lines if re.search(r"\bCALL\b", text) and any(first <= number <= last for first, last in loops)]
        yield part.split(":")[0], widths, calls


def read_sass(name, folder):
    """What is wrong with the code, as lines; what there is, is printed."""
    source = next(pathlib.Path(folder).glob("*_main.cpp"))
    architecture = options.architectures[0]
    subprocess.run(["nvcc", "-x", "cu", "-std=c++17", "-O3", "-fmad=false", "-Xcompiler", "-ffp-contract=off", "-Xcompiler", "-iquote,.",
                    f"-arch={architecture}", "-DCHORALE_CUDA", "-cubin", source.name, "-o", "code.cubin"], cwd=folder, check=True)
    sass = subprocess.run([disassembler, "code.cubin"], cwd=folder, capture_output=True, text=True, check=True).stdout
    widths, faults, slow = collections.Counter(), [], 0
    for function, found, calls in loops_and_widths(sass):
        widths += found
        whole = [call for call in calls if re.search("(div|rem)_[su]64", call)]
        slow += len(calls) - len(whole)
        if whole:
            faults.append(f"{name}: {len(whole)} divisions of 64-bit numbers in loops of {function[:90]}")
    print(f"{name}, {architecture}: " + ", ".join(f"{count} {'loads' if kind == 'LD' else 'stores'} of {size}"
                                                  for (kind, size), count in sorted(widths.items(), key=lambda row: (row[0][0], -row[0][1]))) + f" bytes; loops have {slow} calls for floats")
    halves = re.search(r"\((fp16|bf16)", (root / f"examples/{SCHEDULES[name][0]}.chorale").read_text())
    if halves and widths["LD", 16] == 0:
        faults.append(f"{name}: has halves, and no load of 16 bytes")
    return faults


disassembler = os.environ.get("NVDISASM") or shutil.which("nvdisasm")
if options.sass and disassembler is None:
    print("benchmarks/compile_workloads.py: SKIPPED: there is no nvdisasm to read machine code with", file=sys.stderr)
    sys.exit(2)
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
        faults = read_sass(name, folder) if options.sass and built.returncode == 0 else []
    for fault in faults:
        print(fault)
    bad += len(faults)
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
