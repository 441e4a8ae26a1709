#!/usr/bin/env python3
"""What few commands need is loaded when it is needed: an easy command starts without it, a program without a
part reports it, and a part of another build is refused.

Usage: parts.py CHORALE CXX
"""
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, work  # noqa: E402

chorale, cxx = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
FOREIGN = 'extern "C" const char* chorale_headers() { return "other"; } extern "C" const void* %s() { return nullptr; }'
LIBRARIES = chorale.parent.parent / "lib"

(work / "bin").mkdir()
(work / "lib").mkdir()
alone = work / "bin" / "chorale"
shutil.copy(chorale, alone)
result = work / "r.json"

# All that a start loads, as the loader says it.
loaded = run(chorale, env={"LD_TRACE_LOADED_OBJECTS": "1"})
heavy = [name for name in ("mpi", "z3", "Clp", "crypto", "hwloc", "lapack") if f"lib{name}" in loaded]
assert not heavy, f"every start loads {heavy}:\n{loaded}"

# Easy questions need no part. A bound of few steps, where a baseline does not meet the others, needs one.
run(alone, "frontier", "ring:4", "allgather")
run(chorale, "classic", "ring_allgather", "ring:4", "--json", result)


def refused(words, *arguments, **environment):
    said = run(alone, *arguments, code=2, env=environment)
    assert said.count("\n") == 1 and words in said and "cmake --build" in said, (arguments, said)


# A linter has no need of the solver to name a record; what it costs is left out, with one line.
whole = (pathlib.Path(__file__).resolve().parents[1] / "data/topology/h100.xml").read_text()
(work / "lost.xml").write_text(re.sub(r'(<gpu dev="5".*?>).*?</gpu>', r"\1</gpu>", whole, flags=re.S))
with_costs = run(chorale, "topology", "lint", "lost.xml", code=1)
without = run(alone, "topology", "lint", "lost.xml", code=1)
assert without.startswith("1 odd record in 1 file") and "has no NVLink" in " ".join(without.split()), without
assert " ".join(without.split()).count("costs are left out: linear programs: this chorale runs without that part") == 1, without
assert "->" in with_costs and "costs are left out" not in with_costs, with_costs

on_gpu = ("run", result, "--transport", "gpu", "--bytes", "1K")
on_mpi = ("run", result, "--transport", "mpi", "--bytes", "1K")
by_z3 = ("synthesize", "ring:4", "allgather", "--steps", "2", "--rounds", "2", "--engine", "smt", "--no-bounds")
placed_by_z3 = ("place", "a100:4", "--axes", "a=4,b=16", "--reduce", "b", "--bytes", "1G", "--engine", "smt", "--inside", "b=node")
solved_by_z3 = (*by_z3[:-2], "sat-partition", "--no-bounds", "--solver", "z3")
refused("runs without that part (libchorale-clp.so", "classic", "ring_allgather", "ring:4")
refused("runs without that part (libchorale-gpu-run.so", *on_gpu)
refused("runs without that part (libchorale-mpi-run.so", *on_mpi, OMPI_COMM_WORLD_SIZE="1")
refused("runs without that part (libchorale-z3.so", *by_z3)
refused("runs without that part (libchorale-z3.so", *placed_by_z3)
refused("runs without that part (libchorale-z3.so", *solved_by_z3)
source = work / "part.cpp"
for text in (FOREIGN % "chorale_gpu_plugin", "int nothing;"):
    source.write_text(text)
    run(cxx, "-shared", "-fPIC", source, "-o", work / "lib" / "libchorale-gpu-run.so")
    refused("libchorale-gpu-run.so is of another build than this chorale", *on_gpu)

# With the part beside it, the same question is answered.
shutil.copy(LIBRARIES / "libchorale-z3.so", work / "lib")
run(alone, *by_z3)
run(alone, *solved_by_z3)
placed = run(alone, *placed_by_z3)
assert "engine smt: 3 strategies, any other and any longer one refuted" in placed, placed
print("easy commands start without parts; no part, and two of others: refused")
