#!/usr/bin/env bash
# Runs every schedule of every result file in a directory under mpirun, one process a
# rank, and checks every byte.
# Usage: benchmarks/execute.sh DIRECTORY [BYTES], where DIRECTORY is what `synthesis --results` wrote. Exit
# code 1 if anything was wrong.
set -uo pipefail
directory=${1:?usage: benchmarks/execute.sh DIRECTORY [BYTES]}
bytes=${2:-8K,1048571}
chorale=$(dirname "$0")/../build/release/bin/chorale
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1

echo "machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) hardware threads, $(uname -sm)"
files=0 schedules=0 failed=0
for file in "$directory"/*.json; do
  ranks=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["topology"]["ranks"])' "$file")
  points=$(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["points"]))' "$file")
  for point in $(seq 0 $((points - 1))); do
    if output=$(mpirun --oversubscribe -n "$ranks" "$chorale" run "$file" --point "$point" --bytes "$bytes" --iterations 1 \
                       --transport mpi 2>&1); then
      schedules=$((schedules + 1))
    else
      failed=$((failed + 1))
      printf '%s point %s:\n%s\n' "$file" "$point" "$output"
    fi
  done
  files=$((files + 1))
done
echo "mpirun: $schedules schedules of $files results executed with every byte right, $failed failed (messages of $bytes bytes)"
[ "$failed" -eq 0 ]
