#!/usr/bin/env python3
"""benchmarks/compile.py on one result: what was compiled is counted and not compiled again, and what fails is
seen.

Usage: compile.py COMPILE CHORALE. Exit code 77 without nvcc, NCCL's device API or MPI.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run as run_other, skip, work  # noqa: E402

compile_all, chorale = map(lambda a: str(pathlib.Path(a).resolve()), sys.argv[1:3])
nvcc = shutil.which("nvcc", path=os.environ["PATH"] + os.pathsep + "/usr/local/cuda/bin")
if nvcc is None or shutil.which("mpicxx") is None:
    skip("nvcc or MPI was not found")
if subprocess.run([nvcc, "-E", "-x", "cu", "-", "-o", "/dev/null"], input="#include <nccl_device.h>\n", text=True, capture_output=True).returncode:
    skip("NCCL's device API was not found")

# Programs are counted here; what nvcc's optimization makes of one is tensor.workloads_nvcc's.
known = subprocess.run([nvcc, "--help"], capture_output=True, text=True).stdout
QUICK = "-O0 -Ofc=max" if "-Ofast-compile" in known else "-O0 -Xptxas -O0"


def run(state, *arguments, code=0, path=""):
    return run_other(sys.executable, compile_all, state, "--results", "results", "--chorale", chorale, *arguments, code=code,
                     env={"PATH": path + os.environ["PATH"], "NVCC_APPEND_FLAGS": QUICK}, timeout=500)


(work / "results").mkdir()
run_other(chorale, "frontier", "hub:3", "allreduce", "--switches-multicast", "--switches-reduce", "--max-chunks", "3", "--max-steps", "2", "--json", "results/r_1.json")
assert "3 results are left" in run("state", "--minutes", "0", code=3)
# For one architecture; a release does sm_80 as well (benchmarks/README.md).
every = ["--architectures", "sm_90", "--programs", "gpu", "peers", "multimem", "nccl"]
text = run("state", *every)
for program, count in [("gpu", 1), ("peers", 1), ("multimem", 1), ("nccl", 2)]:
    assert f"{program}: 1 results, {count} programs compiled and linked, 0 failed" in text, text
registers = re.findall(r"sm_90: (\d+) to \d+ registers in a result's largest kernel, at most \d+ bytes spilled", text)
assert len(registers) == 4 and all(16 <= int(r) <= 255 for r in registers), text
lines = (work / "state").read_text()
run("state", *every)
assert (work / "state").read_text() == lines

(work / "bin").mkdir()
fake = work / "bin/nvcc"
fake.write_text("#!/bin/sh\necho broken; exit 1\n")
fake.chmod(0o755)
text = run("other", code=1, path=f"{work}/bin:")
assert "gpu: 1 results, 0 programs compiled and linked, 1 failed" in text and "FAILED r_1, peers" in text and "broken" in text, text
print("programs are compiled once, and what fails is seen")
