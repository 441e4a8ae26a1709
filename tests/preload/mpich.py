#!/usr/bin/env python3
"""MPICH takes the selection file: a name that it does not know, or a call that no branch is for, would end
it.

Usage: mpich.py CHORALE
"""
import json
import pathlib
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, run_chorale, skip, work  # noqa: E402

if not shutil.which("mpiexec.mpich") or not shutil.which("mpicc.mpich"):
    skip("MPICH is not here (Debian: mpich)")
(work / "spec.json").write_text(json.dumps({"machines": ["full:4"], "collectives": ["allreduce", "reducescatter"], "max_chunks": 1, "conflicts": 100}))
run_chorale("library", "build", "spec.json", "-o", "mpi.db")
run_chorale("library", "export", "mpi.db", "full:4", "allreduce", "reducescatter", "--as", "mpich-json", "-o", "out")
(work / "calls.c").write_text(r"""
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = atoi(argv[1]);
  int ranks = 0, sizes[64], starts[64];
  MPI_Comm all = MPI_COMM_WORLD;
  MPI_Comm_size(all, &ranks);
  for (int n = 0; n < ranks; ++n) sizes[n] = count, starts[n] = n * count;
  float *in = calloc((size_t)count * ranks, 4), *out = calloc((size_t)count * ranks, 4);
  MPI_Allgather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, all);
  MPI_Allgatherv(in, count, MPI_FLOAT, out, sizes, starts, MPI_FLOAT, all);
  MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, all);
  MPI_Alltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, all);
  MPI_Alltoall(MPI_IN_PLACE, count, MPI_FLOAT, out, count, MPI_FLOAT, all);
  MPI_Alltoallv(in, sizes, starts, MPI_FLOAT, out, sizes, starts, MPI_FLOAT, all);
  MPI_Alltoallv(MPI_IN_PLACE, sizes, starts, MPI_FLOAT, out, sizes, starts, MPI_FLOAT, all);
  MPI_Barrier(all);
  MPI_Bcast(in, count, MPI_FLOAT, 0, all);
  MPI_Exscan(in, out, count, MPI_FLOAT, MPI_SUM, all);
  MPI_Gather(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, all);
  MPI_Gatherv(in, count, MPI_FLOAT, out, sizes, starts, MPI_FLOAT, 0, all);
  MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, all);
  MPI_Reduce_scatter(in, out, sizes, MPI_FLOAT, MPI_SUM, all);
  MPI_Reduce_scatter_block(in, out, count, MPI_FLOAT, MPI_SUM, all);
  MPI_Scan(in, out, count, MPI_FLOAT, MPI_SUM, all);
  MPI_Scatter(in, count, MPI_FLOAT, out, count, MPI_FLOAT, 0, all);
  MPI_Scatterv(in, sizes, starts, MPI_FLOAT, out, count, MPI_FLOAT, 0, all);
  MPI_Request request;
  MPI_Iallreduce(in, out, count, MPI_FLOAT, MPI_SUM, all, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Ialltoall(in, count, MPI_FLOAT, out, count, MPI_FLOAT, all, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Finalize();
}
""")
run("mpicc.mpich", "-O1", "calls.c", "-o", "calls")
for ranks in (1, 3, 4):
    for count in (1, 5000, 300000):
        run("mpiexec.mpich", "-n", ranks, "./calls", count,
            env={"MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": str(work / "out" / "mpich_selection.json")})
