#!/usr/bin/env bash
# The emitted CUDA programs on one GPU: virtual ranks 2 to 8 of ring, tree and all-pairs algorithms, every element checked, under
# compute-sanitizer and then timed beside a copy on the device. Exit code 1 if anything was wrong, 2 without nvcc or a GPU.
# Usage: benchmarks/gpu.sh [--compile] [DIRECTORY]; --compile needs no GPU: all programs for sm_80 and sm_90, registers and spills.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
chorale=$here/../build/release/bin/chorale
compile=no
if [ "${1:-}" = --compile ]; then compile=yes; shift; fi
work=${1:-$(mktemp -d)}
mkdir -p "$work"
command -v nvcc >/dev/null || { echo "benchmarks/gpu.sh: no nvcc; install the CUDA toolkit" >&2; exit 2; }
if [ "$compile" = no ] && ! nvidia-smi -L >/dev/null 2>&1; then
  echo "benchmarks/gpu.sh: no GPU here; --compile needs none" >&2
  exit 2
fi
echo "machine: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo "no GPU"), $(nvcc --version | sed -n 's/.*release/nvcc/p')"
echo "commit: $(git -C "$here" rev-parse --short HEAD 2>/dev/null)"

emit() { # NAME RANKS
  "$chorale" classic "$1" "full:$2" --json "$work/$1_$2.json" >/dev/null &&
    "$chorale" emit "$work/$1_$2.json" --target cuda -o "$work/$1_$2" 2>&1 | head -1
}

failed=0
if [ "$compile" = yes ]; then
  for name in direct_allreduce ring_allgather tree_broadcast direct_alltoall; do
    mkdir -p "$work/${name}_4"
    directory=$(emit $name 4)
    for architecture in sm_80 sm_90; do
      # The kernel is the same in all of them, so its types are looked at once.
      for element in $([ $name = direct_allreduce ] && echo float chorale::Float16 chorale::Bfloat16 std::int32_t); do
        echo "== $name, $element, $architecture"
        make -s -C "$directory" report "ARCH=$architecture" "DEFINES=-DELEMENT=$element" 2>&1 |
          sed -n 's/.*Compiling entry function .*\(peer_kernel\|finish_kernel\).*/\1/p; s/^ *\([0-9]* bytes stack.*\)/  \1/p; s/.*\(Used [0-9]* registers\).*/  \1/p'
      done
      for target in gpu peers multimem; do
        [ "$target" = multimem ] && { [ "$architecture" = sm_80 ] || [ ! -e "$directory/multimem.cu" ]; } && continue
        program=$directory/$([ "$target" = gpu ] && echo virtual_ranks_gpu || echo ${target}_gpu)
        rm -f "$program"
        if make -s -C "$directory" "$target" "ARCH=$architecture" && [ -e "$program" ]; then
          echo "compiled and linked: $name, $target, $architecture"
        else
          failed=$((failed + 1))
          echo "FAILED: $name, $target, $architecture"
        fi
      done
    done
  done
  echo "$failed failed"
  [ "$failed" -eq 0 ]
  exit
fi

architecture=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
right=0
for ranks in 2 3 4 5 6 7 8; do
  for name in ring_allreduce ring_allgather ring_reducescatter tree_allreduce direct_allreduce direct_alltoall binomial_broadcast; do
    mkdir -p "$work/${name}_$ranks"
    directory=$(emit $name "$ranks") && make -s -C "$directory" gpu "ARCH=$architecture" || { failed=$((failed + 1)); continue; }
    for check in "compute-sanitizer --error-exitcode 1 --tool memcheck" "compute-sanitizer --error-exitcode 1 --tool racecheck"; do
      command -v compute-sanitizer >/dev/null || continue
      $check "$directory/virtual_ranks_gpu" -b 4 -e 64K -f 128 -n 2 -s 2 -p 120 >"$work/log" 2>&1 || { failed=$((failed + 1)); echo "$name, $ranks ranks, $check:"; tail -20 "$work/log"; }
    done
    if "$directory/virtual_ranks_gpu" -b 1K -e 64M -f 8; then right=$((right + 1)); else failed=$((failed + 1)); fi
  done
done
for defines in -DIN_PLACE "-DELEMENT=chorale::Float16 -DWIDEN" -DELEMENT=chorale::Bfloat16; do
  directory=$(emit ring_allreduce 8)
  rm -f "$directory/virtual_ranks_gpu"
  make -s -C "$directory" gpu "ARCH=$architecture" "DEFINES=$defines" && echo "# $defines" && "$directory/virtual_ranks_gpu" -b 1K -e 64M -f 8 && right=$((right + 1)) || failed=$((failed + 1))
done
echo "$right programs with every element right, $failed failures"
[ "$failed" -eq 0 ]
