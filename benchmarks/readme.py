#!/usr/bin/env python3
"""The figure and the two results of scale in README.md.

Usage: readme.py CHORALE [--figure FILE.svg] [--machine dgx-a100:2] [--time-limit 5m]

Prints an AllReduce of 1 KiB to 1 GiB: time and bus bandwidth (as nccl-tests defines it) of what 'frontier'
finds, of the two algorithms that NCCL builds for it (rings over all NICs, double binary trees), and of the
bound; --figure draws the table. Then Alltoall on a torus of 512 ranks, and on a torus of 4x4x8 ranks, plain
and twisted: the links that wrap around in the first two dimensions also advance by 4 in the third. All times
of the table are by the alpha-beta model, those of searches are wall seconds.
"""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("chorale", type=pathlib.Path)
parser.add_argument("--figure", type=pathlib.Path)
parser.add_argument("--machine", default="dgx-a100:2")
parser.add_argument("--time-limit")
options = parser.parse_args()
work = tempfile.TemporaryDirectory()


def run(*words):
    done = subprocess.run([options.chorale.resolve(), *words], capture_output=True, text=True, cwd=work.name,
                          env={key: value for key, value in os.environ.items() if key != "COLUMNS"})
    assert done.returncode in (0, 3), f"{words}: exit code {done.returncode}\n{done.stderr}"
    print("$ chorale", *words)
    return done.stdout


def times(file):
    run("show", file, "--bytes", "1K:1G:4", "--json", "sizes.json", "-q")
    return json.loads((pathlib.Path(work.name) / "sizes.json").read_text())["rows"]


def twisted(x_ranks, y_ranks, z_ranks, twist):
    """A torus whose wrap-around links in x and y also advance by the twist in z."""
    def rank(x, y, z):
        return (x % x_ranks * y_ranks + y % y_ranks) * z_ranks + z % z_ranks

    links = []
    for x in range(x_ranks):
        for y in range(y_ranks):
            for z in range(z_ranks):
                links.append((rank(x, y, z), rank(x + 1, y, z + twist * (x == x_ranks - 1))))
                links.append((rank(x, y, z), rank(x, y + 1, z + twist * (y == y_ranks - 1))))
                links.append((rank(x, y, z), rank(x, y, z + 1)))
    return {"topology": "twisted-torus", "ranks": x_ranks * y_ranks * z_ranks,
            "links": [{"src": a, "dst": b, "both_ways": True} for a, b in links]}


