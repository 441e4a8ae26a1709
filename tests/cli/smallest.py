#!/usr/bin/env python3
"""Machines of one and two ranks, groups of one, and jobs in which nothing moves: no command prints a number that is
none, or a share of a bound that is not known.

Usage: smallest.py CHORALE
"""
import json
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run_chorale, work  # noqa: E402

NO_NUMBER = re.compile(r"-?\bnan|\binf(inity)?x?\b|(?<![\w.])-0(\.0)? ", re.I)
link = {"src": 0, "dst": 1}
back = {"src": 1, "dst": 0}
files = {
    "one.json": {"topology": "one", "ranks": 1, "links": []}, "two.json": {"topology": "two", "ranks": 2, "links": [link, back]},
    "oneway.json": {"topology": "oneway", "ranks": 2, "links": [link]}, "apart.json": {"topology": "apart", "ranks": 2, "links": []},
    "h1.json": {"hierarchy": "h", "levels": [{"name": "gpu", "fan_out": 1, "bandwidth_gbs": 8}]},
    "h2.json": {"hierarchy": "h", "levels": [{"name": "gpu", "fan_out": 2, "bandwidth_gbs": 8}]},
    "library.json": {"machines": ["./two.json"], "collectives": ["allgather", "allreduce"], "groups": ["all"], "bytes": [1, 1024], "max_chunks": 1},
    "zeros.csv": "0,0\n0,0\n", "single.csv": "5\n", "one_sends.csv": "0,3\n0,0\n",
    "calls.csv": "collective,ranks,bytes,calls,us\nallreduce,1,1024,3,0\nallreduce,2,0,3,1\n",
    "sum.chorale": 'workload w\nranks 1\nsize N = 4\nTensor x(fp32, [N], Local)\ny = AllReduce("+", x)\nreturn y\n',
    "local.chorale": "workload w\nranks 2\nsize N = 4\nTensor x(fp32, [N], Local)\ny = x + 1\nreturn y\n"}
for name, content in files.items():
    (work / name).write_text(content if isinstance(content, str) else json.dumps(content))

commands = """
alltoallv zeros.csv --json -
alltoallv single.csv --json -
alltoallv one_sends.csv --json -
place h1.json --axes a=1 --reduce a --bytes 1M --json -
place h2.json --axes a=1,b=2 --reduce a --bytes 1M --json -
place h2.json --axes a=2 --reduce a --bytes 1 --explain
design --ranks 2 --degree 1 --json -
job calls.csv --machine two.json --json -
tune sum.chorale --machine one.json --json -
tune local.chorale --machine two.json --json -
compare one.json one.json --sizes 0,1K --json -
compare one.json two.json --sizes 0,1K --json -
compare oneway.json two.json broadcast --sizes 0,1K --json -
frontier one.json allreduce --bytes 0,1K --json one_result.json
show one_result.json --bytes 0,1K
run one_result.json --bytes 0,1K --iterations 1
check one_result.json
classic ring_allreduce one.json
hierarchy show h1.json
library build library.json -o two.db
library show two.db
library verify two.db
topology show one.json
""".strip().splitlines()
for machine in ("one.json", "two.json", "oneway.json", "apart.json"):
    for group in ("", " --group 0") if machine != "one.json" else ("",):
        for collective in ("allgather", "allreduce", "alltoall", "broadcast", "gather"):
            question = f"{machine} {collective}{group}"
            commands += [f"bounds {question}", f"synthesize {question} --steps 1 --rounds 1", f"frontier {question} --max-chunks 2 --bytes 0,1K",
                         f"optimize {question} --search-time 0.1 --sizes 0,1,1M --json -", f"optimize {question} --time-limit 1ms"]
answers = 0
for command in commands:
    done = run_chorale(*command.split(), code=(0, 2, 3, 20))
    found = NO_NUMBER.search(done.stdout + done.stderr)
    assert not found, f"{command}: '{found[0]}' in\n{done.stdout}{done.stderr}"
    assert not command.startswith("optimize") or not re.search(r"(?<![\d.])0\.0 %", done.stdout + done.stderr), command
    answers += done.returncode in (0, 3)
assert answers > 100, f"{answers} of {len(commands)} commands have an answer"
print(f"{len(commands)} commands print no number that is none, {answers} of them an answer")
