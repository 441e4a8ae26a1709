#!/usr/bin/env python3
"""The preload library in trouble: ranks that see different files, files that are too large or cannot be read,
too little memory, several threads. The program's results are its own, nothing hangs, nothing is thrown
into it, and it is reported what is wrong.

Usage: trouble.py CHORALE LIBRARY MPICC MPICXX FOLDER
"""
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, run, work  # noqa: E402

chorale, library, mpicc, mpicxx, folder = [str(pathlib.Path(a).absolute()) if "/" in a else a for a in sys.argv[1:6]]


def with_ours(*program, algorithms, ranks=4, order=""):
    """Algorithms: one list for all ranks, or one for each rank by number, which may go on with ';
    CHORALE_ORDER=fixed'."""
    if isinstance(algorithms, dict):
        cases = " ".join(f"{rank}) CHORALE_ALGORITHMS={paths};;" for rank, paths in algorithms.items())
        program = ["sh", "-c", f'case $OMPI_COMM_WORLD_RANK in {cases} esac; export CHORALE_ALGORITHMS; exec "$@"', "sh", *program]
        algorithms = ""
    done = mpirun(ranks, "-x", f"LD_PRELOAD={library}", "-x", "CHORALE_LOG=1", "-x", f"CHORALE_ORDER={order}", "-x", f"CHORALE_ALGORITHMS={algorithms}", *program)
    return done.stdout, done.stderr


def used(log):
    return tuple(map(int, re.search(r"(\d+) collectives by Chorale's algorithms, (\d+) passed on", log).groups()))


four = work / "four"
four.mkdir()
for name in ["ring_allreduce", "ring_allgather", "ring_reducescatter", "direct_alltoall", "binomial_broadcast"]:
    run(chorale, "classic", name, "full:4", "--json", str(four / f"{name}.json"))
run(chorale, "classic", "recursive_doubling_allreduce", "full:4", "--json", "other.json")
run(mpicc, "-O1", "-std=c11", f"{folder}/program.c", "-o", "program")
plain = mpirun(4, "./program").stdout

# Different files: the second half of the ranks has another AllReduce. Without the comparison this hangs.
allreduce = four / "ring_allreduce.json"
text, log = with_ours("./program", algorithms={0: allreduce, 1: allreduce, 2: "other.json", 3: "other.json"})
assert text == plain, (plain, text)
said = "ranks 0 and 2 of 4 have loaded different algorithms: MPI does their collectives; give all ranks the same files"
assert log.count(said) == 1, log
# What the first two have in common they use, and that is no collective of all: the program's halves are ranks
# 0, 2 and 1, 3.
assert used(log)[0] == 0, log

# One rank cannot read a file, and reports which.
text, log = with_ours("./program", algorithms={0: four, 1: four, 2: four, 3: f"{four}:nowhere.json"})
assert text == plain and used(log)[0] > 100, log  # what was loaded is the same
text, log = with_ours("./program", algorithms={0: four, 1: "nowhere.json", 2: four, 3: four})
assert text == plain and used(log)[0] == 0, log
assert "ranks 0 and 1 of 4 have loaded different" in log and "rank 1: nowhere.json: cannot be read" in log, log

# The same files, of which some ranks may use sums of a fixed order alone; and an order that is none. Both are
# MPI's.
run(chorale, "frontier", "full:4", "allreduce", "--order", "fixed", "--json", str(four / "fixed.json"))
text, log = with_ours("./program", algorithms={0: f"{four}; CHORALE_ORDER=fixed", 1: f"{four}; CHORALE_ORDER=fixed", 2: four, 3: four})
assert text == plain and "ranks 0 and 2 of 4 have loaded different" in log and used(log)[0] == 0, log
text, log = with_ours("./program", algorithms=four, order="Fixed")
assert text == plain and used(log)[0] == 0 and log.count("CHORALE_ORDER: 'Fixed' is not an order of sums: no algorithms are loaded; use fixed or agreed") == 1, log
for order in ("agreed", "fixed"):
    text, log = with_ours("./program", algorithms=four, order=order)
    assert text == plain and used(log)[0] > 100, log
(four / "fixed.json").unlink()

# A huge file, a device that never ends, a pipe that nobody writes to: not loaded, stated, and no wait; the
# rest is used.
with open(work / "huge.json", "w") as file:
    file.truncate(3 << 30)
os.mkfifo(work / "pipe.json")
start = time.monotonic()
text, log = with_ours("./program", algorithms=f"huge.json:pipe.json:/dev/zero:{four}")
assert text == plain and used(log)[0] > 100, log
assert "huge.json: is not loaded: 3 GiB" in log and "pipe.json: is not a plain file" in log and "/dev/zero: is not a plain file" in log, log
assert time.monotonic() - start < 60, f"{time.monotonic() - start} s"

# One rank has too little memory, for loading or for a call.
run(mpicxx, "-O1", "-std=c++17", "-rdynamic", f"{folder}/memory.cpp", "-o", "memory")
text, log = with_ours("./memory", "load", algorithms=four)
assert text == "right\n" and used(log)[0] == 0, (text, log)
assert "ranks 0 and 1 of 4 have loaded different" in log and "rank 1: " in log and "not enough memory" in log, log
text, log = with_ours("./memory", "call", algorithms=four)
assert text == "right\n" and log.count("a rank has not enough memory for our algorithms") == 1, (text, log)
assert used(log) == (8, 3), log  # 7 small calls and the last large one; three large ones were MPI's

# A count below zero is an error that MPI reports. Among 9 ranks the counts are almost alike.
run(mpicc, "-O1", "-std=c11", f"{folder}/counts.c", "-o", "counts")
nine = work / "nine"
nine.mkdir()
for name in ["ring_allgather", "ring_reducescatter"]:
    run(chorale, "classic", name, "full:9", "--json", str(nine / f"{name}.json"))
text, log = with_ours("./counts", algorithms=nine, ranks=9)
assert text == mpirun(9, "./counts").stdout and text.endswith(" 1\n"), text
assert used(log) == (2, 2) and log.count("passed on to MPI: its counts are wrong") == 2, log

# Several threads.
run(mpicc, "-O1", "-std=c11", "-pthread", f"{folder}/threads.c", "-o", "threads")
text, log = with_ours("./threads", algorithms=four)
assert text == "right\n" and used(log)[1] == 0 and used(log)[0] == 5 * (1 + 2 * 60 + 6), (text, log)

# mpi4py asks for threads whether or not it has any.
python = "/usr/bin/python3"  # Debian's, which has Debian's packages
if subprocess.run([python, "-c", "import mpi4py"], capture_output=True).returncode != 0:
    print("all as without us; SKIPPED: mpi4py is not installed (apt-get install python3-mpi4py)")
    sys.exit(0)
(work / "program.py").write_text("""
from array import array
from mpi4py import MPI
comm = MPI.COMM_WORLD
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
for n in [1, 10, 1000]:
    got = array('d', [0]) * n
    comm.Allreduce(array('d', [comm.rank]) * n, got)
    assert list(got) == [6] * n
    got = array('i', [0]) * 4 * n
    comm.Allgather(array('i', [comm.rank]) * n, got)
    assert list(got) == [i // n for i in range(4 * n)]
assert comm.bcast({'a': 1} if comm.rank == 0 else None) == {'a': 1}
""")
_, log = with_ours(python, "program.py", algorithms=four)
assert used(log)[0] >= 8, log
print(f"all as without us; mpi4py: {used(log)[0]} collectives replaced, {used(log)[1]} passed on")
