#!/usr/bin/env bash
# The emitted CUDA programs on one GPU: virtual ranks 2 to 8 of ring, tree and all-pairs algorithms, every
# element checked, under compute-sanitizer and then timed beside a copy on the device; and tensor
# programs: held against threads of the host in float32, fp16 and bf16, under compute-sanitizer, fused
# against unfused for 2^10 to 2^30 parameters as a share of what a copy in the same run gets, replayed as
# a graph, and a product beside its communication. --only nccl: emitted NCCL programs, whose ranks share
# the GPU, which takes NCCL 2.30 or later (NVCC="nvcc -I.. -L.." names one). Exit code 1 if anything was
# wrong, 2 without nvcc or a GPU.
# Usage: benchmarks/gpu.sh [--dry-run | --build | --run] [--only kernels|workloads|nccl] [--ranks "2 3 .."]
#        [--largest 64M] [--sizes "10 11 .."] [--untimed] [DIRECTORY]
#   --build: writes and compiles everything in DIRECTORY, for ARCH (sm_90); needs nvcc and no GPU.
#   --run: runs it there, with a GPU and no compiler; a machine with a GPU is not kept waiting.
#   --dry-run: prints the commands for a GPU of 80 GB, and runs none of them; needs neither nvcc nor a GPU.
# JOBS: how many compile, or are checked, at a time (the processors). What is timed runs alone.
# What compiles without a GPU is benchmarks/compile.py's, and benchmarks/compile_workloads.py's.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
chorale=${CHORALE:-$here/../build/release/bin/chorale}
dry="" builds=yes runs=yes times=yes largest=64M only="kernels workloads" sizes=$(seq -s ' ' 10 30) rank_counts=$(seq -s ' ' 2 8)
failed=0 right=0 jobs=${JOBS:-$(nproc)}

refuse() { echo "benchmarks/gpu.sh: $1" >&2; exit 2; }
failure() { failed=$((failed + 1)); echo "FAILED: $*"; }

while [ $# -gt 0 ] && [ "${1#--}" != "$1" ]; do
  case $1 in
    --dry-run) dry=yes ;;
    --build) runs="" ;;
    --run) builds="" ;;
    --only) only=${2-}; shift ;;
    --untimed) times="" ;;
    --largest) largest=${2-}; shift ;;
    --ranks) rank_counts=${2-}; shift ;;
    --sizes) sizes=${2-}; shift ;;
    *) refuse "$1 is not an option: [--dry-run | --build | --run] [--only kernels|workloads|nccl] [--ranks \"2 3 ..\"] [--largest 64M] [--sizes \"10 11 ..\"] [--untimed] [DIRECTORY]" ;;
  esac
  shift
