#!/usr/bin/env python3
"""An unmodified program over NCCL, with and without the preload library: the same results, and our algorithms
were used.

NCCL and the devices are tests/nccl/shim, threads of one process. Usage: preload.py CHORALE LIBRARY PROGRAM
"""
import pathlib
import re
import sqlite3
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, work  # noqa: E402

chorale, library, program = [str(pathlib.Path(a).absolute()) for a in sys.argv[1:4]]


def replaced(algorithms, **more):
    done = run(program, env={"LD_PRELOAD": library, "CHORALE_LOG": "1", "CHORALE_ALGORITHMS": algorithms, **more})
    return done.stdout, done.stderr


def used(log):
    return tuple(map(int, re.search(r"(\d+) collectives by Chorale's algorithms, (\d+) passed on", log).groups()))


(work / "four").mkdir()
for collective in ["allreduce", "allgather", "reducescatter", "alltoall"]:
    run(chorale, "frontier", "ring:4", collective, "--max-chunks", "2", "--json", f"four/{collective}.json")
for root in range(4):
    for collective in ["broadcast", "reduce"]:
        run(chorale, "frontier", "ring:4", collective, "--root", str(root), "--json", f"four/{collective}_{root}.json")

plain = run(program).stdout
assert plain.count("checksum") == 4, plain
ours, log = replaced(str(work / "four"))
assert ours == plain, (plain, ours, log)
count, passed = used(log)
assert count > 150 and passed > 0, log
for call in ["ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclAlltoAll", "ncclBroadcast", "ncclReduce"]:
    assert re.search(call + r", 4 ranks, .*json, point \d+", log), (call, log)
for why in ["no allreduce for 2 ranks", "its operation is not sum, prod, min, max or avg", "it is in a group"]:
    assert why in log, (why, log)

# With a wait after each step; and on devices without memory pools.
ours, _ = replaced(str(work / "four"), CHORALE_CHECK="20")
assert ours == plain, (plain, ours)
ours, log = replaced(str(work / "four"), CHORALE_SHIM_NO_POOLS="1")
assert ours == plain and used(log)[0] == 0 and "the device has no memory pools" in log, log

# What was measured over NCCL decides, and nothing else.
(work / "spec.json").write_text('{"machines": ["ring:4"], "collectives": ["allreduce"], "groups": ["all"], "max_chunks": 2, "conflicts": 1000}')
run(chorale, "library", "build", "spec.json", "-o", "ring.db")
file = sqlite3.connect(work / "ring.db")
key = file.execute("SELECT key FROM answers").fetchone()[0]
for over, own, ours_wins in [("mpi", 1, 1), ("nccl", 9, 1), ("nccl", 1, 0)]:
    file.execute("DELETE FROM measured")
    for point, us in [(-1, own), (0, 5)]:
        file.execute("INSERT INTO measured VALUES (?, ?, ?, 4096, ?, ?, ?, 1)", (key, over, point, us, us, us))
    file.commit()
    ours, log = replaced(str(work / "ring.db"))
    assert ours == plain and (used(log)[0] > 0) == ours_wins, (over, own, log)
    assert ("its own was measured to be faster: 1 us against 5 us" in log) == (ours_wins == 0), log

# Nothing at hand, or nothing that can be read: NCCL does it all, and it is reported why.
ours, log = replaced("")
assert ours == plain and used(log)[0] == 0 and "no algorithms were given" in log, log
(work / "broken.json").write_text("{")
ours, log = replaced(str(work / "broken.json"))
assert ours == plain and used(log)[0] == 0 and "broken.json" in log, log
print(f"{count} collectives replaced, {passed} passed on, results unchanged")
