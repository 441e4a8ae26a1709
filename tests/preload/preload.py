#!/usr/bin/env python3
"""Unmodified MPI programs with and without the preload library: the same results, and our algorithms were
used.

Usage: preload.py CHORALE LIBRARY MPICC SOURCE
"""
import os
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, run, work  # noqa: E402

chorale, library, mpicc, source = [str(pathlib.Path(a).absolute()) if "/" in a else a for a in sys.argv[1:5]]
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")


def under_mpi(ranks, program, algorithms=None, cwd=work):
    ours = [] if algorithms is None else ["-x", f"LD_PRELOAD={library}", "-x", "CHORALE_LOG=1", "-x", f"CHORALE_ALGORITHMS={algorithms}"]
    done = mpirun(ranks, *ours, program, cwd=cwd)
    return done.stdout, done.stderr


def algorithms(folder, machine):
    (work / folder).mkdir()
    for collective in ["allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce"]:
        run(chorale, "frontier", machine, collective, "--max-chunks", "2", "--json", f"{folder}/{collective}.json")
    return str(work / folder)


def used(log):
    return tuple(map(int, re.search(r"(\d+) collectives by Chorale's algorithms, (\d+) passed on", log).groups()))


run(mpicc, "-O1", "-std=c11", source, "-o", "program")
four = algorithms("four", "ring:4")
plain, _ = under_mpi(4, "./program")
assert "0 unknowns wrong" in plain
replaced, log = under_mpi(4, "./program", four)
assert replaced == plain, (plain, replaced)
ours, passed = used(log)
assert ours > 100 and passed > 0, log
for call in ["MPI_Allreduce", "MPI_Allgather", "MPI_Reduce_scatter_block", "MPI_Alltoall", "MPI_Bcast"]:
    assert re.search(call + r", 4 ranks, .*json, point \d+", log), (call, log)
# Equal counts, and counts that are as even as they go, are filled up; others are MPI's.
for call, name in [("MPI_Allgatherv", "allgatherv"), ("MPI_Reduce_scatter", "reducescatterv")]:
    assert re.search(call + r", 4 ranks, blocks of (100|400) .*json, point \d+", log), (call, log)
    assert re.search(call + r", 4 ranks.*passed on to MPI: no " + name + " of these counts for 4 ranks", log), (call, log)
for call in ["MPI_Alltoallv", "MPI_Gatherv", "MPI_Scatterv"]:
    assert re.search(call + r", 4 ranks.*passed on to MPI: no rank knows the counts of all", log), (call, log)
# With algorithms for one of the uneven counts that the program uses, too, one of them with a rank that has
# none.
for name, counts in [("allgatherv", "1,2,3,4"), ("reducescatterv", "1,2,3,4"), ("allgatherv", "0,1,0,1")]:
    run(chorale, "frontier", "ring:4", name, "--counts", counts, "--max-chunks", "2", "--json", f"four/{name}_{counts[0]}.json")
replaced, log = under_mpi(4, "./program", four)
assert replaced == plain, (plain, replaced)
assert used(log)[0] > ours, log
assert len(re.findall(r"MPI_Allgatherv, 4 ranks, .*: .*allgatherv_\d.json, point", log)) >= 4, log
assert re.search(r"MPI_Reduce_scatter, 4 ranks, .*: .*reducescatterv_1.json, point", log), log
assert re.search(r"MPI_Reduce_scatter, 4 ranks.*: no reducescatterv of these counts", log), log

# The files have algorithms for root 0, and a ring is as it is from any other.
for call, root in [("MPI_Bcast", 3), ("MPI_Reduce", 2)]:
    assert re.search(f"{call}, 4 ranks, blocks of .*, root {root}: .*json, point", log), (call, log)
for why in ["no allreduce for 2 ranks", "its operation is not sum, prod, min or max"]:
    assert why in log, (why, log)

# Nothing at hand, or nothing that can be read: MPI does it all, and it is reported why.
replaced, log = under_mpi(4, "./program", "")
assert replaced == plain and used(log)[0] == 0 and "no algorithms were given" in log, log
(work / "broken.json").write_text("{")
replaced, log = under_mpi(4, "./program", str(work / "broken.json"))
assert replaced == plain and used(log)[0] == 0 and "broken.json" in log, log

# A program of Debian's that solves something: HPC Challenge checks its own residuals.
if shutil.which("hpcc") is None:
    print(f"{ours} collectives replaced, results unchanged; SKIPPED: hpcc is not installed (apt-get install hpcc)")
    sys.exit(0)
results = []
for name, with_ours in [("plain", None), ("replaced", four)]:
    folder = work / name
    folder.mkdir()
    # Debian's example with less to solve: the collectives are the same, and there are as many checks.
    example = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text()
    smaller = re.sub(r"^1000( +Ns)$", r"200\1", example, flags=re.M)
    assert smaller != example
    (folder / "hpccinf.txt").write_text(smaller)
    _, log = under_mpi(4, "hpcc", with_ours, cwd=folder)
    text = (folder / "hpccoutf.txt").read_text()
    assert "Success=1" in text and "FAILED" not in text, text[-2000:]
    # Lines by CPU time are left out by hpcc where that was too short for its clock.
    results.append((len(re.findall(r"^(?!CPU).*PASSED", text, re.M)), re.findall(r"Found \d+ errors", text)))
assert results[0] == results[1] and results[0][0] > 5, results
assert used(log)[0] > 100, log
print(f"{ours} collectives replaced, results unchanged; hpcc: {used(log)[0]} replaced, {results[1][0]} checks passed as without")
