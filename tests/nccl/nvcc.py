#!/usr/bin/env python3
"""A printed program over NCCL, compiled and linked by CUDA's own compiler for sm_80 and sm_90, where there is one. Programs
differ in their tables, not in their code, so it is one. Exit code 77: skipped. Usage: nvcc.py CHORALE
"""
import pathlib
import subprocess
import sys
import tempfile

chorale = pathlib.Path(sys.argv[1]).absolute()
report = pathlib.Path(__file__).resolve().parents[2] / "benchmarks/nvcc_report.py"
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_nvcc_"))
for command in [["classic", "ring_allreduce", "full:4", "--json", "r.json"], ["emit", "r.json", "--target", "nccl"]]:
    subprocess.run([chorale, *command], cwd=work, check=True, capture_output=True)
done = subprocess.run([sys.executable, report, work / "full_4_allreduce_0.cu"], capture_output=True, text=True, timeout=500)
print(done.stdout + done.stderr)
if done.returncode == 77:
    print("SKIPPED: no nvcc or no NCCL, so nothing was compiled by CUDA's compiler")
sys.exit(done.returncode)
