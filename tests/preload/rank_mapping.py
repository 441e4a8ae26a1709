#!/usr/bin/env python3
"""Communicators are matched to the machine by where their ranks sit: with a library of two nodes of two, one
host's ranks get the node's algorithms, one rank of each host the rail's, all ranks the machine's however
they are numbered, and any of them may be the root; where the hosts are others, MPI does it. Results are
MPI's everywhere.

Usage: rank_mapping.py CHORALE LIBRARY MPICC SOURCE
"""
import json
import os
import pathlib
import re
import sqlite3
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, run, work  # noqa: E402

chorale, library, mpicc, source = [str(pathlib.Path(a).absolute()) if "/" in a else a for a in sys.argv[1:5]]
with_ours = ["-x", f"LD_PRELOAD={library}", "-x", "CHORALE_LOG=1", "-x"]


def on(hosts, algorithms="two.db"):
    """The log of the program with rank n on host hosts[n], by (call, ranks, root) what was reported; lines of
    ranks may run together."""
    cases = " ".join(f"{rank}) CHORALE_HOST={host};;" for rank, host in enumerate(hosts))
    done = mpirun(len(hosts), *with_ours, f"CHORALE_ALGORITHMS={algorithms}", "sh", "-c",
                  f"case $OMPI_COMM_WORLD_RANK in {cases} esac; export CHORALE_HOST; exec ./program")
    log, said = done.stderr, {}
    assert done.stdout == "right\n", done
    for call, ranks, root, what in re.findall(r"chorale: (MPI_\w+), (\d+) ranks, blocks of \d+ \w+(?:, root (\d+))?: (.*)", log):
        said.setdefault((call, int(ranks), int(root or 0)), set()).add(re.sub(r", point \d+$", "", what))
    return said, tuple(map(int, re.search(r"(\d+) collectives by Chorale's algorithms, (\d+) passed on", log).groups()))


link = {"fan_out": 2, "bandwidth_gbs": 10}
(work / "two.json").write_text(json.dumps({"hierarchy": "two", "levels": [
    {**link, "name": "node", "latency_us": 5}, {**link, "name": "core", "bandwidth_gbs": 40, "latency_us": 1}]}))
collectives = {"allreduce": "MPI_Allreduce", "allgather": "MPI_Allgather", "alltoall": "MPI_Alltoall",
               "reducescatter": "MPI_Reduce_scatter_block", "broadcast": "MPI_Bcast", "reduce": "MPI_Reduce"}
(work / "spec.json").write_text(json.dumps({"machines": ["./two.json"], "collectives": list(collectives),
                                            "groups": ["all", "node", "core"], "max_chunks": 2, "conflicts": 1000}))
run(chorale, "library", "build", "spec.json", "-o", "two.db")
run(mpicc, "-O1", "-std=c11", source, "-o", "program")

ours = {}
for hosts in [(1, 1, 2, 2), (5, 3, 5, 3), (8, 9, 9, 8)]:
    said, (used, passed) = on(hosts)
    assert passed == 0 and used > 150, (hosts, said)
    for name, call in collectives.items():
        for root in range(4) if name in ("broadcast", "reduce") else [0]:
            assert f"two.db, {name} of ./two.json, all" in said[call, 4, root], (hosts, call, root, said[call, 4, root])
        # Both groups have two ranks: the first of the log is reported by rank 0, whose host and rail are
        # another matter each.
        assert {f"two.db, {name} of ./two.json, {group}" for group in ("node", "core")} <= said[call, 2, 0], (call, said[call, 2, 0])
    ours[hosts] = used
assert len(set(ours.values())) == 1, ours

# Three ranks of a host and one of another are no two nodes; a host of two or three, and one rank of each of
# two, may be.
said, (used, passed) = on((1, 1, 1, 2))
assert "passed on to MPI: no allgather for 4 ranks that sit 3 + 1 on 2 hosts" in said["MPI_Allgather", 4, 0], said
assert used > 0 and passed > 0
# One host: no rail, no machine.
said, (used, passed) = on((1, 1, 1, 1))
assert "passed on to MPI: no broadcast for 4 ranks that sit 4 on 1 host" in said["MPI_Bcast", 4, 2], said
# Result files imply nothing about hosts: they fit by size.
run(chorale, "frontier", "ring:4", "broadcast", "--json", "ring.json")
said, _ = on((1, 1, 1, 2), "ring.json")
assert "ring.json" in said["MPI_Bcast", 4, 3], said
# A line is not the same from its middle as from its end: MPI does those roots, and it is reported.
run(chorale, "frontier", "line:4", "broadcast", "--json", "line.json")
said, _ = on((1, 1, 1, 1), "line.json")
assert "line.json" in said["MPI_Bcast", 4, 3], said
assert "passed on to MPI: no broadcast for 4 ranks with root 1" in said["MPI_Bcast", 4, 1], said

# Ranks of a host are taken by the cores that they are bound to: a chain, in one direction only, has its root
# at the first core.
cores = sorted(os.sched_getaffinity(0))
if len(cores) > 1:
    (work / "chain.json").write_text(json.dumps({"topology": "chain", "ranks": 4, "links": [{"src": n, "dst": n + 1} for n in range(3)]}))
    (work / "chain_spec.json").write_text(json.dumps({"machines": ["./chain.json"], "collectives": ["broadcast"], "groups": ["all"]}))
    run(chorale, "library", "build", "chain_spec.json", "-o", "chain.db")
    file = sqlite3.connect(work / "chain.db")
    assert file.execute("UPDATE places SET hosts = '0 0 0 0'").rowcount == 1
    file.commit()
    for first, second in [(cores[0], cores[1]), (cores[1], cores[0])]:
        log = mpirun(4, "--bind-to", "none", *with_ours, "CHORALE_ALGORITHMS=chain.db", "-x", "CHORALE_HOST=1", "sh", "-c",
                     f"test $OMPI_COMM_WORLD_RANK -lt 2 && core={first} || core={second}; exec taskset -c $core ./program").stderr
        for root in range(4):
            said = re.search(rf"MPI_Bcast, 4 ranks, blocks of \d+ \w+, root {root}: (.*)", log)[1]
            assert ("chain.db" in said) == (root == (0 if first == cores[0] else 2)), (first, second, root, said)
else:
    print("skipped: ranks bound to cores, since there is one core")
print(f"{used + sum(ours.values())} collectives replaced on hosts of many shapes, results unchanged")