done
[ -n "$builds$runs" ] || refuse "--build or --run, or neither for both"
[ -n "$builds" ] || [ $# -eq 1 ] || refuse "--run takes the DIRECTORY of --build"
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
# WHAT COMMAND...: the same beside others; `together` waits for all of them and counts.
beside() {
  local what=$1 log=$work/asides.$$/$((++asides))
  shift
  if [ -n "$dry" ]; then do_it "$@"; return; fi
  mkdir -p "$work/asides.$$"
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  echo "$what" >"$log.what"
  { "$@" >"$log" 2>&1 && rm "$log.what"; } &
}
asides=0
together() {
  local each
  wait
  right=$((right + asides))
  for each in $(seq "$asides"); do
    [ -e "$work/asides.$$/$each.what" ] || continue
    right=$((right - 1))
    failure "$(cat "$work/asides.$$/$each.what")"
    tail -20 "$work/asides.$$/$each"
  done
  [ -n "$dry" ] || rm -rf "$work/asides.$$"
  asides=0
}
# What is printed before a colon, and after it, in microseconds: "best of 5: 12.3 us".
microseconds() { sed -n "s/.*$1[^:]*: \([0-9.]*\) us.*/\1/p" "$work/log" | tail -1; }

# PROGRAM ARGUMENTS...: under compute-sanitizer, where there is one. There is no shared memory to race for.
sanitize() {
  [ -n "$dry" ] || command -v compute-sanitizer >/dev/null || { echo "no compute-sanitizer: left out"; return; }
  local tool
  for tool in memcheck initcheck synccheck; do
    beside "$tool of $*" compute-sanitizer --error-exitcode 1 --tool "$tool" "$@"
  done
}

algorithms="ring_allreduce ring_allgather ring_reducescatter tree_allreduce direct_allreduce direct_alltoall binomial_broadcast"
# How sums of halves are made, by the name of a folder: defines of the program.
declare -A halves=([in_place]=-DIN_PLACE [widened_halves]="-DELEMENT=chorale::Float16 -DWIDEN" [bfloat16]=-DELEMENT=chorale::Bfloat16)

# FOLDER ALGORITHM DEFINES: emits it, and compiles the program.
program() {
  local folder=$work/$1
  do_it mkdir -p "$folder"
  logged "$chorale" classic "$2" "full:$ranks" --json "$folder.json" &&
    logged "$chorale" emit "$folder.json" --target cuda -o "$folder" || { failure "$1"; return; }
  beside "$1 does not compile" make -s -C "$(emitted "$1" cuda)" gpu "ARCH=$architecture" "DEFINES=$3"
}
# FOLDER ENDING: what was emitted there.
emitted() {
  local there=("$work/$1"/*."$2")
  if [ -n "$dry" ]; then echo "$work/$1/full_$ranks.$2"; else echo "${there[0]}"; fi
}

kernels() {
  local name folder
  if [ -n "$builds" ]; then
    for ranks in $rank_counts; do
      for name in $algorithms; do program "${name}_$ranks" "$name" ""; done
    done
    ranks=8
    for name in "${!halves[@]}"; do program "$name" ring_allreduce "${halves[$name]}"; done
    together
  fi
  [ -n "$runs" ] || return
  for ranks in $rank_counts; do
    for name in $algorithms; do
      folder=$(emitted "${name}_$ranks" cuda)
      sanitize "$folder/virtual_ranks_gpu" -b 4 -e 64K -f 128 -n 2 -s 2 -p 120
      beside "chorale run --transport gpu of $name, $ranks" "$chorale" run "$work/${name}_$ranks.json" --transport gpu \
        --bytes 8,104,1016,524296 --type all --op all --iterations 3
    done
  done
  together
  # What is timed is checked as well.
  for ranks in $rank_counts; do
    for name in $algorithms; do timed "$name, $ranks ranks" "${name}_$ranks"; done
  done
  ranks=8
  for name in "${!halves[@]}"; do timed "ring_allreduce, 8 ranks, ${halves[$name]}" "$name"; done
  together
}
# WHAT FOLDER
timed() {
  local command=("$(emitted "$2" cuda)/virtual_ranks_gpu" -b 1K -e "$largest" -f 8)
  if [ -z "$times" ]; then beside "$1" "${command[@]}"; return; fi
  echo "# $1"
  if do_it "${command[@]}"; then right=$((right + 1)); else failure "$1"; fi
}

# FOLDER FILE SCRIPT TARGETS [PRODUCTS]: in that schedule, built for each target; products by
# cuBLAS, or, "plain", not.
build() {
  logged "$chorale" compile "$2" --machine "full:$ranks" --ranks "$ranks" --apply "$3" -o "$work/$1" || { failure "$1"; return; }
  local target cublas=1
  [ "${5-}" != plain ] || cublas=""
  for target in $4; do beside "$1 does not compile for $target" make -s -C "$work/$1" "$target" "CUBLAS=$cublas" "ARCH=$architecture"; done
}

# FOLDER NAME ARGUMENTS...: does the GPU give what threads give, by plain launches and as a graph?
same_as_threads() {
  local folder=$work/$1 name=$2 way
  shift 2
  for way in "" " --graph"; do
    if [ -n "$dry" ]; then
      echo "diff <($folder/${name}_threads --runs 0 $*) <($folder/${name}_cuda --runs 0 $*$way)"
    else
      beside "${name}_cuda $*$way" diff_of "$folder/${name}_threads --runs 0 $*" "$folder/${name}_cuda --runs 0 $*$way"
    fi
  done
}
# COMMAND COMMAND: do they print the same?
diff_of() { diff <($1) <($2 2>&1); }

# LOG2: a row of times of fused and unfused Adam. A parameter of the fused one is 3 * ranks + 4
# elements of 4 bytes to and from
# memory: each rank's gradient is read once; m and v are read and written; the parameter is read,
# written, and for each of the other ranks once more. It takes 8 * ranks + 8 bytes of memory; the unfused
# one keeps up to 6 elements more.
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
  local examples=$here/../examples n type kind targets
  local apart="split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v)"
  local mixed="split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, w_, p_); asSlice(m); asSlice(v); asSlice(w)"
  local layer="split(sum, rs); reorder(sum; out); fuse(k; rs, s_out, out)"
  ranks=4
  if [ -n "$builds" ]; then
    build unfused "$examples/adam.chorale" "$apart" "cuda threads"
    build fused "$examples/adam.chorale" "$apart; fuse(k; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)" "cuda threads"
    for type in fp16 bf16; do
      if [ -n "$dry" ]; then
        echo "sed s/fp16/$type/g $examples/adam_mixed.chorale >$work/$type.chorale"
      else
        sed "s/fp16/$type/g" "$examples/adam_mixed.chorale" >"$work/$type.chorale"
      fi
      build "$type" "$work/$type.chorale" "$mixed; fuse(k; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_w_, s_p_, p_)" "cuda threads"
    done
    # A product, and the communication that takes it: one after the other, and beside it. cuBLAS may add in
    # another order than a host; the plain product adds in its order, so it is what is held against threads.
    for kind in cublas plain; do
      targets="cuda$([ "$kind" = cublas ] || echo " threads")"
      build "after_$kind" "$examples/self_attention.chorale" "$layer" "$targets" "$kind"
      build "beside_$kind" "$examples/self_attention.chorale" "$layer; overlap(o; layer, k)" "$targets" "$kind"
    done
    together
  fi
  [ -n "$runs" ] || return
  for n in 1 1000 1048579; do
    same_as_threads unfused adam "N=$n"
    same_as_threads fused adam "N=$n"
    for type in fp16 bf16; do same_as_threads "$type" adam_mixed "N=$n"; done
  done
  for n in after beside; do same_as_threads "${n}_plain" self_attention B=2 S=16 H=256; done
  sanitize "$work/fused/adam_cuda" N=5003 --runs 1 --channels 4
  sanitize "$work/beside_cublas/self_attention_cuda" B=2 S=16 H=256 --runs 1 --channels 4
  together
  [ -n "$times" ] || return
  for n in $sizes; do adam_row "$n"; done
  for n in after beside; do
    logged "$work/${n}_cublas/self_attention_cuda" B=8 S=1024 H=4096 --runs 20 || { failure "self_attention, $n"; tail -3 "$work/log"; continue; }
    right=$((right + 1))
    [ -n "$dry" ] || echo "self_attention, 8 x 1024 x 4096, communication $n its product: $(microseconds "ranks, best of") us"
  done
}

# One process, a thread a rank. Threads that share a GPU meet in host memory: with NCCL's other ways a plain
# all_reduce of four threads does not end.
nccl() {
  local name folder
  for ranks in $rank_counts; do
    for name in $algorithms; do
      folder=$work/nccl_${name}_$ranks
      if [ -n "$builds" ]; then
        do_it mkdir -p "$folder"
        logged "$chorale" classic "$name" "full:$ranks" --json "$folder.json" &&
          logged "$chorale" emit "$folder.json" --target nccl -o "$folder" || { failure "$name, $ranks"; continue; }
        beside "$name over NCCL, $ranks, does not compile" ${NVCC:-nvcc} -O3 -std=c++17 "-arch=$architecture" "$(emitted "nccl_${name}_$ranks" cu)" -o "$folder/program" -lnccl
      fi
    done
  done
  together
  [ -n "$runs" ] || return
  for ranks in $rank_counts; do
    for name in $algorithms; do
      beside "$name over NCCL, $ranks ranks" timeout 120 env NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_P2P_DISABLE=1 NCCL_MAX_CTAS=2 "$work/nccl_${name}_$ranks/program" 1009 3
    done
  done
  together
}

architecture=${ARCH:-sm_90}
if [ -n "$dry" ]; then
  memory=$((80 * 1000 * 1000 * 1000))
else
  [ -z "$builds" ] || command -v nvcc >/dev/null || refuse "no nvcc; install the CUDA toolkit"
  [ -z "$runs" ] || nvidia-smi -L >/dev/null 2>&1 || refuse "no GPU here; --build needs none, nor does benchmarks/compile.py; --dry-run says what would be done"
  mkdir -p "$work"
  if [ -n "$runs" ]; then
    [ -z "$builds" ] || architecture=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
    memory=$(($(nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits | head -1) << 20))
    echo "machine: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader), $(nvcc --version 2>/dev/null | sed -n 's/.*release/nvcc/p')"
    echo "commit: $(git -C "$here" rev-parse --short HEAD 2>/dev/null)"
  fi
fi
for part in $only; do
  case $part in
    kernels | workloads | nccl) "$part" ;;
    *) refuse "--only: $part is neither kernels, workloads nor nccl" ;;
  esac
done
[ -n "$dry" ] || echo "$right $([ -n "$runs" ] && echo "runs with every element right" || echo "programs compiled"), $failed failures"
[ "$failed" -eq 0 ]
