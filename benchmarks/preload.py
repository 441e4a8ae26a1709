#!/usr/bin/env python3
"""What a measured library does for programs that know nothing of us, on 4 ranks of this machine: hpcc
(Debian's) and a program of mpi4py, with MPI's own collectives and preloaded, in turn; results, share of
collectives replaced, times. With --tests mpi4py's own tests of its collectives, from the folder test/ of
its sources, with its default threads.

Usage: preload.py CHORALE LIBRARY [--turns N] [--tests FOLDER]
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's packages
SPEC = """{"machines": ["full:4"], "collectives": ["allreduce", "allgather", "alltoall", "reducescatter", "broadcast", "reduce"],
 "max_chunks": 2, "conflicts": 1000}"""
PROGRAM = """
from array import array
import time
from mpi4py import MPI
comm = MPI.COMM_WORLD
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
def every(n, turns):
    check = 0
    for turn in range(turns):
        mine, sums = array('d', [float((comm.rank * 7 + i + turn) % 17) for i in range(n)]), array('d', [0.0]) * n
        comm.Allreduce(mine, sums)
        all = array('d', [0.0]) * (4 * n)
        comm.Allgather(sums, all)
        turned = array('d', [0.0]) * (4 * n)
        comm.Alltoall(all, turned)
        part = array('d', [0.0]) * n
        comm.Reduce_scatter_block(turned, part)
        comm.Bcast(part, root=turn % 4)
        total = array('d', [0.0]) * n
        comm.Reduce(part, total, root=(turn + 1) % 4)
        check = (check * 31 + int(sum(part)) + int(sum(total))) % 1000000007
    return check
every(10, 4)
comm.Barrier()
start = time.perf_counter()
checks = [every(n, turns) for n, turns in [(8, 200), (512, 100), (16384, 20)]]
comm.Barrier()
seconds = time.perf_counter() - start
checks = comm.gather(checks)
if comm.rank == 0:
    print(checks)
    print('seconds', seconds)
"""

parser = argparse.ArgumentParser()
parser.add_argument("chorale")
parser.add_argument("library")
parser.add_argument("--turns", type=int, default=7)
parser.add_argument("--tests")
options = parser.parse_args()
chorale, library = (str(pathlib.Path(a).absolute()) for a in (options.chorale, options.library))
work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_preload_"))
os.environ.update(COLUMNS="1000", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1", OMP_NUM_THREADS="1",
                  OPENBLAS_NUM_THREADS="1")


def run(*command, cwd=work):
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def under_mpi(*program, ours, cwd=work):
    preload = ["-x", f"LD_PRELOAD={library}", "-x", "CHORALE_LOG=1", "-x", f"CHORALE_ALGORITHMS={work}/four.db"] if ours else []
    return run("mpirun", "--oversubscribe", "-n", "4", *preload, *program, cwd=cwd)


def used(log):
    return tuple(map(int, re.search(r"(\d+) collectives by Chorale's algorithms, (\d+) passed on", log).groups()))


def hpcc(ours):
    folder = pathlib.Path(tempfile.mkdtemp(dir=work))
    example = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text()
    (folder / "hpccinf.txt").write_text(re.sub(r"^1000( +Ns)$", r"200\1", example, flags=re.M))
    start = time.monotonic()
    _, log = under_mpi("hpcc", ours=ours, cwd=folder)
    seconds = time.monotonic() - start
    text = (folder / "hpccoutf.txt").read_text()
    assert "Success=1" in text and "FAILED" not in text
    # Lines by CPU time are left out by hpcc where that was too short for its clock.
    return (len(re.findall(r"^(?!CPU).*PASSED", text, re.M)), re.findall(r"Found \d+ errors", text)), seconds, log


def mpi4py(ours):
    text, log = under_mpi(PYTHON, "program.py", ours=ours)
    checks, seconds = re.fullmatch(r"(.*)\nseconds (.*)\n", text).groups()
    return checks, float(seconds), log


def compared(name, program):
    """Both in turn, the first alternating."""
    results, times, log = set(), {True: [], False: []}, ""
    for turn in range(options.turns):
        for ours in (turn % 2 == 0, turn % 2 != 0):
            result, seconds, said = program(ours)
            results.add(str(result))
            times[ours].append(seconds)
            log = said if ours else log
    by_ours, passed = used(log)
    median = {ours: statistics.median(t) for ours, t in times.items()}
    words = {ours: f"{median[ours]:.2f} s ({min(t):.2f}-{max(t):.2f})" for ours, t in times.items()}
    faster = len(re.findall("its own was measured to be faster", log))
    print(f"{name}: results {'unchanged' if len(results) == 1 else 'DIFFER'}; {by_ours} of {by_ours + passed} collectives replaced "
          f"({100 * by_ours / (by_ours + passed):.0f} %), MPI's own measured to be faster for {faster} kinds of call; MPI's own {words[False]}, "
          f"preloaded {words[True]}: {median[True] / median[False]:.2f} times as long, medians of {options.turns}", flush=True)
    return len(results) == 1


(work / "program.py").write_text(PROGRAM)
(work / "spec.json").write_text(SPEC)
run(chorale, "library", "build", "spec.json", "-o", "four.db")
print(run("mpirun", "--oversubscribe", "-n", "4", chorale, "library", "measure", "four.db", "full:4", "--bytes", "8,64,1K,4K,32K,256K,1M")[0], end="",
      flush=True)
good = True
if shutil.which("hpcc"):
    good &= compared("hpcc", hpcc)
else:
    print("SKIPPED: hpcc is not installed (apt-get install hpcc)")
if subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True).returncode == 0:
    good &= compared("mpi4py program", mpi4py)
    if options.tests:
        _, log = under_mpi(PYTHON, "runtests.py", "-q", "-i", r"test_cco_(obj|buf|vec|nb_buf|nb_vec)$", ours=True, cwd=options.tests)
        tests = sorted(set(map(int, re.findall(r"Ran (\d+) tests", log))))
        by_ours, passed = used(log)
        print(f"mpi4py's own tests of its collectives, default threads: {tests} tests, {len(re.findall('^OK', log, re.M))} of 4 ranks OK; {by_ours} "
              f"collectives by ours, {passed} passed on")
else:
    print("SKIPPED: mpi4py is not installed (apt-get install python3-mpi4py)")
sys.exit(not good)
