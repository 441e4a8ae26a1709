#!/usr/bin/env python3
"""libchorale-mpi as installed: a C program is compiled against it, linked, and run under mpirun; only the
calls of its header are visible, and the header is C and C++.

Usage: library.py CHORALE CMAKE BUILD MPICC MPICXX SOURCE
"""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, run, work  # noqa: E402

chorale, cmake, build, mpicc, mpicxx, source = sys.argv[1:7]
run(cmake, "--install", build, "--prefix", str(work / "usr"))
(library,) = (work / "usr").glob("lib*/**/libchorale-mpi.so")
assert (work / "usr/bin/chorale").exists() and (work / "usr/include/chorale/mpi.h").exists()
assert run(str(work / "usr/bin/chorale"), "--version").startswith("chorale ")
exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", str(library)).splitlines()}
ours = {f"chorale_mpi_{name}" for name in ["load", "allreduce", "allgather", "reduce_scatter_block", "allgatherv", "reduce_scatter", "alltoall", "alltoallv", "bcast", "reduce", "failed",
                                           "last_error", "last_algorithm", "why_not"]}
assert ours <= exported, ours - exported
assert not [name for name in exported - ours if "chorale" in name or name.startswith(("MPI_", "PMPI_"))], exported - ours

(work / "four").mkdir()
for collective in ["allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce"]:
    run(chorale, "frontier", "ring:4", collective, "--max-chunks", "2", "--json", f"four/{collective}.json")
(work / "broken.json").write_text("{")
run(chorale, "classic", "ring_allreduce", "full:4", "--json", "own0.json")
run(chorale, "classic", "tree_allreduce", "full:4", "--json", "own1.json")
flags = ["-Wall", "-Wextra", "-Werror", f"-I{work}/usr/include"]
run(mpicc, "-O1", "-std=c11", *flags, source, f"-L{library.parent}", f"-Wl,-rpath,{library.parent}", "-lchorale-mpi", "-o",
    "program")
(work / "header.cpp").write_text("#include <chorale/mpi.h>\nint main() { return chorale_mpi_last_error() == nullptr; }\n")
run(mpicxx, "-std=c++17", "-DOMPI_SKIP_MPICXX", *flags, "header.cpp", f"-L{library.parent}", f"-Wl,-rpath,{library.parent}",
    "-lchorale-mpi", "-o", "header")
run("./header")
text = mpirun(4, "./program", "four", "broken.json", "own")
assert text == "right\n", text
print("the installed library is linked, and every collective is as MPI's")
