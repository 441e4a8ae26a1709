#!/usr/bin/env python3
"""The main job from end to end: frontier, check, show, run by threads and under mpirun, with what must come
out.

Usage: main_job.py CHORALE
"""
import json
import os
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, refused, run, work  # noqa: E402

chorale = str(pathlib.Path(sys.argv[1]).resolve())

# DGX-1 Allgather: the costs of Cai et al. 2021, table 4, and the bound of 7/6 rounds per chunk reached.
text = run(chorale, "frontier", "dgx1", "allgather", "--max-chunks", "6", "--json", "ag.json")
assert "complete" in text and "7/6" in text, text
result = json.loads((work / "ag.json").read_text())
costs = {(p["steps"], p["rounds"], p["chunks"]) for p in result["points"]}
assert costs == {(2, 3, 2), (3, 7, 6)}, costs
assert result["complete"] and all(p["proven"] for p in result["points"])
frontier = {(p["steps"], p["rounds"], p["chunks"]) for p in result["points"] if p["on_frontier"]}
assert frontier == {(2, 3, 2), (3, 7, 6)}, frontier
assert f"{len(result['points'])} schedules verified" in run(chorale, "check", "ag.json")

# At each size of the message (eight blocks) the fastest point, and how far from the bound: 7/6 rounds of 1
# MiB at 25 GB/s, and three steps. Seven of eight blocks come from others.
text = run(chorale, "show", "ag.json", "--bytes", "8K,8M", "--json", "sizes.json")
rows = json.loads((work / "sizes.json").read_text())["rows"]
assert [(row["message_bytes"], row["block_bytes"]) for row in rows] == [(8192, 1024), (8 << 20, 1 << 20)] and "x lower bound" in text, (rows, text)
assert [result["points"][row["point"]]["steps"] for row in rows] == [2, 3] and "\npoint " not in text, (rows, text)
assert all(row["us"] >= row["least_us"] > 0 for row in rows) and abs(rows[1]["least_us"] - (3 * 0.7 + 7 / 6 * 2**20 * 4e-5)) < 1e-6, rows
assert all(abs(row["algbw_gbs"] * 7 / 8 / row["busbw_gbs"] - 1) < 1e-9 and abs(row["algbw_gbs"] - row["message_bytes"] / row["us"] / 1e3) < 1e-6 for row in rows), rows
assert "x lower bound" in run(chorale, "frontier", "ring:4", "allgather", "--bytes", "1K:1M:32")
refused("show", "ag.json", "--json", "x", says="--sizes")

# The page holds the result and loads nothing.
run(chorale, "show", "ag.json", "--html", "ag.html")
page = (work / "ag.html").read_text()
assert not re.search(r'(src|href)\s*=|@import|url\(|fetch\(|XMLHttpRequest', page)
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
assert len(data["points"]) == len(result["points"]) and data["bound"] == [7, 6]

# Every schedule by threads and by processes, a size that the chunks do not divide.
for point in range(len(result["points"])):
    for mode in [[], ["--in-place"]]:
        text = run(chorale, "run", "ag.json", "--point", str(point), "--bytes", "32,8K,524320,99", *mode)
        assert "every element is right" in text and (", in place" in text) == bool(mode), text
os.environ["ASAN_OPTIONS"] = "detect_leaks=0"  # of Open MPI, in a sanitized build
text = mpirun(8, chorale, "run", "ag.json", "--point", "all", "--bytes", "8K,524320", "--transport", "mpi", "--iterations", "1")
assert "every element is right" in text and "as processes started by mpirun" in text, text
help_text = " ".join(run(chorale, "run", "--help").split())  # what a heading calls ranks, --transport offers
assert "threads, processes started by mpirun, processes with a GPU each, blocks of the kernel" in help_text, help_text

# AllReduce in 2 steps is found directly on a DGX-1; sums and maxima of all types.
run(chorale, "frontier", "dgx1", "allreduce", "--json", "ar.json")
points = json.loads((work / "ar.json").read_text())["points"]
assert any(p["steps"] == 2 and p["method"] == "direct" for p in points), points
for kind in ["float", "double", "int", "long"]:
    for op in ["sum", "max"]:
        run(chorale, "run", "ar.json", "--point", "all", "--bytes", "1000", "--type", kind, "--op", op)

# A custom collective: ranks 0, 2, 4 of a ring exchange; the others may relay.
group = [0, 2, 4]
(work / "group.json").write_text(json.dumps({
    "collective": "group_allgather", "combining": False,
    "chunks": [{"pre": [r], "post": group, "input": 0, "output": i} for i, r in enumerate(group)]}))
text = run(chorale, "frontier", "ring:6", "group.json", "--max-chunks", "2", "--json", "group_result.json")
assert "complete" in text, text
run(chorale, "check", "group_result.json")
run(chorale, "run", "group_result.json", "--bytes", "1000")

# Proofs: what no bound covers is refuted, the proof is kept, and read again.
run(chorale, "frontier", "ring:4", "broadcast", "--min-chunks", "3", "--max-chunks", "3", "--proofs", str(work), "--json",
    "b.json")
kept = list(work.glob("*.drat"))
assert kept, "no proof was kept"
assert "1 refutation checked" in " ".join(run(chorale, "check", "b.json", "--proofs", str(work)).split())
kept[0].write_text("1 0\n")
refused("check", "b.json", "--proofs", work, says="proof")

# Exit codes for scripts.
run(chorale, "synthesize", "ring:4", "allgather", "--steps", "1", code=20)
run(chorale, "synthesize", "dgx1", "allgather", "--chunks", "6", "--steps", "2", "--rounds", "7", code=20)
for engine in ["sat", "smt", "sat-partition"]:
    run(chorale, "synthesize", "ring:4", "allgather", "--steps", "2", "--rounds", "2", "--engine", engine)
    run(chorale, "synthesize", "ring:4", "allgather", "--chunks", "2", "--steps", "2", "--rounds", "2", "--no-bounds",
        "--engine", engine, code=20)
run(chorale, "classic", "ring_allreduce", "dgx1", "--json", "ring.json")
run(chorale, "check", "ring.json")
run(chorale, "run", "ring.json", "--bytes", "100K")
print("the main job runs")
