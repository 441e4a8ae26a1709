#!/usr/bin/env python3
"""What is gained where messages wait for data and links alone: `optimize` by steps, by events, and TE-CCL's
published plans (docs/paper-te-ccl.md), in microseconds.

usage: benchmarks/events.py CHORALE [--seconds S] [--collective NAME]

The machines of TE-CCL have its files as input; the others are named ones. A call is left out, as TE-CCL has
none. With a collective that is not allgather or alltoall nothing of TE-CCL's is printed.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import tempfile

MACHINES = ["dgx2.json", "ndv2.json", "dgx-a100:2", "dgx-a100:4", "mi250:2", "dgx1:2"]
DECIMAL = [1_000, 64_000, 1_000_000, 16_000_000]
BINARY = [4 << 10, 64 << 10, 1 << 20, 16 << 20]
# us, by size: files in Fast of teccl/examples/experiments/output_provided, commit c128bf2.
PUBLISHED = {("dgx2.json", "allgather"): [4.01, 4.32, 10.7, 124], ("ndv2.json", "allgather"): [4.14, 6.08, 48.8, 700],
             ("dgx2.json", "alltoall"): [4.06, 8.46, 84.2, 1290]}
INPUTS = {"dgx2.json": "DGX2", "ndv2.json": "NDv2"}


def times(chorale, folder, machine, collective, sizes, model, seconds):
    """us by size, and what the program reports of each: a point that was not timed is marked."""
    done = subprocess.run([chorale, "optimize", machine, collective, "--sizes", ",".join(map(str, sizes)),
                           "--search-time", str(seconds), "--time", model, "--call-us", "0", "--json", "-"],
                          cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)["rows"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chorale")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--collective", default="allgather")
    parser.add_argument("--machines", nargs="*", default=MACHINES)
    asked = parser.parse_args()
    chorale = str(pathlib.Path(asked.chorale).resolve())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=pathlib.Path(__file__).parent, capture_output=True, text=True,
                            check=False).stdout.strip()
    print(f"commit {commit}, {datetime.date.today()}, {asked.seconds:g} s a search, {os.cpu_count()} processors, "
          f"load {os.getloadavg()[0]:.1f}: {asked.collective}, us without a call")
    print(f"{'machine':<12} {'bytes':>9} {'by steps':>9} {'by events':>9} {'of bound':>8} {'TE-CCL':>7} "
          f"{'over it':>7}  construction by events")
    with tempfile.TemporaryDirectory() as folder:
        for name in [each for each in asked.machines if each in INPUTS]:
            (pathlib.Path(folder) / "input.json").write_text(
                json.dumps({"TopologyParams": {"name": INPUTS[name], "chassis": 2}}))
            subprocess.run([chorale, "topology", "import", "input.json", "-o", name], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL)
        for machine in asked.machines:
            sizes = DECIMAL if machine in INPUTS else BINARY
            rows = [times(chorale, folder, machine, asked.collective, sizes, model, asked.seconds)
                    for model in ("steps", "events")]
            published = PUBLISHED.get((machine, asked.collective))
            for i, (steps, events) in enumerate(zip(*rows)):
                theirs = f"{published[i]:7.4g} {events['us'] / published[i]:7.3f}" if published else f"{'-':>7} {'-':>7}"
                share = f"{100 * events['bound_us'] / events['us']:.1f} %" if events["bound_us"] else "-"
                mark = "<=" if events["at_most"] else ""
                print(f"{machine:<12} {sizes[i]:>9} {steps['us']:9.4g} {mark + format(events['us'], '.4g'):>9} "
                      f"{share:>8} {theirs}  {events['algorithm']}", flush=True)


if __name__ == "__main__":
    main()
