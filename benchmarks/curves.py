#!/usr/bin/env python3
"""1 KB to 1 GB on whole machines, by simulated time: what 'frontier' finds, what was constructed alone,
composition alone, the best baseline of each size, and the bound.

Usage: curves.py CHORALE [--machines dgx1 torus:4x4] [--collectives allgather allreduce] [--bytes 1K:1G:32] [--max-chunks 4]
                 [--time-limit 20] [--plot FILE.svg]

A line a size: microseconds of ours, its distance from the larger of the bounds on latency and rate, and how
many times as long the others take, with the name of the best hand-written one. A size is one of the largest
buffer of a rank. --plot draws them all (needs python3-matplotlib). Exit code 1: something else than the bound
was faster than ours.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MACHINES = ["dgx1", "ring:8", "torus:4x4", "mesh:4x4", "hypercube:4", "dgx-a100:2", "a100:2", "mi250:1", "dgx1:2"]


def parsed():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("chorale")
    parser.add_argument("--machines", nargs="+", default=MACHINES)
    parser.add_argument("--collectives", nargs="+", default=["allgather", "reducescatter", "allreduce", "alltoall"])
    parser.add_argument("--bytes", default="1K:1G:32")
    parser.add_argument("--max-chunks", default="4")
    parser.add_argument("--time-limit", default="20")
    parser.add_argument("--plot")
    arguments = parser.parse_args()
    if arguments.plot and importlib.util.find_spec("matplotlib") is None:
        print("curves.py: --plot draws with matplotlib, which is not here; pip install matplotlib, or leave --plot out", file=sys.stderr)
        sys.exit(2)
    return arguments


class Curves:
    def __init__(self, arguments, work):
        self.arguments, self.work = arguments, work
        self.chorale = str(pathlib.Path(arguments.chorale).resolve())

    def run(self, *words):
        done = subprocess.run([self.chorale, *words], capture_output=True, text=True, cwd=self.work, timeout=600)
        return done.stdout if done.returncode in (0, 3) else None

    def sizes_of(self, file, blocks):
        """us and bound, by size of the whole buffer: a result is asked for its blocks."""
        sizes = self.buffer_sizes()
        asked = ",".join(str(max(1, size // blocks)) for size in sizes)
        self.run("show", file, "--bytes", asked, "--json", "sizes.json", "-q")
        rows = json.loads((self.work / "sizes.json").read_text())["rows"]
        return {size: (row["us"], row["least_us"]) for size, row in zip(sizes, rows)}

    def buffer_sizes(self):
        units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
        first, last, factor = self.arguments.bytes.split(":")
        at, end = (int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text) for text in (first, last))
        sizes = []
        while at <= end:
            sizes.append(at)
            at *= int(factor)
        return sizes

    def of(self, machine, collective):
        """By name, the times of each size; 'bound' among them."""
        if self.run("frontier", machine, collective, "--max-chunks", self.arguments.max_chunks, "--time-limit", self.arguments.time_limit,
                    "--json", "ours.json", "-q") is None:
            return None
        result = json.loads((self.work / "ours.json").read_text())
        if not result["points"]:
            return None
        blocks = 1 if collective in ("allreduce", "broadcast", "reduce") else result["topology"]["ranks"]
        ours = self.sizes_of("ours.json", blocks)
        curves = {"bound": {size: each[1] for size, each in ours.items()}, "ours": {size: each[0] for size, each in ours.items()}}
        alone = [point for point in result["points"] if point["method"] == "direct" and point["construction"] != "sat"]
        if alone:
            (self.work / "alone.json").write_text(json.dumps({**result, "points": alone}))
            curves["constructed alone"] = {size: each[0] for size, each in self.sizes_of("alone.json", blocks).items()}
        if self.run("compose", machine, collective, "--json", "composed.json", "-q") is not None:
            curves["composition alone"] = {size: each[0] for size, each in self.sizes_of("composed.json", blocks).items()}
        for name in self.by_hand(collective):
            if self.run("classic", name, machine, "--json", "classic.json", "-q") is not None:
                curves[name] = {size: each[0] for size, each in self.sizes_of("classic.json", blocks).items()}
        return curves

    def by_hand(self, collective):
        return re.findall(rf"^(\w+_{collective})\b", self.run("classic", "list"), re.M)


def readable(size):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def told(machine, collective, curves):
    """Prints the lines; how many sizes something of others is faster at."""
    own = {"bound", "ours", "constructed alone", "composition alone"}
    print(f"{machine}, {collective}", flush=True)
    lost = 0
    for size, us in curves["ours"].items():
        hand = min(((times[size], name) for name, times in curves.items() if name not in own), default=None)
        least = curves["bound"][size]
        others = [f"{name} {curves[name][size] / us:.2f}" for name in ("constructed alone", "composition alone") if name in curves]
        others.append(f"by hand {hand[0] / us:.2f} ({hand[1]})" if hand else "none by hand")
        print(f"  {readable(size):>8} {us:>12.1f} us  {us / least if least > 0 else 0:>6.3f} x lower bound; times Chorale: {', '.join(others)}", flush=True)
        lost += any(times[size] < us * (1 - 1e-9) for name, times in curves.items() if name != "bound")
    return lost


def draw(all_curves, file):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    columns = min(4, len(all_curves))
    rows = -(-len(all_curves) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(4.5 * columns, 3.5 * rows), squeeze=False)
    for axis in axes.flat[len(all_curves):]:
        axis.axis("off")
    for axis, ((machine, collective), curves) in zip(axes.flat, all_curves.items()):
        for name, times in curves.items():
            style = {"bound": {"color": "black", "linestyle": ":"}, "ours": {"color": "tab:red", "linewidth": 2}}.get(name, {"linewidth": 0.8})
            axis.loglog(list(times), list(times.values()), label=name, **style)
        axis.set_title(f"{machine}, {collective}", fontsize=9)
        axis.set_xlabel("bytes of the largest buffer", fontsize=7)
        axis.set_ylabel("us", fontsize=7)
        axis.tick_params(labelsize=6)
        axis.legend(fontsize=5)
    figure.tight_layout()
    figure.savefig(file)


def main():
    arguments = parsed()
    commit = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"{os.cpu_count()} hardware threads; commit {commit}; up to {arguments.max_chunks} chunks, {arguments.time_limit} s a frontier", flush=True)
    all_curves, lost = {}, 0
    with tempfile.TemporaryDirectory(prefix="chorale_curves_") as work:
        study = Curves(arguments, pathlib.Path(work))
        for machine in arguments.machines:
            for collective in arguments.collectives:
                curves = study.of(machine, collective)
                if curves is None:
                    print(f"{machine}, {collective}: nothing found", flush=True)
                    continue
                lost += told(machine, collective, curves)
                all_curves[machine, collective] = curves
    print(f"{len(all_curves)} machines and collectives; slower than something else at {lost} sizes")
    if arguments.plot:
        draw(all_curves, arguments.plot)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
