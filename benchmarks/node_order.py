#!/usr/bin/env python3
"""The order of a job's nodes on random fragments of a cluster, against the alphabetical order and the order
by switch.

    benchmarks/node_order.py build/release/bin/chorale [--fragments N] [--seed S]

A cluster of 512 hosts in three tiers (8 hosts per leaf switch, 8 leaves per pod, 8 pods, 4:1 above the leaves
and 16:1 above the pods, 8 ranks and 50 GB/s per host), whose names are in no order of switches; each job has
64 random hosts. A row per job: how many orders are proven to be the best, seconds of CPU time at most, the
median and most of what the other orders take over this one, and of bytes between switches.
"""
import argparse
import json
import pathlib
import random
import resource
import statistics
import subprocess
import tempfile

MB = 10**6
JOBS = {
    "data parallel": ([("data", 64), ("tensor", 8)], [("gradients", "allreduce", ["data"], 2000 * MB, 1)]),
    "GPT, 8 x 8 x 8": ([("data", 8), ("pipeline", 8), ("tensor", 8)],
                       [("gradients", "allreduce", ["data"], 2000 * MB, 1), ("activations", "shift", ["pipeline"], 32 * MB, 32)]),
    "GPT, 16 x 4 x 8": ([("pipeline", 4), ("data", 16), ("tensor", 8)],
                        [("gradients", "reducescatter", ["data"], 2000 * MB, 1), ("weights", "allgather", ["data"], 1000 * MB, 1),
                         ("activations", "shift", ["pipeline"], 32 * MB, 32)]),
    "MoE, experts of 8": ([("data", 8), ("expert", 64)],
                          [("dispatch", "alltoall", ["expert"], 64 * MB, 32), ("gradients", "allreduce", ["data"], 500 * MB, 1)]),
    "MoE, 4 stages": ([("pipeline", 4), ("data", 4), ("expert", 32)],
                      [("dispatch", "alltoall", ["expert"], 64 * MB, 32), ("gradients", "allreduce", ["data"], 500 * MB, 1),
                       ("activations", "shift", ["pipeline"], 32 * MB, 32)]),
}


def cluster(names):
    lines, hosts = [], iter(names)
    for pod in range(8):
        for leaf in range(8):
            lines.append(f"SwitchName=leaf{pod}-{leaf} Nodes={','.join(next(hosts) for _ in range(8))}")
        lines.append(f"SwitchName=pod{pod} Switches={','.join(f'leaf{pod}-{leaf}' for leaf in range(8))}")
    return "\n".join(lines + [f"SwitchName=core Switches={','.join(f'pod{pod}' for pod in range(8))}"]) + "\n"


def fragments(names):
    """Whole runs of free hosts below random switches, as a scheduler finds them."""
    chosen = []
    while len(chosen) < 64:
        leaf = random.randrange(64)
        free = [n for n in names[8 * leaf:8 * leaf + 8] if n not in chosen]
        chosen += random.sample(free, min(len(free), random.randint(1, 8), 64 - len(chosen)))
    return chosen


def row(chorale, work, name):
    names = [f"n{i:03}" for i in random.sample(range(512), 512)]
    (work / "topology.conf").write_text(cluster(names))
    axes, reductions = JOBS[name]
    job = {"job": name, "axes": [{"name": n, "size": s} for n, s in axes],
           "reductions": [{"name": n, "goal": g, "axes": a, "bytes": b, "times": t} for n, g, a, b, t in reductions]}
    (work / "job.json").write_text(json.dumps(job))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    text = subprocess.run([chorale, "order", work / "topology.conf", "--hosts", ",".join(fragments(names)), "--job", work / "job.json",
                           "--taper", "4,16", "--json", "-", "-q"], capture_output=True, text=True, check=True).stdout
    read = json.loads(text)
    others = {each["name"]: each for each in read["others"]}
    return {"proven": read["proven"], "cpu": resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, "gap": read["us"] / read["bound_us"],
            **{f"{kind} {of}": others[kind][of] / read[of] if read[of] else float("inf") for kind in others for of in ("us", "bytes")}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chorale")
    parser.add_argument("--fragments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    commit = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    print(f"commit {commit.stdout.strip()}")
    print(f"{options.fragments} random allocations of 64 of 512 hosts; median (and most) of other orders over this one")
    print(f"{'job':18} {'proven':>7} {'gap':>6} {'CPU s':>6}  {'alphabetical, time':>19} {'bytes':>14}  {'by switch, time':>16} {'bytes':>14}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in JOBS:
            random.seed(options.seed)  # the same allocations for each job
            each = [row(options.chorale, pathlib.Path(folder), name) for _ in range(options.fragments)]

            def over(key):
                values = [one[key] for one in each]
                return f"{statistics.median(values):.2f} ({max(values):.2f})"
            print(f"{name:18} {sum(one['proven'] for one in each):>3} / {len(each):<2} {max(one['gap'] for one in each):6.3f} "
                  f"{max(one['cpu'] for one in each):6.2f}  {over('alphabetical us'):>19} {over('alphabetical bytes'):>14}  "
                  f"{over('by switch us'):>16} {over('by switch bytes'):>14}", flush=True)


if __name__ == "__main__":
    main()
