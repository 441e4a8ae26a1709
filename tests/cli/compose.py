#!/usr/bin/env python3
"""Composition and repair as a user runs them: tables, files, refusals.

Usage: compose.py CHORALE
"""
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402


# One flat schedule, verified and run as any other.
text = run("compose", "rack:1x1x2x4", "allreduce", "--max-chunks", "4", "--json", "c.json")
assert "levels" in text and "reducescatter" in text, text
run("check", "c.json")


def complete_where_it_is_the_best(text, name):
    """One chunk count may be at its bound in whole rounds although others have a better rate."""
    text = " ".join(text.split())
    assert json.loads((work / name).read_text())["complete"] == ("the best here has no more" in text), text


complete_where_it_is_the_best(text, "c.json")
for machine in ("dgx1:2", "rack:1x1x2x4", "dgx2:2"):
    for collective in ("allgather", "allreduce", "broadcast"):
        text = run("compose", machine, collective, "--json", "one.json")
        complete_where_it_is_the_best(text, "one.json")
        run("check", "one.json")
run("run", "c.json", "--bytes", "4K", "--iterations", "1")

# A stage by a result of its own: four GPUs of one CPU.
run("frontier", "rack:1x1x1x4", "allgather", "--json", "part.json")
text = run("compose", "rack:1x1x2x4", "allgather", "--outline", "allgather cpu, allgather gpu=part.json", "--json", "d.json")
assert "allgather cpu, allgather gpu" in text, text
run("check", "d.json")

refusals = {
    "allgather gpu": "do not make this allgather",
    "allgather socket": "is not a level of this machine",
    "allgather gpu=c.json, allgather cpu": "no schedule that was given is of this collective",
    "sort gpu": "sort",
}
for outline, why in refusals.items():
    said = refused("compose", "rack:1x1x2x4", "allgather", "--outline", outline)
    assert why in said, said
said = refused("compose", "ring:7", "allgather")
assert "no division of the machine into equal groups makes this allgather" in said, said

# What place has chosen for an AllReduce over all devices, as a schedule of chunks and links.
run("place", "rack:1x1x2x4", "--axes", "data=8", "--reduce", "data", "--bytes", "1G", "--json", "p.json")
text = run("compose", "rack:1x1x2x4", "allreduce", "--max-chunks", "8", "--outline", "p.json", "--json", "e.json")
run("check", "e.json")
strategy = json.loads((work / "p.json").read_text())["best"][0]["reductions"][0]["strategies"][0]["instructions"]
assert text.count(", ".join(f"{i['operation'].lower()} {i['slice']}" for i in strategy)) > 0, text
for command in (["run", "p.json"], ["emit", "p.json"]):
    refused(*command, says="is a ranking of placements, not a result")
refused("compose", "rack:1x1x2x4", "allreduce", "--outline", "c.json", says="is not a ranking of placements")

# A link fails: what is left of the old result is patched, and is where the search begins.
run("frontier", "ring:4", "allgather", "--max-chunks", "2", "--json", "old.json")
text = run("frontier", "ring:4", "allgather", "--max-chunks", "2", "--without-link", "0-1", "--repair", "old.json",
           "--json", "new.json")
for words in ("sends had lost their link", "  old:     3/2 = 1.5 rounds per chunk", "  patched: ", "  now:     3 rounds per chunk"):
    assert words in text, text
run("check", "new.json")
assert json.loads((work / "new.json").read_text())["complete"]
said = refused("frontier", "ring:4", "broadcast", "--without-link", "0-1", "--repair", "old.json")
assert "the result is of allgather" in said, said
