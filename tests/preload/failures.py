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
done = mpirun(4, "-x", f"LD_PRELOAD={preload}", "-x", "CHORALE_LOG=1", "-x", "CHORALE_ALGORITHMS=ready.db", "-x", f"CHORALE_FAILED={work}/failed",
              "./plain", f"{work}/failed")
assert done.stdout == "right\n", done
for call in ("MPI_Allreduce", "MPI_Allgather"):
    for failure, ranks in [("link 1-2", 4), ("link 0-3", 4), ("link 0-1", 4), ("link 2-3", 4), ("rank 2", 3)]:
        assert re.search(rf"{call}, {ranks} ranks, .*ready.db, .*, point \d+, after the failure of {failure}\n", done.stderr), (call, failure, done.stderr)
    assert re.search(rf"{call}, 4 ranks, .*ready.db, \w+ of ring:4, all, point \d+\n", done.stderr), (call, done.stderr)
    assert re.search(rf"{call}, 4 ranks, .*passed on to MPI: no \w+ for 4 ranks without link 7-8", done.stderr), (call, done.stderr)
assert mpirun(4, "./calls", "-", "ready.db").stdout == "right\n"
print("four links and a rank failed, one after the other: every result right, no message over a failed link")
