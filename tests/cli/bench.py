#!/usr/bin/env python3
"""chorale bench under mpirun: every collective by MPI itself, by baselines and by a result, with 0 wrong.

Usage: bench.py CHORALE
"""
import json
import os
import pathlib
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, refused, run, work  # noqa: E402

chorale = str(pathlib.Path(sys.argv[1]).resolve())
os.environ["OMPI_MCA_pml"] = "ob1"  # without the look for others, which costs each mpirun 0.2 s


def bench(ranks, *arguments, code=0):
    return mpirun(ranks, chorale, "bench", *arguments, code=code)


run(chorale, "frontier", "full:4", "allreduce", "--max-chunks", "2", "--json", "f.json")
run(chorale, "synthesize", "ring:4", "allreduce", "--sum", "once", "--chunks", "8", "--steps", "4", "--rounds", "7", "--json", "once.json")
for collective, algorithms in {"allreduce": ["ring", "direct", "two_tree", "f.json", "once.json"], "allgather": ["ring", "direct"],
                               "reducescatter": ["ring", "recursive_halving_reducescatter"], "alltoall": ["direct"],
                               "broadcast": ["binomial", "tree"], "reduce": ["binomial"], "gather": ["binomial"],
                               "scatter": ["binomial"]}.items():
    bench(4, collective, "mpi", *algorithms, "-b", "1K", "-e", "100000", "-f", "32", "-n", "2", "-w", "1", "--type", "int",
          "--op", "avg", "--json", "rows.json")
    rows = json.loads((work / "rows.json").read_text())["rows"]
    assert len(rows) == 2 * (1 + len(algorithms)), rows
    for row in rows:
        for half in [row, row["in_place"]]:
            assert half["wrong"] == 0 and half["agrees"] and half["time_us"] >= half["min_us"] > 0, row
            # nccl-tests: algbw = size / time; busbw has a factor of its own.
            assert abs(half["algbw_gbs"] - row["size"] / half["time_us"] / 1e3) < 1e-9
            factor = {"allreduce": 1.5, "broadcast": 1, "reduce": 1}.get(collective, 0.75)
            assert abs(half["busbw_gbs"] - factor * half["algbw_gbs"]) < 1e-9, row
# Every point of a frontier, and one half alone.
text = bench(4, "allreduce", "f.json", "mpi", "--all-points", "--out-of-place-only", "-b", "4K", "-e", "4K", "-n", "1", "-w", "0",
             "--json", "rows.json", "--html", "rows.html").stdout
page = (work / "rows.html").read_text()
assert "allreduce, 4 ranks as processes; times are medians of 1" in page and "busbw (GB/s)" in page and "Out of bounds values : 0 OK" in page, page[-3000:]
points = [p for p, each in enumerate(json.loads((work / "f.json").read_text())["points"]) if each["on_frontier"]]
rows = json.loads((work / "rows.json").read_text())["rows"]
assert len(points) > 1 and [row["point"] for row in rows] == [*points, None], rows
assert [row["algorithm"] for row in rows] == [*(f"f.json point {p}" for p in points), "mpi"], rows
assert all(row["wrong"] == 0 and row["time_us"] > 0 and row["in_place"] is None for row in rows), rows
assert f"f.json point {points[0]} " in text and "N/A" in text, text
text = bench(3, "allreduce", "ring", "-b", "6", "-e", "6", "-c", "0", "-d", "half").stdout
assert "N/A" in text and "half" in text, text
assert "0 OK" in bench(3, "allreduce", "ring", "-b", "6", "-e", "6K", "-d", "half", "--accumulate", "float32").stdout
# Sizes, counts and rates are of what travels; what cannot is refused.
run(chorale, "frontier", "full:4", "allreduce", "--sum", "once", "--max-chunks", "2", "--json", "once.json")
text = bench(4, "allreduce", "once.json", "--wire", "bf16", "-b", "998", "-e", "998", "-o", "all", "--json", "rows.json").stdout
rows = json.loads((work / "rows.json").read_text())["rows"]
assert len(rows) == 5 and "float32 travels as bfloat16" in text, text
for row in rows:
    assert row["size"] == 998 and row["count"] == 499 and row["type"] == "float32" and row["wrong"] == 0 and row["agrees"], row
    assert abs(row["algbw_gbs"] - 998 / row["time_us"] / 1e3) < 1e-9 and row["in_place"]["wrong"] == 0, row
for algorithm, words in {"mpi": "libraries' own collectives send elements as they are", "ring": "use a schedule of --sum once"}.items():
    said = bench(3, "allreduce", algorithm, "--wire", "bf16", code=2).stderr
    assert "--wire: " in said and words in said, said
# The columns of nccl-tests: six that report what is measured, then four for each half.
text = bench(4, "reduce", "mpi", "binomial_reduce", "-b", "64", "-e", "192", "-i", "64", "-r", "2", "-n", "1", "-w",
             "0", "-o", "avg").stdout.splitlines()
assert text[1].split() == ["#", "out-of-place", "in-place"], text
assert text[2].split() == ["#", "size", "count", "type", "redop", "root", *2 * ["time", "algbw", "busbw", "#wrong"]], text
assert text[1].index("out-of-place") == text[2].index("time") and text[1].index("in-place") == text[2].rindex("time"), text
rows = [line.split() for line in text if line.startswith(("mpi", "binomial_reduce"))]
assert [row[1] for row in rows] == ["64", "64", "128", "128", "192", "192"], rows
for row in rows:
    assert len(row) == 14 and row[3:6] == ["float", "avg", "2"] and row[9] == row[13] == "0", row
assert any(line.startswith("# Out of bounds values : 0 OK") for line in text), text
assert sum(line.startswith("# Avg bus bandwidth") for line in text) == 2, text
for arguments, words in [(["allreduce", "nonsense"], "is not an algorithm for"), (["allreduce", "f.json"], "has no allreduce for 3 ranks"),
                         (["allreduce", "mpi", "--type", "half"], "has no type float16"), (["allreduce", "-b", "2K", "-e", "1K"], "-b"),
                         (["nonsense"], "nonsense")]:
    said = [line for line in bench(3, *arguments, code=2).stderr.splitlines() if line.startswith("chorale: ")]
    assert said and words in said[0], (arguments, said)
refused("bench", "allreduce", says="not started by mpirun")

# GPUs are asked for, and there are none, or not what it takes to use them.
assert "use --gpu" in bench(2, "allreduce", "nccl", code=2).stderr
assert "leave out --gpu" in bench(2, "allreduce", "mpi", "--gpu", code=2).stderr
if shutil.which("nvidia-smi") is None:
    said = bench(2, "allreduce", "--gpu", code=2).stderr
    assert "nccl: " in said and said.count("chorale: error") == 1, said
print("every collective benchmarked, every element right")
