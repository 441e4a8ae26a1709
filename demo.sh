#!/usr/bin/env bash
# The main job on real input: the proven Pareto frontier of Allgather on a DGX-1, checked again from the file
# alone, looked at; the AllReduce of every message size with a program for all; and every algorithm of the
# first run by eight MPI processes that check every byte.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
cmake --build --preset release --target chorale
chorale=build/release/bin/chorale
out=build/demo
mkdir -p "$out"

"$chorale" frontier dgx1 allgather --max-chunks 6 --json "$out/dgx1_allgather.json"
"$chorale" check "$out/dgx1_allgather.json"
"$chorale" show "$out/dgx1_allgather.json" --html "$out/dgx1_allgather.html" >/dev/null
echo "the page: $out/dgx1_allgather.html"
"$chorale" optimize dgx1 allreduce -o "$out/allreduce" || test $? = 3  # 3: not all rows are proven

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun --oversubscribe -n 8 "$chorale" run "$out/dgx1_allgather.json" --point all --sizes 1K:1M:32 --transport mpi
