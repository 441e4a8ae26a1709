#!/usr/bin/env bash
# The emitted CUDA programs on one GPU: virtual ranks 2 to 8 of ring, tree and all-pairs algorithms, every element checked, under
# compute-sanitizer and then timed beside a copy on the device; and tensor programs: held against threads of the host in float32,
# fp16 and bf16, under compute-sanitizer, fused against unfused for 2^10 to 2^30 parameters as a share of what a copy in the same
# run gets, replayed as a graph, and a product beside its communication. Exit code 1 if anything was wrong, 2 without nvcc or a GPU.
# Usage: benchmarks/gpu.sh [--dry-run] [--only kernels|workloads] [--sizes "10 11 .."] [DIRECTORY]
#   --dry-run: prints the commands for a GPU of 80 GB, and runs none of them; needs neither nvcc nor a GPU.
# What compiles without a GPU is benchmarks/compile.py's, and benchmarks/compile_workloads.py's.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
chorale=${CHORALE:-$here/../build/release/bin/chorale}
dry="" only="kernels workloads" sizes=$(seq -s ' ' 10 30)
failed=0 right=0 ranks=4

refuse() { echo "benchmarks/gpu.sh: $1" >&2; exit 2; }
failure() { failed=$((failed + 1)); echo "FAILED: $*"; }

while [ $# -gt 0 ] && [ "${1#--}" != "$1" ]; do
  case $1 in
    --dry-run) dry=yes ;;
    --only) only=${2-}; shift ;;
    --sizes) sizes=${2-}; shift ;;
    *) refuse "$1 is not an option: [--dry-run] [--only kernels|workloads] [--sizes \"10 11 ..\"] [DIRECTORY]" ;;
  esac
  shift
done
work=${1:-$(if [ -n "$dry" ]; then echo DIRECTORY; else mktemp -d; fi)}

# COMMAND...: runs it, or prints it as a shell would read it.
do_it() {
  if [ -z "$dry" ]; then "$@"; return; fi
  local word line=""
  for word; do
    case $word in *[!A-Za-z0-9_./:=,+-]*) word="'$word'" ;; esac
    line+="${line:+ }$word"
  done
  echo "$line"
}
# COMMAND...: its output is in $work/log.
logged() {
  if [ -n "$dry" ]; then do_it "$@"; else "$@" >"$work/log" 2>&1; fi
}
# WHAT COMMAND...: counted as right, or as a failure whose last lines are shown.
counted() {
  local what=$1
  shift
  if logged "$@"; then right=$((right + 1)); else failure "$what"; tail -20 "$work/log"; fi
}
# What is printed before a colon, and after it, in microseconds: "best of 5: 12.3 us".
microseconds() { sed -n "s/.*$1[^:]*: \([0-9.]*\) us.*/\1/p" "$work/log" | tail -1; }

# ALGORITHM RANKS: emits it, into $directory.
emit() {
  local folder=$work/$1_$2
  directory=$folder/full_$2.cuda
  do_it mkdir -p "$folder"
  logged "$chorale" classic "$1" "full:$2" --json "$folder.json" && logged "$chorale" emit "$folder.json" --target cuda -o "$folder" || return
  [ -n "$dry" ] || directory=$(head -1 "$work/log")
}

# PROGRAM ARGUMENTS...: under compute-sanitizer, where there is one.
sanitize() {
  [ -n "$dry" ] || command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer: left out"; return; }
  local tool
  for tool in memcheck racecheck synccheck; do
    counted "$tool of $1" compute-sanitizer --error-exitcode 1 --tool "$tool" "$@"
  done
}

kernels() {
  local name defines
  for ranks in 2 3 4 5 6 7 8; do
    for name in ring_allreduce ring_allgather ring_reducescatter tree_allreduce direct_allreduce direct_alltoall binomial_broadcast; do
      emit "$name" "$ranks" && do_it make -s -C "$directory" gpu "ARCH=$architecture" || { failure "$name, $ranks"; continue; }
      sanitize "$directory/virtual_ranks_gpu" -b 4 -e 64K -f 128 -n 2 -s 2 -p 120
      if do_it "$directory/virtual_ranks_gpu" -b 1K -e 64M -f 8; then right=$((right + 1)); else failure "$name, $ranks"; fi
      counted "chorale run --transport gpu of $name, $ranks" "$chorale" run "$work/${name}_$ranks.json" --transport gpu \
        --bytes 8,104,1016,524296 --type all --op all --iterations 3
    done
  done
  for defines in -DIN_PLACE "-DELEMENT=chorale::Float16 -DWIDEN" -DELEMENT=chorale::Bfloat16; do
    emit ring_allreduce 8
    do_it rm -f "$directory/virtual_ranks_gpu"
    do_it make -s -C "$directory" gpu "ARCH=$architecture" "DEFINES=$defines" || { failure "$defines"; continue; }
    echo "# $defines"
    if do_it "$directory/virtual_ranks_gpu" -b 1K -e 64M -f 8; then right=$((right + 1)); else failure "$defines"; fi
  done
  ranks=4
}

# FOLDER FILE SCRIPT GOALS: in that schedule, built.
build() {
  logged "$chorale" compile "$2" --machine "full:$ranks" --ranks "$ranks" --apply "$3" -o "$work/$1" &&
    logged make -s -C "$work/$1" $4 "ARCH=$architecture" && return
  failure "$1 does not compile"
  tail -5 "$work/log"
  return 1
}

