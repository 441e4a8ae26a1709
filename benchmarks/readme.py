#!/usr/bin/env python3
"""The figure and the two results of scale in README.md.

Usage: readme.py CHORALE [--figure FILE.svg] [--machine dgx-a100:2] [--search-time 5m]

Prints an AllReduce of 1 KiB to 1 GiB as 'chorale optimize' does: time and bus bandwidth of what it finds, the
better of the two algorithms that NCCL builds for it (rings over all NICs, double binary trees, each at the
best of several chunk counts), and the share of the bound; --figure draws the table. Then Alltoall on a torus
of 512 ranks, and on a torus of 4x4x8 ranks, plain and twisted. All times of the table are by the alpha-beta
model, those of searches are wall seconds.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("chorale", type=pathlib.Path)
parser.add_argument("--figure", type=pathlib.Path)
parser.add_argument("--machine", default="dgx-a100:2")
parser.add_argument("--search-time")
options = parser.parse_args()
work = tempfile.TemporaryDirectory()


def run(*words):
    done = subprocess.run([options.chorale.resolve(), *words], capture_output=True, text=True, cwd=work.name,
                          env={key: value for key, value in os.environ.items() if key != "COLUMNS"})
    assert done.returncode in (0, 3), f"{words}: exit code {done.returncode}\n{done.stderr}"
    print("$ chorale", *words)
    return done.stdout


# -- AllReduce over message size
# -------------------------------------------------------------------------------------------
search = ["--search-time", options.search_time] if options.search_time else []
figure = ["--svg", str(options.figure.resolve())] if options.figure else []
print(run("optimize", options.machine, "allreduce", *search, *figure))

# -- Alltoall -----------------------------------------------------------------------------------------------
print()
found = {}
for machine, chunks in (("tpu:4x4x8", []), ("tpu:4x4x8:twisted", ["--max-chunks", "1"]), ("torus:8x8x8", [])):
    out = " ".join(run("frontier", machine, "alltoall", *chunks, "--json", "alltoall.json").split())
    result = json.loads((pathlib.Path(work.name) / "alltoall.json").read_text())
    point = result["points"][0]
    found[machine] = point["rounds"]
    least = re.search(r"any chunk count has fewer than (.*?) rounds", out)[1]
    seconds = re.findall(r"([\d.]+) s\b", out)[-1]
    print(f"{machine}: {result['topology']['ranks']} ranks, {point['steps']} steps, {point['rounds']} rounds, "
          f"{'proven' if point['proven'] else 'not proven'}, {'complete' if result['complete'] else 'not complete'}, "
          f"{seconds} s; at least {least} rounds per chunk for any chunk count")
print(f"twisted over plain: {found['tpu:4x4x8'] / found['tpu:4x4x8:twisted']:.2f}x")
