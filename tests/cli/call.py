#!/usr/bin/env python3
"""A call is in every time exactly once: with --call-us 100 each time of each command is 100 us more.

Usage: call.py CHORALE

The times are of machines whose own calls cost nothing, so that a time with 100 us is another one without; what
is left is rounding.
"""
import json
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, work  # noqa: E402

chorale = str(pathlib.Path(sys.argv[1]).resolve())
source = pathlib.Path(__file__).resolve().parents[2]
CALL = 100.0


def answers(*command, options=(), code=(0, 3)):
    """What the command writes as JSON, without and with a call."""
    return [json.loads(run(chorale, *command, *more, *options, "--json", "-", "-q", code=code).stdout) for more in ((), ("--call-us", CALL))]


def differ_by_a_call(what, before, after, tolerance=1e-6):
    assert len(before) == len(after) > 0, (what, before, after)
    for a, b in zip(before, after):
        assert abs(b - a - CALL) <= tolerance * max(b, 1), (what, a, b)


def column(rows, name):
    return [row[name] for row in rows if row[name]]


# optimize: the answer, which meets its bound, and the baseline; compare's sizes and its least latencies.
before, after = (answer["rows"] for answer in answers("optimize", "ring:4", "allreduce", "--sizes", "1K", options=("--search-time", "0.5")))
for name in ("us", "bound_us", "baseline_us"):
    differ_by_a_call(f"optimize {name}", column(before, name), column(after, name))
before, after = answers("compare", "ring:4", "line:4", "allgather", "--sizes", "1K", options=("--search-time", "0.3"))
for side in (0, 1):
    differ_by_a_call("compare's bounds", column(before["limits"][side], "latency_us"), column(after["limits"][side], "latency_us"))

# A result has the machine with its call: simulate (predicted and simulated), and the report of show by size.
for name, more in (("without", ()), ("with", ("--call-us", CALL))):
    run(chorale, "frontier", "ring:4", "allgather", "--max-chunks", 2, *more, "--json", f"{name}.json", "-q", code=(0, 3))
results = [json.loads(run(chorale, "show", f"{name}.json", "--sizes", "1K,1M", "--json", "-", "-q").stdout) for name in ("without", "with")]
differ_by_a_call("show", *(column(result["rows"], "us") for result in results))
simulated = [json.loads(run(chorale, "simulate", f"{name}.json", "--json", "-", "-q", code=(0, 2, 3)).stdout or "{}") for name in ("without", "with")]
if all(simulated):  # with SimGrid
    for name in ("predicted_us", "simulated_us"):
        differ_by_a_call(f"simulate {name}", *(column(each["rows"], name) for each in simulated), tolerance=1e-4)
# place: one instruction, which is a call.
best = [answer["best"][0] for answer in answers("place", "ring:4", "--axes", "data=4", "--reduce", "data", "--bytes", "1K")]
differ_by_a_call("place", *([each["us"], each["allreduce_us"], each["reductions"][0]["strategies"][0]["instructions"][0]["us"]] for each in best))

# A lowered program by its links; and programs for other simulators: GOAL has the call in nanoseconds.
for name in ("without", "with"):
    run(chorale, "emit", f"{name}.json", "--target", "json", "--point", 0, "-o", name)
    run(chorale, "emit", f"{name}.json", "--target", "goal", "--point", 0, "-o", f"{name}.goal")
estimates = []
for more in ((), ("--call-us", CALL)):
    table = run(chorale, "program", next((work / "without").glob("*.json")), "--topology", "ring:4", "--sizes", "1K,1M", *more)
    estimates.append([float(line.split()[1]) for line in table.split("\n") if re.fullmatch(r" +[0-9]+ +[0-9.]+ .*", line)])
differ_by_a_call("program", *estimates, tolerance=1e-3)
goals = [next((work / f"{name}.goal").rglob("*.goal")).read_text() for name in ("without", "with")]
assert "call" not in goals[0] and goals[1].count(f"call: calc {1000 * CALL:.0f}") == 4, goals

# Libraries, and what is exported of one: times for other programs, and NCCL's and Open MPI's own algorithms.
spec = {"collectives": ["allreduce"], "groups": ["all"], "bytes": [1024, 1 << 20], "max_chunks": 1, "conflicts": 100}
exported = {}
for name, more in (("without", ()), ("with", ("--call-us", CALL))):
    (work / f"machine_{name}.json").write_text(run(chorale, "topology", "show", "full:4", "--json", *more))
    (work / f"spec_{name}.json").write_text(json.dumps({**spec, "machines": [f"./machine_{name}.json"]}))
    run(chorale, "library", "build", f"spec_{name}.json", "-o", f"{name}.db", "-q", code=(0, 3))
    for form in ("times", "nccl-tuner", "ompi-rules"):
        run(chorale, "library", "export", f"{name}.db", f"./machine_{name}.json", "allreduce", "--as", form, "--sizes", "1K,1G", "-o", f"{name}_{form}", "-q")
        exported[form, name] = next((work / f"{name}_{form}").iterdir()).read_text()
differ_by_a_call("library export", *(json.loads(exported["times", name])["answers"][0]["us"] for name in ("without", "with")))
for form, pattern in (("nccl-tuner", r"(?:ring|tree|library's) ([0-9.]+) us"), ("ompi-rules", r"([0-9.]+) us  predicted")):
    differ_by_a_call(form, *([float(us) for us in re.findall(pattern, exported[form, name])] for name in ("without", "with")), tolerance=1e-2)

# A plan from one layout to another, the methods beside it, and the bound on all of them. (The plan itself is
# what a search finds in its time.)
plans = answers("reshard", "full:16", source / "examples" / "reshard.json", options=("--search-time", "1"))
times = [[plan["bound_us"]] + [each["us"] for each in plan["methods"] if each["name"] != "this plan"] for plan in plans]
differ_by_a_call("reshard", *times)
print("each time has one call")