# FOLDER NAME ARGUMENTS...: does the GPU give what threads give, by plain launches and as a graph?
same_as_threads() {
  local folder=$work/$1 name=$2 way
  shift 2
  for way in "" --graph; do
    if [ -n "$dry" ]; then
      echo "diff <($folder/${name}_threads --runs 0 $*) <($folder/${name}_cuda --runs 0 $*${way:+ $way})"
    elif diff <("$folder/${name}_threads" --runs 0 "$@") <("$folder/${name}_cuda" --runs 0 "$@" $way 2>&1) >"$work/log"; then
      right=$((right + 1))
    else
      failure "${name}_cuda $* $way"
      head -5 "$work/log"
    fi
  done
}

# LOG2: a row of times of fused and unfused Adam. A parameter of the fused one is 3 * ranks + 4 elements of 4 bytes to and from
# memory: each rank's gradient is read once; m and v are read and written; the parameter is read, written, and for each of the
# other ranks once more. It takes 8 * ranks + 8 bytes of memory; the unfused one keeps up to 6 elements more.
adam_row() {
  local count=$((1 << $1)) copied need
  copied=$((count * 32 < (1 << 30) ? count * 32 : 1 << 30))
  need=$((count * 4 * (2 * ranks + 8) + 2 * copied + (1 << 30)))
  if [ "$need" -gt "$memory" ]; then
    echo "2^$1: skipped: takes $((need >> 20)) MiB, and the GPU has $((memory >> 20)) MiB"
    return
  fi
  local fused unfused graph copy
  logged "$work/fused/adam_cuda" "N=$count" --runs 20 --copy "$copied" || { failure "fused, 2^$1"; tail -3 "$work/log"; return; }
  [ -n "$dry" ] || { fused=$(microseconds "ranks, best of"); copy=$(microseconds "copy of"); }
  logged "$work/fused/adam_cuda" "N=$count" --runs 20 --graph || { failure "graph, 2^$1"; tail -3 "$work/log"; return; }
  [ -n "$dry" ] || graph=$(microseconds "ranks, best of")
  logged "$work/unfused/adam_cuda" "N=$count" --runs 20 || { failure "unfused, 2^$1"; tail -3 "$work/log"; return; }
  [ -n "$dry" ] && return
  unfused=$(microseconds "ranks, best of")
  right=$((right + 3))
  awk -v n="$1" -v f="$fused" -v u="$unfused" -v g="$graph" -v c="$copy" -v moved="$((count * 4 * (3 * ranks + 4)))" -v b="$copied" 'BEGIN {
    printf "2^%d: fused %.1f us, %.0f %% of what a copy gets; as a graph %.1f us; unfused %.1f us, %.2f times as long\n",
      n, f, 100 * (moved / f) / (2 * b / c), g, u, u / f }'
}

workloads() {
  local examples=$here/../examples n type
  local apart="split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v)"
  local mixed="split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, w_, p_); asSlice(m); asSlice(v); asSlice(w)"
  local layer="split(sum, rs); reorder(sum; out); fuse(k; rs, s_out, out)"
  build unfused "$examples/adam.chorale" "$apart" "cuda threads" || return
  build fused "$examples/adam.chorale" "$apart; fuse(k; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)" "cuda threads" || return
  for n in 1 1000 1048579; do
    same_as_threads unfused adam "N=$n"
    same_as_threads fused adam "N=$n"
  done
  for type in fp16 bf16; do
    if [ -n "$dry" ]; then
      echo "sed s/fp16/$type/g $examples/adam_mixed.chorale >$work/$type.chorale"
    else
      sed "s/fp16/$type/g" "$examples/adam_mixed.chorale" >"$work/$type.chorale"
    fi
    build "$type" "$work/$type.chorale" "$mixed; fuse(k; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_w_, s_p_, p_)" "cuda threads" || continue
    for n in 1 1000 1048579; do same_as_threads "$type" adam_mixed "N=$n"; done
  done
  sanitize "$work/fused/adam_cuda" N=5003 --runs 1 --channels 4
  for n in $sizes; do adam_row "$n"; done
  # A product, and the communication that takes it: one after the other, and beside it.
  build after "$examples/self_attention.chorale" "$layer" "cuda CUBLAS=1" &&
    build beside "$examples/self_attention.chorale" "$layer; overlap(o; layer, k)" "cuda CUBLAS=1" || return
  sanitize "$work/beside/self_attention_cuda" B=2 S=16 H=256 --runs 1 --channels 4
  for n in after beside; do
    logged "$work/$n/self_attention_cuda" B=8 S=1024 H=4096 --runs 20 || { failure "self_attention, $n"; tail -3 "$work/log"; continue; }
    [ -n "$dry" ] || echo "self_attention, 8 x 1024 x 4096, communication $n its product: $(microseconds "ranks, best of") us"
  done
}

if [ -n "$dry" ]; then
  architecture=sm_90 memory=$((80 * 1000 * 1000 * 1000))
else
  command -v nvcc >/dev/null || refuse "no nvcc; install the CUDA toolkit"
  nvidia-smi -L >/dev/null 2>&1 || refuse "no GPU here; benchmarks/compile.py needs none, and --dry-run says what would be done"
  mkdir -p "$work"
  architecture=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
  memory=$(($(nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits | head -1) << 20))
  echo "machine: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)," \
       "$(nvcc --version | sed -n 's/.*release/nvcc/p')"
  echo "commit: $(git -C "$here" rev-parse --short HEAD 2>/dev/null)"
fi
for part in $only; do
  case $part in
    kernels | workloads) "$part" ;;
    *) refuse "--only: $part is neither kernels nor workloads" ;;
  esac
done
[ -n "$dry" ] || echo "$right runs with every element right, $failed failures"
[ "$failed" -eq 0 ]
