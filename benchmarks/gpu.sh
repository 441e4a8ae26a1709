#!/usr/bin/env bash
# The emitted CUDA programs on one GPU: virtual ranks 2 to 8 of ring, tree and all-pairs algorithms, every element checked, under
# compute-sanitizer and then timed beside a copy on the device. Exit code 1 if anything was wrong, 2 without nvcc or a GPU.
# Usage: benchmarks/gpu.sh [DIRECTORY]. What compiles without a GPU is benchmarks/compile.py's.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
chorale=$here/../build/release/bin/chorale
work=${1:-$(mktemp -d)}
failed=0 right=0

refuse() { echo "benchmarks/gpu.sh: $1" >&2; exit 2; }
failure() { failed=$((failed + 1)); echo "FAILED: $*"; }

# ALGORITHM RANKS: emits it; prints the directory.
emit() {
  local folder=$work/$1_$2
  mkdir -p "$folder"
  "$chorale" classic "$1" "full:$2" --json "$folder.json" >/dev/null &&
    "$chorale" emit "$folder.json" --target cuda -o "$folder" | head -1
}

# PROGRAM: under compute-sanitizer, where there is one.
sanitize() {
  command -v compute-sanitizer >/dev/null || return
  local tool
  for tool in memcheck racecheck; do
    compute-sanitizer --error-exitcode 1 --tool "$tool" "$1" -b 4 -e 64K -f 128 -n 2 -s 2 -p 120 >"$work/log" 2>&1 && continue
    failure "$tool of $1"
    tail -20 "$work/log"
  done
}

# ALGORITHM RANKS, emitted before: all types and operations, by chorale itself.
all_types() {
  if "$chorale" run "$work/$1_$2.json" --transport gpu --bytes 1,13,127,65537 --type all --op all --iterations 3 >"$work/log"; then
    right=$((right + 1))
  else
    failure "chorale run --transport gpu of $1, $2"
    tail -5 "$work/log"
  fi
}

run() {
  if "$1" -b 1K -e 64M -f 8; then right=$((right + 1)); else failure "$1"; fi
}

run_all() {
  local architecture ranks name directory defines
  architecture=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
  for ranks in 2 3 4 5 6 7 8; do
    for name in ring_allreduce ring_allgather ring_reducescatter tree_allreduce direct_allreduce direct_alltoall binomial_broadcast; do
      directory=$(emit "$name" "$ranks") && make -s -C "$directory" gpu "ARCH=$architecture" || { failure "$name, $ranks"; continue; }
      sanitize "$directory/virtual_ranks_gpu"
      run "$directory/virtual_ranks_gpu"
      all_types "$name" "$ranks"
    done
  done
  for defines in -DIN_PLACE "-DELEMENT=chorale::Float16 -DWIDEN" -DELEMENT=chorale::Bfloat16; do
    directory=$(emit ring_allreduce 8)
    rm -f "$directory/virtual_ranks_gpu"
    make -s -C "$directory" gpu "ARCH=$architecture" "DEFINES=$defines" || { failure "$defines"; continue; }
    echo "# $defines"
    run "$directory/virtual_ranks_gpu"
  done
  echo "$right runs with every element right, $failed failures"
}

command -v nvcc >/dev/null || refuse "no nvcc; install the CUDA toolkit"
nvidia-smi -L >/dev/null 2>&1 || refuse "no GPU here; benchmarks/compile.py needs none"
mkdir -p "$work"
echo "machine: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)," \
     "$(nvcc --version | sed -n 's/.*release/nvcc/p')"
echo "commit: $(git -C "$here" rev-parse --short HEAD 2>/dev/null)"
run_all
[ "$failed" -eq 0 ]
