#!/usr/bin/env python3
"""A library that is ready for failures, in programs while links fail: from the next call on all ranks use the
algorithms without the link, named by a file or a call; the program checks every result and every message. A
failed rank, a mended link, a failure that nothing is ready for.

Usage: failures.py CHORALE PRELOAD LIBRARY INCLUDE MPICC SOURCE
"""
import json
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, run, work  # noqa: E402

chorale, preload, library, include, mpicc, source = [str(pathlib.Path(a).absolute()) if "/" in a else a for a in sys.argv[1:7]]
(work / "spec.json").write_text(json.dumps({"machines": ["ring:4"], "collectives": ["allreduce", "allgather"], "max_chunks": 2, "conflicts": 1000}))
run(chorale, "library", "build", "spec.json", "--failures", 1, "-o", "ready.db")
run(mpicc, "-O1", "-std=c11", source, "-o", "plain")
run(mpicc, "-O1", "-std=c11", "-DLIBRARY", f"-I{include}", source, library, f"-Wl,-rpath,{pathlib.Path(library).parent}", "-o", "calls")


def preloaded(program, library, failed, *more):
    return mpirun(4, "-x", f"LD_PRELOAD={preload}", "-x", "CHORALE_LOG=1", "-x", f"CHORALE_ALGORITHMS={library}", "-x", f"CHORALE_FAILED={work}/{failed}",
                  *more, *program)


# The file at each call; and the same after a signal, where each rank may have it.
done = preloaded(["./plain", f"{work}/failed"], "ready.db", "failed")
by_signal = preloaded(["./plain", f"{work}/failed_2"], "ready.db", "failed_2", "-x", "CHORALE_FAILED_SIGNAL=USR1", "-x", "RAISE=1")
assert done.stdout == by_signal.stdout == "right\n", (done, by_signal)


def lines(log):
    return sorted(line for line in log.splitlines() if line.startswith("chorale: "))


assert lines(done.stderr) == lines(by_signal.stderr), (done.stderr, by_signal.stderr)
assert re.findall("no algorithm is ready.*", done.stderr) == [
    "no algorithm is ready for the failure of 'link 7-8'; there are some for 8 failures: link 0-1, link 0-3, link 1-2, link 2-3, ...: MPI does the collectives"], done
# Without it nothing is read again: what lies there from the beginning counts. Another signal is none.
(work / "failed_3").write_text("link 0-1\n")
done_3 = preloaded(["./plain", f"{work}/other", "-", "rank 2"], "ready.db", "failed_3", "-x", "CHORALE_FAILED_SIGNAL=USR2")
assert set(re.findall("after the failure of (.*)", done_3.stderr)) == {"link 0-1"}, done_3.stderr
assert "CHORALE_FAILED_SIGNAL is neither USR1 nor USR2" in preloaded(
    ["./plain", f"{work}/failed_3", "-", "link 0-1"], "ready.db", "failed_3", "-x", "CHORALE_FAILED_SIGNAL=HUP").stderr
for call in ("MPI_Allreduce", "MPI_Allgather"):
    for failure, ranks in [("link 1-2", 4), ("link 0-3", 4), ("link 0-1", 4), ("link 2-3", 4), ("rank 2", 3)]:
        assert re.search(rf"{call}, {ranks} ranks, .*ready.db, .*, point \d+, after the failure of {failure}\n", done.stderr), (call, failure, done.stderr)
    assert re.search(rf"{call}, 4 ranks, .*ready.db, \w+ of ring:4, all, point \d+\n", done.stderr), (call, done.stderr)
    assert re.search(rf"{call}, 4 ranks, .*passed on to MPI: no \w+ for 4 ranks without link 7-8", done.stderr), (call, done.stderr)
assert mpirun(4, "./calls", "-", "ready.db").stdout == "right\n"
# Two nodes of two: ranks are matched by their hosts, however they are numbered.
link = {"fan_out": 2, "bandwidth_gbs": 10}
(work / "two.json").write_text(json.dumps({"hierarchy": "two", "levels": [
    {**link, "name": "node", "latency_us": 5}, {**link, "name": "core", "bandwidth_gbs": 40, "latency_us": 1}]}))
(work / "spec.json").write_text(json.dumps({"machines": ["./two.json"], "collectives": ["allreduce", "allgather"], "max_chunks": 2, "conflicts": 1000}))
run(chorale, "library", "build", "spec.json", "--failures", 1, "-o", "two.db")
run(chorale, "library", "failures", "two.db", "--json", "two_table.json")
links = sorted({row["failure"] for row in json.loads((work / "two_table.json").read_text())["rows"] if row["failure"].startswith("link")})
for hosts in ("aabb", "abab", "bbaa", "abba"):
    cases = " ".join(f"{rank}) CHORALE_HOST={host};;" for rank, host in enumerate(hosts))
    names = " ".join(f"'{name}'" for name in links)
    done = preloaded(["sh", "-c", f"case $OMPI_COMM_WORLD_RANK in {cases} esac; export CHORALE_HOST; exec ./plain {work}/failed_two - {names}"], "two.db", "failed_two")
    assert done.stdout == "right\n", done
    for name in links:
        assert re.search(rf"MPI_Allreduce, 4 ranks, .*two.db, .*, after the failure of {name}\n", done.stderr), (hosts, name, done.stderr)
    (work / "failed_two").unlink()
print("four links and a rank failed, one after the other: every result right, no message over a failed link")
