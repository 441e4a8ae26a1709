#!/usr/bin/env python3
"""Weights from a trainer to a rollout: gather and broadcast, direct sends, and the plan of 'chorale reshard',
over the bound.

    benchmarks/reshard.py build/release/bin/chorale [--seconds S]

A row per pair of layouts: CPU seconds, what ranks lack, and for each method its time over the bound and the
seconds of NICs (of all links where a machine has no nodes). One layer of 4096 x 4096 and 4096 x 16384 of 2
bytes.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import tempfile

R, S0, S1 = "replicate", "shard(0)", "shard(1)"
# Machine, mesh and placements before (first ranks), after (ranks from `first` on).
CASES = [
    ("dgx-h100:2", [2, 4], [R, S0], 8, [8], [S0]),
    ("dgx-h100:2", [8], [S0], 8, [2, 4], [R, S0]),
    ("dgx-h100:2", [2, 4], [R, S0], 8, [4, 2], [R, S1]),
    ("dgx-h100:2", [2, 8], [S0, S1], 0, [4, 4], [R, S0]),
    ("dgx-h100:4", [16], [S0], 16, [4, 4], [R, S0]),
    ("dgx-h100:4", [2, 8], [R, S0], 16, [2, 8], [R, S1]),
    ("dgx-a100:2", [2, 4], [R, S0], 8, [8], [S0]),
    ("torus:4x4", [4, 4], [S0, S1], 0, [16], [S1]),
    ("mesh:2x4", [4], [S0], 4, [2, 2], [R, S0]),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chorale")
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    commit = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    print(f"commit {commit.stdout.strip()}")
    print(f"{options.seconds} s a search; time over the bound, and seconds of NICs")
    print(f"{'machine':11} {'layouts':42} {'CPU s':>6}  {'gather, broadcast':>18} {'direct sends':>16} {'plan':>16}")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "q.json"
        for machine, mesh, placed, first, to_mesh, to_placed in CASES:
            sizes = [1, 1]
            for n, side in ((0, mesh), (1, to_mesh)):
                for each in side:
                    sizes[n] *= each
            tensors = [{"name": name, "shape": shape, "from": placed, "to": to_placed} for name, shape in (("a", [4096, 4096]), ("m", [4096, 16384]))]
            file.write_text(json.dumps({"reshard": "layer", "from": {"ranks": list(range(sizes[0])), "mesh": mesh},
                                        "to": {"ranks": list(range(first, first + sizes[1])), "mesh": to_mesh}, "tensors": tensors}))
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            text = subprocess.run([options.chorale, "reshard", machine, file, "--search-time", str(options.seconds), "--json", "-", "-q"],
                                  capture_output=True, text=True, check=True).stdout
            read = json.loads(text)
            cells = [f"{m['us'] / read['bound_us']:.3f}, {1e3 * m['link_seconds']:.3g} ms" for m in read["methods"]]
            layouts = f"{mesh} {'/'.join(placed)} -> {to_mesh} {'/'.join(to_placed)}".replace("replicate", "R").replace("shard", "S")
            print(f"{machine:11} {layouts:42} {resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before:6.1f}  {cells[0]:>18} {cells[1]:>16} {cells[2]:>16}",
                  flush=True)


if __name__ == "__main__":
    main()
