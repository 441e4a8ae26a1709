#!/usr/bin/env python3
"""What benchmarks/gpu.sh would do on a GPU, printed: each part of it is there, what it compiles does compile,
and what is too large is named. Without nvcc it refuses.

Usage: gpu.py GPU_SH CHORALE
"""
import os
import pathlib
import shlex
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run as run_other, work  # noqa: E402

script, chorale = str(pathlib.Path(sys.argv[1]).resolve()), str(pathlib.Path(sys.argv[2]).resolve())


def run(*arguments, code=0, path=os.environ["PATH"]):
    return run_other("/bin/bash", script, *arguments, code=code, env={"CHORALE": chorale, "PATH": path}).splitlines()


lines = run("--dry-run", "made")
kernels, workloads = run("--dry-run", "--only", "kernels", "made"), run("--dry-run", "--only", "workloads", "made")
assert lines == kernels + workloads and not (work / "made").exists()
assert sorted(lines) == sorted(run("--dry-run", "--build", "made") + run("--dry-run", "--run", "made"))

# Algorithms for 2 to 8 ranks, checked and timed; three ways of summing halves.
assert sum("virtual_ranks_gpu -b 1K" in line for line in kernels) == 7 * 7 + 3, kernels
assert sum(line.startswith("compute-sanitizer") for line in kernels) == 7 * 7 * 3
assert sum(line.startswith("make ") for line in run("--dry-run", "--build", "--only", "kernels", "--ranks", "2 8", "made")) == 2 * 7 + 3

# Every size, fused with a copy, as a graph, and unfused.
for n in range(10, 31):
    for program, more in (("fused", "--copy"), ("fused", "--graph"), ("unfused", "")):
        assert any(f"/{program}/adam_cuda N={1 << n} --runs 20" in line and more in line for line in workloads), (n, program, more)
for kind in ("fused/adam", "unfused/adam", "fp16/adam_mixed", "bf16/adam_mixed"):
    for way in ("", " --graph"):
        for n in (1, 1000, 1048579):
            assert f"diff <(made/{kind}_threads --runs 0 N={n}) <(made/{kind}_cuda --runs 0 N={n}{way})" in workloads, (kind, way)
for kind in ("after_plain/self_attention", "beside_plain/self_attention"):
    for way in ("", " --graph"):
        size = "B=2 S=16 H=256"
        assert f"diff <(made/{kind}_threads --runs 0 {size}) <(made/{kind}_cuda --runs 0 {size}{way})" in workloads, (kind, way)
# Products by cuBLAS are timed, plain ones are compared.
for folder in ("after", "beside"):
    assert f"make -s -C made/{folder}_cublas cuda CUBLAS=1 ARCH=sm_90" in workloads
    for target in ("cuda", "threads"):
        assert f"make -s -C made/{folder}_plain {target} CUBLAS= ARCH=sm_90" in workloads
assert {line.split()[4] for line in workloads if line.startswith("compute-sanitizer")} == {"memcheck", "initcheck", "synccheck"}
assert "made/beside_cublas/self_attention_cuda B=8 S=1024 H=4096 --runs 20" in workloads
few = run("--dry-run", "--only", "workloads", "--sizes", "10 31", "made")
assert any(line.startswith("2^31: skipped: takes ") and line.endswith("and the GPU has 76293 MiB") for line in few), few

# What it compiles is what the program takes, and gives the programs that it runs.
(work / "made").mkdir()
for line in workloads:
    if line.startswith("sed "):
        run_other("/bin/bash", "-c", line)
    if shlex.split(line)[:2] == [chorale, "compile"]:
        run_other(*shlex.split(line))
for line in workloads:
    folder, _, program = line.split()[0].rpartition("/")
    if program.endswith("_cuda"):
        assert (work / folder / program.replace("_cuda", "_main.cpp")).exists(), line
assert (work / "made/fused/adam.h").read_text().count("device_.run(transport_") == 1
assert "auto worker = " in (work / "made/beside_cublas/self_attention.h").read_text()

(work / "empty").mkdir()
for tool in ("dirname", "seq", "mktemp", "git", "nproc"):  # what it needs before it looks for nvcc
    (work / "empty" / tool).symlink_to(shutil.which(tool))
assert run("made", code=2, path=str(work / "empty")) == ["benchmarks/gpu.sh: no nvcc; install the CUDA toolkit"]
assert "is not an option" in run("--dry", code=2)[0]
nccl = run("--dry-run", "--only", "nccl", "--ranks", "2 4", "made")
assert sum(line.startswith("nvcc -O3 -std=c++17 -arch=sm_90 made/nccl_") and " -lnccl" in line for line in nccl) == 2 * 7
assert sum(line.endswith("/program 1009 3") and "NCCL_MULTI_RANK_GPU_ENABLE=1" in line for line in nccl) == 2 * 7
assert "takes the DIRECTORY" in run("--run", code=2)[0]
assert "is neither kernels, workloads nor nccl" in run("--dry-run", "--only", "x", code=2)[0]
print("right")
