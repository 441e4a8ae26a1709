#!/usr/bin/env python3
"""Compiles CUDA sources for sm_80 and sm_90 and says what ptxas reports of their kernels, and how long it took.

Usage: nvcc_report.py [--arch 80,90] [--include DIR] [--all] FILE_OR_DIRECTORY...
Prints a row for each source and architecture: the most registers, spilled bytes, stack, static shared memory of its kernels,
seconds; with --all a row for each kernel. Links with -lnccl where the source includes nccl.h. Exit codes: 0 compiled, 1 something
did not, 77 there is no nvcc or a source wants NCCL and it is not there (nothing was compiled then).
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--arch", default="80,90")
parser.add_argument("--include", action="append", default=[])
parser.add_argument("--all", action="store_true")
parser.add_argument("paths", nargs="+", type=pathlib.Path)
options = parser.parse_args()

nvcc = shutil.which("nvcc", path=os.environ.get("PATH", "") + os.pathsep + "/usr/local/cuda/bin")
if nvcc is None:
    print("skipped: nvcc was not found")
    sys.exit(77)
toolkit = pathlib.Path(nvcc).resolve().parents[1]
sources = sorted(s for p in options.paths for s in (p.rglob("*.cu") if p.is_dir() else [p]))
sources or sys.exit("there is no .cu file")
libraries = [folder for folder in [toolkit / "lib64", toolkit / "lib", pathlib.Path("/usr/lib/x86_64-linux-gnu")]
             if any(folder.glob("libnccl.so*"))]


def wants_nccl(source):
    return re.search(r"#include <nccl.h>", source.read_text()) is not None


if not libraries and any(map(wants_nccl, sources)):
    print("skipped: NCCL was not found")
    sys.exit(77)


def compiled(source, arch, out):
    command = [nvcc, "-O3", "-std=c++17", f"-arch=sm_{arch}", "-Xptxas", "-v", "-o", out, source]
    command += [f"-I{folder}" for folder in options.include]
    if wants_nccl(source):
        command += [f"-L{libraries[0]}", "-lnccl"]
    elif "main(" not in source.read_text():
        command += ["-c"]
    start = time.time()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr, time.time() - start


def kernels(text):
    """(name, registers, spilled bytes, stack, shared memory)"""
    for part in text.split("Compiling entry function '")[1:]:
        def number(pattern):
            return sum(map(int, re.findall(pattern, part)))
        yield (part.split("'")[0], number(r"Used (\d+) registers"), number(r"(\d+) bytes spill"), number(r"(\d+) bytes stack frame"),
               number(r"(\d+) bytes smem"))


print(f"{subprocess.run([nvcc, '--version'], capture_output=True, text=True).stdout.strip().splitlines()[-2]}")
print("source  arch  kernels  registers  spilled  stack  shared  seconds")
failed = 0
with tempfile.TemporaryDirectory() as folder:
    for source in sources:
        for arch in options.arch.split(","):
            code, text, seconds = compiled(source, arch, f"{folder}/x")
            found = list(kernels(text))
            if code != 0 or not found:
                failed += 1
                print(f"{source.name}  sm_{arch}  FAILED\n{text}")
                continue
            most = [max(kernel[i] for kernel in found) for i in range(1, 5)]
            print(f"{source.name}  sm_{arch}  {len(found)}  " + "  ".join(map(str, most)) + f"  {seconds:.1f}")
            for kernel in found if options.all else []:
                print("    " + "  ".join(map(str, kernel)))
sys.exit(1 if failed else 0)
