#!/usr/bin/env python3
"""Emits every schedule of every result in a directory as CUDA, compiles and links it with nvcc for sm_80 and
sm_90, and reports how many registers the kernels take and how many bytes they spill. Needs nvcc, NCCL and
MPI, and no GPU.

Usage: compile.py STATE --results DIR [--minutes M] [--programs gpu peers multimem nccl] [--elements TYPE ...] [--chunks C]
                  [--architectures sm_80 sm_90]

DIR is what `synthesis --grid --results DIR` wrote. Programs gpu (virtual ranks, out of place), peers (a
process a GPU, in place) and multimem (from sm_90 on, of schedules that switches add and copy for) are those of target cuda, as the
Makefile beside them builds them, with elements of --elements (float); nccl is the file of target nccl, with
all types. With --chunks only results of this many chunks are taken. STATE keeps what is done: interrupted, or
out of its minutes, the script goes on from there. Exit code 1 if anything did not compile, 2 without nvcc, 3
if something is left to do.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from work_list import WorkList, root

parser = argparse.ArgumentParser()
parser.add_argument("state", type=pathlib.Path)
parser.add_argument("--results", type=pathlib.Path, required=True)
parser.add_argument("--minutes", type=float, default=9)
parser.add_argument("--programs", nargs="*", choices=["gpu", "peers", "multimem", "nccl"], default=["gpu", "peers", "multimem"])
parser.add_argument("--elements", nargs="*", default=["float"], metavar="TYPE", help="chorale::Float16, std::int32_t, ...")
parser.add_argument("--architectures", nargs="*", default=["sm_80", "sm_90"], metavar="ARCH")
parser.add_argument("--chunks", type=int, help="of a block, the last number of the file's name")
parser.add_argument("--chorale", type=pathlib.Path, default=root / "build/release/bin/chorale")
options = parser.parse_args()
SUMMED_BY_SWITCHES = ["float", "double", "chorale::Float16", "chorale::Bfloat16", "std::int32_t", "std::uint32_t", "std::int64_t", "std::uint64_t"]
os.environ["PATH"] += os.pathsep + "/usr/local/cuda/bin"
if shutil.which("nvcc") is None:
    print("benchmarks/compile.py: there is no nvcc", file=sys.stderr)
    sys.exit(2)


def kernels(text):
    """What ptxas states: (architecture, registers, spilled bytes) of each kernel."""
    for part in text.split("Compiling entry function '")[1:]:
        spilled = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part)
        yield (re.search(r"' for '(sm_\d+)'", part)[1], int(re.search(r"Used (\d+) registers", part)[1]),
               int(spilled[1]) + int(spilled[2]))


def make(directory, program, element):
    """Exit code and output; what was built is removed again."""
    architectures = " ".join(arch for arch in options.architectures if program != "multimem" or int(re.search(r"\d+", arch)[0]) >= 90)
    defines = f"-DELEMENT={element}" + (" -DIN_PLACE" if program == "peers" else "")
    done = subprocess.run(["make", "-s", "-C", directory, program, f"ARCH={architectures}", "NVCC=nvcc -Xptxas -v", f"DEFINES={defines}"],
                          capture_output=True, text=True)
    built = directory / ("virtual_ranks_gpu" if program == "gpu" else f"{program}_gpu")
    there = built.exists()
    built.unlink(missing_ok=True)
    return done.returncode or not there, done.stdout + done.stderr


def link_alone(source):
    built = source.with_suffix("")
    command = ["nvcc", "-O3", "-std=c++17", "-Xptxas", "-v", "-o", built, source, "-lnccl"]
    command += [part for arch in options.architectures
                for part in ("-gencode", f"arch={arch.replace('sm', 'compute')},code={arch}")]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode or not built.exists(), done.stdout + done.stderr


def builds(program, folder):
    """What is to be compiled in the folder: name, and what does it."""
    for path in sorted(folder.iterdir()):
        if program == "nccl":
            yield path.name, lambda path=path: link_alone(path)
        elif program != "multimem" or "kTeams[] = {\n    {-1" not in (path / "out_of_place.h").read_text():
            for element in options.elements:
                if program != "multimem" or element in SUMMED_BY_SWITCHES:
                    yield f"{path.name} {program} {element}", lambda path=path, element=element: make(path, program, element)


def compile_all(result, program):
    compiled, failed, most, spilled = 0, [], collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        target = "nccl" if program == "nccl" else "cuda"
        emitted = subprocess.run([options.chorale, "emit", result, "--target", target, "-o", folder], capture_output=True, text=True)
        if emitted.returncode != 0:
            failed.append(f"emit: {emitted.stdout}{emitted.stderr}")
        for name, build in builds(program, pathlib.Path(folder)):
            code, text = build()
            found = list(kernels(text))
            if code != 0 or not found:
                failed.append(f"{name}: {text[-300:]}")
            else:
                compiled += 1
            for arch, registers, bytes_spilled in found:
                most[arch] = max(most[arch], registers)
                spilled[arch] = max(spilled[arch], bytes_spilled)
    return {"program": program, "compiled": compiled, "failed": failed, "wrong": 0, "registers": most, "spilled": spilled}


done = WorkList(options.state, options.minutes)
for program in options.programs:
    for result in sorted(options.results.glob("*.json" if options.chunks is None else f"*_{options.chunks}.json")):
        done.do(f"{result.stem}, {program}, {' '.join(options.elements)}", lambda: compile_all(result, program))

print(done.machine())
print(subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout.strip().splitlines()[-1])
for program in ["gpu", "peers", "multimem", "nccl"]:
    entries = [entry for entry in done.entries.values() if entry["program"] == program]
    if not entries:
        continue
    print(f"{program}: {len(entries)} results, {sum(entry['compiled'] for entry in entries)} programs compiled and linked, "
          f"{sum(len(entry['failed']) for entry in entries)} failed, {sum(entry['seconds'] for entry in entries):.0f} s")
    for arch in sorted({arch for entry in entries for arch in entry["registers"]}):
        most = [entry["registers"][arch] for entry in entries if arch in entry["registers"]]
        print(f"  {arch}: {min(most)} to {max(most)} registers in a result's largest kernel, "
              f"at most {max(entry['spilled'].get(arch, 0) for entry in entries)} bytes spilled")
sys.exit(done.exit_code())
