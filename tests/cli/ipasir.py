#!/usr/bin/env python3
"""Every command that asks a SAT solver can ask a library with the functions of IPASIR, and answers as it does
over CaDiCaL; what the library gets wrong does not become an answer.

Usage: ipasir.py CHORALE LIBRARY SATISFIES_ALL REFUTES_ALL
"""
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run  # noqa: E402

chorale, library, satisfies_all, refutes_all = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])


def over(file):
    return "--solver", "ipasir", "--ipasir", file


# Bounds are off, so that formulas are asked: one that has a model, and one that has none.
question = ("synthesize", "ring:4", "allgather", "--no-bounds", "--engine", "sat-partition", "--steps")
assert len(json.loads(run(chorale, *question, 2, "--rounds", 2, *over(library), "--json", "-").stdout)["points"]) == 1
run(chorale, *question, 1, "--rounds", 9, *over(library), code=20)

# All in one: engine and check of refutations included.
frontier = ("frontier", "mesh:2x3", "allreduce", "--max-chunks", 1, "--no-bounds", "--json", "-", "--conflicts", 20000)
costs = [[(point["steps"], point["rounds"], point["chunks"]) for point in json.loads(run(chorale, *frontier, *solver).stdout)["points"]]
         for solver in ((), over(library))]
assert costs[0] == costs[1], costs

place = ("place", "a100:4", "--axes", "a=4,b=16", "--reduce", "b", "--bytes", "1G", "--inside", "b=node", "--engine", "sat")
first = [run(chorale, *place, *solver).stdout.splitlines()[:5] for solver in ((), over(library), over(refutes_all))]
assert first[0] == first[1] == first[2], first

# A library that refutes everything changes nothing, since CaDiCaL is asked. Models are checked.
run(chorale, *question, 2, "--rounds", 2, *over(refutes_all))
refused(*question, 2, "--rounds", 2, *over(satisfies_all), says="its model does not satisfy the formula")
refused(*question, 2, "--rounds", 2, "--solver", "ipasir", says="--ipasir")
refused(*place[:-2], "--solver", "ipasir", says="--solver: means nothing here: it is for --engine sat")
# Also where bounds answer and no solver is asked.
refused("frontier", "ring:4", "allgather", "--solver", "ipasir", says="--ipasir")
refused("synthesize", "ring:4", "allgather", "--steps", 1, "--rounds", 9, *over("/no/such.so"), says="/no/such.so")
refused(*question, 2, "--rounds", 2, *over("/no/such.so"), says="/no/such.so")
print("ipasir: as CaDiCaL")
