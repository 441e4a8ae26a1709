#!/usr/bin/env python3
"""What a library's algorithms take is measured beside MPI's own, kept in the file, and decides: in 'select'
and in a preloaded program. Times that we write into the file ourselves show that it does.

Usage: measured.py CHORALE LIBRARY MPICC SOURCE
"""
import pathlib
import re
import sqlite3
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, refused, run, work  # noqa: E402

chorale, library, mpicc, source = [str(pathlib.Path(a).absolute()) if "/" in a else a for a in sys.argv[1:5]]


(work / "spec.json").write_text('{"machines": ["full:2", "ring:4"], "collectives": ["allreduce", "broadcast"], "max_chunks": 2,'
                                '"groups": ["all"], "conflicts": 1000}')
run(chorale, "library", "build", "spec.json", "-o", "two.db")
assert "predicted" in run(chorale, "library", "select", "two.db", "full:2", "allreduce")
measure = [chorale, "library", "measure", "two.db", "full:2", "--bytes", "100,3000", "--rounds", "3", "--times", "2"]
text = mpirun(2, *measure)
lines = [line.split() for line in text.splitlines()]
assert [line[:2] for line in lines].count(["all", "allreduce"]) == 2 and [line[:2] for line in lines].count(["all", "broadcast"]) == 2, text
file = sqlite3.connect(work / "two.db")
rows = file.execute("SELECT key, over, point, bytes, median_us, least_us, most_us, times FROM measured").fetchall()
assert len({(row[0], row[3]) for row in rows}) == 4 and {row[3] for row in rows} == {100, 3000}, rows
for key, size in {(row[0], row[3]) for row in rows}:
    points = [row[2] for row in rows if (row[0], row[3]) == (key, size)]
    assert -1 in points and len(points) > 1 and len(set(points)) == len(points), rows
assert all(row[1] == "mpi" and 0 < row[5] <= row[4] <= row[6] and row[7] == 6 for row in rows), rows
shown = run(chorale, "library", "show", "two.db").split("Measured, ")
table = shown[1].replace(";", " ").split()  # of narrow terminals: last columns under their rows
of_point = {}
for key, _, point, size, median, least, most, _ in rows:
    of_point.setdefault((key, size), {})[point] = (median, least, most)
for of in of_point.values():
    best = min((each for each in of if each >= 0), key=lambda each: of[each][0])
    ours, own = ([f"{value:.1f}" for value in of[which][:2]] for which in (best, -1))
    # Between the two: GB/s, and bus bandwidth.
    assert any(table[i:i + 2] == ours and table[i + 4:i + 6] == own for i in range(len(table))), (ours, own, table)
assert table.count("full:2") == 4 and len(shown) == 2, shown
mpirun(2, *measure)
assert len(file.execute("SELECT * FROM measured").fetchall()) == len(rows)  # in the place of the older ones
assert "measured" in run(chorale, "library", "select", "two.db", "full:2", "allreduce", "--bytes", "1K")
assert "predicted" in run(chorale, "library", "select", "two.db", "ring:4", "allreduce", "--bytes", "1K")
assert "verified" in run(chorale, "library", "verify", "two.db")

# Refused, in one line.
refused(*measure[1:], says="was not started by mpirun")
assert "has 2 ranks, and there are 3 processes; use mpirun -n 2" in mpirun(3, *measure, code=2)
assert "full:3: is not in the library" in mpirun(3, *[word.replace("full:2", "full:3") for word in measure], code=2)

# Times over another library are a matter of their own.
over = ["select", "two.db", "full:2", "allreduce", "--bytes", "3000"]
file.execute("INSERT INTO measured SELECT key, 'nccl', point, bytes, 7, 7, 7, 1 FROM measured WHERE point = -1")
file.execute("INSERT INTO measured SELECT key, 'nccl', point, bytes, 9, 9, 9, 1 FROM measured WHERE point >= 0 AND over = 'mpi'")
file.commit()
refused("library", *over, says="there are times over mpi and nccl; choose which decide: --over mpi")
text = run(chorale, "library", *over, "--over", "nccl")
assert re.search(r"9 us\s+measured; NCCL.s own took 7 us", text), text
assert "NCCL" not in run(chorale, "library", *over, "--over", "mpi")
file.execute("DELETE FROM measured WHERE over = 'nccl'")
file.commit()

# Without GPUs there is nothing over NCCL.
if not pathlib.Path("/dev/nvidia0").exists():
    text = mpirun(2, *measure, "--over", "nccl", code=2)
    assert text.count("chorale: error:") >= 1 and "nccl" in text, text
    assert file.execute("SELECT count(*) FROM measured WHERE over = 'nccl'").fetchone() == (0,)

# With other times in the file the preloaded program does otherwise, and its results stay what they are.
run(mpicc, "-O1", "-std=c11", source, "-o", "program")
plain = mpirun(2, "./program")
used = {}
for own in (0.05, 1e9):
    file.execute("UPDATE measured SET least_us = ?1, median_us = ?1, most_us = ?1 WHERE point = -1", (own,))
    file.commit()
    done = mpirun(2, "-x", f"LD_PRELOAD={library}", "-x", "CHORALE_LOG=1", "-x", "CHORALE_ALGORITHMS=two.db", "./program")
    text = done.stdout + done.stderr
    assert all(line in text for line in plain.splitlines()), text
    used[own] = int(re.search(r"(\d+) collectives by Chorale's algorithms", text)[1])
    faster = "MPI_Allreduce, 2 ranks, blocks of 7 int32: passed on to MPI: its own was measured to be faster: 0.05 us against" in text
    assert faster == (own < 1), text
    assert ("took 0.05 us" in run(chorale, "library", "select", "two.db", "full:2", "allreduce", "--bytes", "3000")) == (own < 1)
assert used[0.05] == 0 and used[1e9] > 50, used
print(f"{len(rows)} times measured; {used[1e9]} collectives replaced where MPI's own is slow, none where it is fast")
