"""A measured library on a machine that stands: built for it, measured on it, and preloaded into a program of
mpi4py, which is run with and without it in turn."""
import json
import re
import statistics
import subprocess

COLLECTIVES = ["allgather", "allreduce", "alltoall", "reducescatter", "broadcast", "reduce"]
# Times of each call, since ranks leave a collective at different times: from a barrier until the last has it.
# Checks are of all that was received.
PROGRAM = """
import json, sys, time
from array import array
from mpi4py import MPI
comm = MPI.COMM_WORLD
n, calls = comm.size, 3
def buffers(name, count):
    one, all = array('d', [float((comm.rank * 7 + i) % 17) for i in range(count)]), array('d', [0.0]) * (n * count)
    many = array('d', [float((comm.rank * 5 + i) % 13) for i in range(n * count)])
    part = array('d', [0.0]) * count
    return {'allgather': (lambda: comm.Allgather(one, all), all), 'allreduce': (lambda: comm.Allreduce(one, part), part),
            'alltoall': (lambda: comm.Alltoall(many, all), all), 'reducescatter': (lambda: comm.Reduce_scatter_block(many, part), part),
            'broadcast': (lambda: comm.Bcast(one, root=0), one), 'reduce': (lambda: comm.Reduce(one, part, root=0), part)}[name]
rows = []
for name in sys.argv[1].split(','):
    for size in map(int, sys.argv[2].split(',')):
        whole = name in ('allreduce', 'broadcast', 'reduce')
        call, received = buffers(name, size // 8 if whole else size // n // 8)
        call()
        times = []
        for _ in range(calls):
            comm.Barrier()
            start = time.perf_counter()
            call()
            times.append(comm.allreduce(time.perf_counter() - start, MPI.MAX))
        check = comm.allreduce(sum((i % 101 + 1) * x for i, x in enumerate(received)) * (comm.rank + 1))
        rows.append([name, size, 1e6 * min(times), check])
if comm.rank == 0:
    print(json.dumps(rows))
"""


class Held:
    """The machine is `file`, as chorale reads it. Sizes are of the largest buffer of a rank."""

    def __init__(self, network, chorale, preload, file, conflicts):
        self.network, self.chorale, self.preload, self.file, self.conflicts = network, chorale, preload, file, conflicts

    def build(self):
        spec = {"machines": [str(self.file)], "collectives": COLLECTIVES, "max_chunks": 2, "conflicts": self.conflicts}
        (self.network.work / "spec.json").write_text(json.dumps(spec))
        done = subprocess.run([self.chorale, "library", "build", "spec.json", "-o", "held.db"], capture_output=True, text=True, cwd=self.network.work)
        return done.stdout.strip() if done.returncode in (0, 3) else f"library build: {done.stderr.strip()}"

    def measure(self, sizes):
        return self.network.mpirun([self.chorale, "library", "measure", "held.db", self.file, "--bytes", ",".join(map(str, sizes)), "--rounds", 3,
                                    "--times", 1], seconds=1500)

    def program(self, sizes, ours):
        """(collective, bytes) -> (us, check), and what the preloaded library stated."""
        (self.network.work / "program.py").write_text(PROGRAM)
        words = ["env", f"LD_PRELOAD={self.network.work}/idle.so:{self.preload}", "CHORALE_LOG=1", f"CHORALE_ALGORITHMS={self.network.work}/held.db"] if ours else []
        out, log = self.network.mpirun_said([*words, "/usr/bin/python3", "program.py", ",".join(COLLECTIVES), ",".join(map(str, sizes))], seconds=600)
        return {(name, size): (us, check) for name, size, us, check in json.loads(out)}, log

    def compared(self, sizes, turns):
        """(collective, bytes) -> (median of MPI's own, of ours, results the same), and (by ours, passed
        on)."""
        runs, log = {True: [], False: []}, ""
        for turn in range(turns):
            for ours in (turn % 2 == 0, turn % 2 != 0):
                times, said = self.program(sizes, ours)
                runs[ours].append(times)
                log = said if ours else log
        rows = {}
        for key in runs[True][0]:
            checks = {run[key][1] for each in runs.values() for run in each}
            median = {ours: statistics.median(run[key][0] for run in each) for ours, each in runs.items()}
            rows[key] = (median[False], median[True], len(checks) == 1)
        used = re.search(r"(\d+) collectives by Chorale's algorithms, (\d+) passed on", log)
        return rows, tuple(map(int, used.groups())) if used else (0, 0)
