#!/usr/bin/env bash
# The emitted CUDA programs on one GPU: virtual ranks 2 to 8 of ring, tree and all-pairs algorithms, every element checked, under
# compute-sanitizer and then timed beside a copy on the device; tensor programs, fused against unfused. Exit code 1 if anything was wrong, 2 without nvcc or a GPU.
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

# FOLDER SCRIPT EXAMPLE: for 4 ranks in that schedule, as a program for the GPU and as one for threads.
compile_adam() {
  "$chorale" compile "$here/../examples/$3.chorale" --machine ring:4 --ranks 4 --apply "$2" -o "$work/$1" >/dev/null &&
    make -s -C "$work/$1" cuda threads "ARCH=$architecture"
}

# FOLDER NAME ARGUMENTS...: does the GPU give what threads give?
same_as_threads() {
  local folder=$work/$1 name=$2
  shift 2
  if diff <("$folder/${name}_threads" --runs 0 "$@") <("$folder/${name}_cuda" --runs 0 "$@") >"$work/log"; then
    right=$((right + 1))
  else
    failure "${name}_cuda $*"
    head -5 "$work/log"
  fi
}

# Tensor programs: fused against unfused on 4 virtual ranks, 2^10 to 2^28 parameters; the results of threads, in fp32, and in fp16
# with fp32 state; compute-sanitizer.
workloads() {
  local apart="split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v)"
  local mixed="split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, w_, p_); asSlice(m); asSlice(v); asSlice(w)"
  local n tool
  compile_adam unfused "$apart" adam &&
    compile_adam fused "$apart; fuse(k; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)" adam &&
    compile_adam mixed "$mixed; fuse(k; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_w_, s_p_, p_)" adam_mixed ||
    { failure "Adam does not compile"; return; }
  for n in 1 1000 1048579; do
    same_as_threads unfused adam N=$n
    same_as_threads fused adam N=$n
    same_as_threads mixed adam_mixed N=$n
  done
  for n in 10 13 16 19 22 25 28; do
    echo "2^$n unfused $("$work/unfused/adam_cuda" N=$((1 << n)) --runs 20 | tail -1)"
    echo "2^$n fused   $("$work/fused/adam_cuda" N=$((1 << n)) --runs 20 | tail -1)"
  done
  command -v compute-sanitizer >/dev/null || return
  for tool in memcheck racecheck; do
    compute-sanitizer --error-exitcode 1 --tool "$tool" "$work/fused/adam_cuda" N=5003 --runs 1 --channels 4 >"$work/log" 2>&1 && continue
    failure "$tool of adam_cuda"
    tail -20 "$work/log"
  done
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
  workloads
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
