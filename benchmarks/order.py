#!/usr/bin/env python3
"""The price of agreement, of fixed orders and of one rounding: AllReduce frontiers of ten machines, in five orders of
their sums.

    benchmarks/order.py build/release/bin/chorale [--max-chunks C] [--conflicts N] [--effort N]

A cell is "steps: rounds per chunk" of each point, with * where it is proven; then the fewest rounds per chunk of the
order over the fewest of the free one. The line below "fixed" reports which tree was fixed.
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

MACHINES = ("ring:6", "ring:8", "line:8", "full:8", "dgx1", "hypercube:3", "mesh:2x4", "torus:3x3", "dgx-h100:1 --switches-forward-only",
            "dgx-a100:2 --line-rates")
ORDERS = (("free", ["--allow-disagreement"]), ("agreed", []), ("fixed", ["--order", "fixed"]),
          ("by-index", ["--order", "by-index"]), ("once", ["--sum", "once"]))


def points(result):
    return ", ".join(f"{p['steps']}: {p['rounds']}/{p['chunks']} = {p['rounds'] / p['chunks']:.4g}{'*' if p['proven'] else ''}"
                     for p in result["points"] if p["on_frontier"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chorale")
    parser.add_argument("--max-chunks", type=int, default=2)
    parser.add_argument("--conflicts", type=int, default=20000)
    parser.add_argument("--effort", type=int, default=1000, help="the same on every machine, however busy")
    options = parser.parse_args()
    commit = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    print(f"{os.cpu_count()} hardware threads; commit {commit.stdout.strip()}")
    print(f"AllReduce, --max-chunks {options.max_chunks} --conflicts {options.conflicts} --effort {options.effort}; "
          "steps: rounds per chunk, * proven")
    for machine in MACHINES:
        free = None
        for order, words in ORDERS:
            with tempfile.NamedTemporaryFile(suffix=".json") as file:
                done = subprocess.run([options.chorale, "frontier", *machine.split(), "allreduce", *words, "--max-chunks", str(options.max_chunks),
                                       "--conflicts", str(options.conflicts), "--effort", str(options.effort), "-q", "--json", file.name],
                                      check=False)
                if done.returncode not in (0, 3):
                    raise SystemExit(f"{machine}, {order}: exit code {done.returncode}")
                result = json.load(open(file.name))
            least = min(p["rounds"] / p["chunks"] for p in result["points"])
            free = free or least
            print(f"{machine:12} {order:8} {points(result)}{'' if result['complete'] else '  (not complete)'}; x {least / free:.3f}", flush=True)
            if order == "fixed":
                print(f"{'':12} {'':8} along {result['collective']['order']}")


if __name__ == "__main__":
    main()