def shown(size):
    unit = min(int(math.log2(size) // 10), 3)
    return f"{size >> 10 * unit} {['B', 'KiB', 'MiB', 'GiB'][unit]}"


# -- AllReduce over message size ---------------------------------------------------------------------------
limit = ["--time-limit", options.time_limit] if options.time_limit else []
run("frontier", options.machine, "allreduce", "--bytes", "1K:1G:4", *limit, "--json", "ours.json")
ours = times("ours.json")
ranks = json.loads((pathlib.Path(work.name) / "ours.json").read_text())["topology"]["ranks"]
run("classic", "multi_ring_allreduce", options.machine, "--json", "rings.json")
run("classic", "two_tree_allreduce", options.machine, "--json", "trees.json")
rings, trees = times("rings.json"), times("trees.json")


def bus(size, us):
    return size / us / 1e3 * 2 * (ranks - 1) / ranks


print(f"\n{options.machine} allreduce: us and GB/s (busbw) of Chorale, rings, trees, bound; speedup over the better baseline")
rows = []
for a, b, c in zip(ours, rings, trees):
    size = a["block_bytes"]
    row = (size, a["us"], b["us"], c["us"], a["least_us"])
    rows.append(row)
    cells = "  ".join(f"{us:9.1f} {bus(size, us):6.1f}" for us in row[1:])
    print(f"{shown(size):>8}  {cells}  {min(row[2], row[3]) / row[1]:5.2f}x")

# -- Alltoall -----------------------------------------------------------------------------------------------
print()
for name, machine in (("plain", twisted(4, 4, 8, 0)), ("twisted", twisted(4, 4, 8, 4))):
    (pathlib.Path(work.name) / f"{name}.json").write_text(json.dumps(machine))
found = {}
for machine, chunks in (("plain.json", []), ("twisted.json", ["--max-chunks", "1"]), ("torus:8x8x8", [])):
    out = " ".join(run("frontier", machine, "alltoall", *chunks, "--json", "alltoall.json").split())
    result = json.loads((pathlib.Path(work.name) / "alltoall.json").read_text())
    point = result["points"][0]
    found[machine] = point["rounds"]
    least = re.search(r"any chunk count has fewer than (.*?) rounds", out)[1]
    seconds = re.findall(r"([\d.]+) s\b", out)[-1]
    print(f"{machine}: {result['topology']['ranks']} ranks, {point['steps']} steps, {point['rounds']} rounds, "
          f"{'proven' if point['proven'] else 'not proven'}, {'complete' if result['complete'] else 'not complete'}, "
          f"{seconds} s; at least {least} rounds per chunk for any chunk count")
print(f"twisted over plain: {found['plain.json'] / found['twisted.json']:.2f}x")

# -- the figure ---------------------------------------------------------------------------------------------
WIDTH, HEIGHT, TOP, PANEL = 890, 330, 44, 340
CURVES = [("Chorale", "#0b62a4", "", 1), ("NCCL's rings (baseline)", "#c8501e", "6 3", 2),
          ("NCCL's double binary trees (baseline)", "#7a7a22", "2 3", 3), ("bound: no schedule is beyond", "#555555", "9 4 2 4", 4)]


def panel(left, title, values, low, high, ticks, label):
    """A panel of curves, values by row and curve; low, high and ticks are of the axis as drawn."""
    bottom = HEIGHT - 60
    lines = [f'<text x="{left + PANEL / 2}" y="{TOP - 14}" text-anchor="middle" font-weight="bold">{title}</text>']

    def x(size):
        return left + PANEL * (math.log2(size) - 10) / 20

    def y(value):
        return bottom - (bottom - TOP) * (value - low) / (high - low)

    for tick in ticks:
        lines.append(f'<path d="M{left} {y(tick):.1f}h{PANEL}" stroke="#ddd"/>'
                     f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{label(tick)}</text>')
    for size in (1 << 10, 1 << 15, 1 << 20, 1 << 25, 1 << 30):
        lines.append(f'<path d="M{x(size):.1f} {TOP}V{bottom}" stroke="#eee"/>'
                     f'<text x="{x(size):.1f}" y="{bottom + 16}" text-anchor="middle">{shown(size)}</text>')
    for name, color, dash, column in CURVES:
        points = " ".join(f"{x(row[0]):.1f},{y(value[column - 1]):.1f}" for row, value in zip(rows, values))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"/>')
    return lines


if options.figure:
    log_us = [[math.log10(us) for us in row[1:]] for row in rows]
    busbw = [[bus(row[0], us) for us in row[1:]] for row in rows]
    top = math.ceil(max(map(max, busbw)) / 50) * 50
    body = panel(66, f"AllReduce on {options.machine}: time (us)", log_us, 0, math.ceil(max(map(max, log_us))),
                 range(math.ceil(max(map(max, log_us))) + 1), lambda tick: f"{10 ** tick:,}")
    body += panel(518, "bus bandwidth (GB/s)", busbw, 0, top, range(0, top + 1, 50), str)
    at = 66
    for name, color, dash, _ in CURVES:
        body.append(f'<path d="M{at} {HEIGHT - 18}h24" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"/>'
                    f'<text x="{at + 30}" y="{HEIGHT - 14}">{name}</text>')
        at += 46 + 6.3 * len(name)
    options.figure.write_text("\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" fill="#222">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', *body, "</svg>", ""]))
