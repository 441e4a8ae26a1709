#!/usr/bin/env python3
"""Our schedules beside those of another tool's own code, on the same machines and sizes, in microseconds without a
call. Skips, and says so, where the peer is not there.

usage: benchmarks/peers.py CHORALE teccl FOLDER [--machines N] [--seed S] [--sizes 1K,64K,1M] [--limit SECONDS]
                                                [--effort N]

teccl: FOLDER is a checkout of TE-CCL (its package `teccl` in it). Its mixed integer programs are solved by HiGHS
(PyPI highspy) through benchmarks/kit/gurobi_on_highs.py, --limit seconds a program. Machines are two boxes of 3 or 4
GPUs, links of each box of mixed rates, one or two cables each way between the boxes. Its settings are those of its
published plans: one chunk, epochs of the fastest link, four of them as one up to 4 KB, the number of epochs searched.
A plan of TE-CCL has the time that it states, in whole epochs; `replayed`, when its sends go as soon as data and link
allow, in its order; the better counts. Ours are by events, as its messages wait for no steps, and by steps.
"""

import argparse
import datetime
import importlib
import json
import logging
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

NEAR = 1.02
UNITS = {"K": 1000, "M": 1000_000}
RATES, ALPHAS, CABLE_RATES, CABLE_ALPHAS = [25, 50, 100], [0.35, 0.7], [6.25, 12.5, 25], [1.3, 2.6]  # GB/s, us


def two_boxes(rng):
    """{(src, dst): (GB/s, us)} and the number of GPUs: boxes of one wiring."""
    size, alpha = rng.choice([3, 4]), rng.choice(ALPHAS)
    ring = {(i, (i + 1) % size) for i in range(size)}
    others = [(a, b) for a in range(size) for b in range(a) if (a, b) not in ring and (b, a) not in ring]
    wires = {pair: rng.choice(RATES) for pair in sorted(ring) + rng.sample(others, rng.randint(0, len(others)))}
    links = {}
    for box in (0, size):
        for (a, b), rate in wires.items():
            links[box + a, box + b] = links[box + b, box + a] = (rate, alpha)
    cable = rng.choice(CABLE_RATES), rng.choice(CABLE_ALPHAS)
    for _ in range(rng.choice([1, 2])):
        out, into = rng.randrange(size), rng.randrange(size)
        links[out, size + into] = links[size + out, into] = cable
    return links, 2 * size


def ours(chorale, folder, links, ranks, asked):
    """us by size: by events, and by steps."""
    wires = [dict(src=a, dst=b, alpha_us=alpha, beta_us_per_byte=1e-3 / rate)
             for (a, b), (rate, alpha) in sorted(links.items())]
    (folder / "machine.json").write_text(json.dumps({"topology": "two_boxes", "ranks": ranks, "links": wires}))
    sizes, found = ",".join(str(each * ranks) for each in asked.bytes), []
    for model in ("events", "steps"):
        done = subprocess.run(
            [chorale, "optimize", "machine.json", "allgather", "--sizes", sizes, "--effort", str(asked.effort),
             "--time", model, "--call-us", "0", "--json", "-"],
            cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 3):
            raise SystemExit(done.stderr)
        found.append([row["us"] for row in json.loads(done.stdout)["rows"]])
    return list(zip(*found))


class Teccl:
    def __init__(self, folder):
        sys.path.insert(0, str(pathlib.Path(__file__).parent / "kit"))
        sys.path.insert(0, str(folder))
        import gurobi_on_highs

        gurobi_on_highs.install()
        self.inputs = importlib.import_module("teccl.input_data")
        self.scheduler = importlib.import_module("teccl.scheduler")
        self.topology = importlib.import_module("teccl.topologies.topology")

    def machine(self, links, ranks, chunk_gb):
        class Machine(self.topology.Topology):
            def __init__(self, given):
                super().__init__(given)

            def construct_topology(self, _):
                self.node_per_chassis = ranks
                pairs = [[links.get((a, b)) for b in range(ranks)] for a in range(ranks)]
                self.capacity = [[link[0] / chunk_gb if link else 0 for link in row] for row in pairs]  # chunks a second
                self.alpha = [[link[1] * 1e-6 if link else -1 for link in row] for row in pairs]

            def set_switch_indicies(self):
                pass

        return Machine(self.inputs.TopologyParams(name="two_boxes", chassis=1, chunk_size=chunk_gb))

    def plan(self, links, ranks, size, asked, folder):
        """Its own search: (us as stated, sends of (source, from, to, chunk, epoch)); None where it finds nothing."""
        inputs, machine = self.inputs, self.machine(links, ranks, size * 1e-9)
        question = inputs.UserInputParams()
        question.topology = inputs.TopologyParams(name="two_boxes", chunk_size=size * 1e-9)
        question.gurobi = inputs.GurobiParams(time_limit=asked.limit / 3600, output_flag=0, mip_focus=1, heuristics=0.3)
        question.instance = inputs.InstanceParams(
            num_chunks=1, epoch_multiplier=4 if size * ranks <= 4000 else 1, schedule_output_file=str(folder / "plan.json"),
            solution_method=inputs.SolutionMethod.ITERATIVE)
        solver = self.scheduler.TECCLSolver.__new__(self.scheduler.TECCLSolver)
        solver.user_input, solver.topology_obj = question, machine
        solver.solver = solver.get_solver(question, machine)
        results, keep = [], solver.get_schedules
        solver.get_schedules = lambda *rest: results.append(keep(*rest)) or results[-1]
        there = os.getcwd()
        os.chdir(folder)  # it makes a folder of logs
        try:
            solver.solve()
        except (ValueError, AssertionError, AttributeError):  # it found no plan in time, or cannot follow its own
            return None
        finally:
            os.chdir(there)
        if not results or not results[0]:
            return None
        epochs = min(results[0])
        return epochs * results[0][epochs]["solver"].epoch_duration * 1e6, results[0][epochs]["schedule"][0]


def replayed(sends, links, size):
    """us when all are sent in the order of their epochs, each as soon as its data and its link are there."""
    there, free = {}, {}
    for source, a, b, chunk, _ in sorted(sends, key=lambda send: send[4]):
        rate, alpha = links[a, b]
        start = max(0 if a == source else there[source, chunk, a], free.get((a, b), 0))
        free[a, b] = start + size * 1e-3 / rate
        there[source, chunk, b] = min(there.get((source, chunk, b), float("inf")), free[a, b] + alpha)
    return max(there.values())


def number(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chorale")
    parser.add_argument("peer", choices=["teccl"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--machines", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", default="1K,64K,1M", help="bytes of a rank")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--effort", type=int, default=1000)
    asked = parser.parse_args()
    asked.bytes, asked.folder = [number(each) for each in asked.sizes.split(",")], asked.folder.resolve()
    if not (asked.folder / "teccl" / "scheduler.py").exists():
        print(f"SKIPPED: {asked.folder} has no teccl/scheduler.py: give a checkout of TE-CCL")
        return 0
    logging.disable(logging.WARNING)  # it warns of each program that has no plan
    try:
        peer = Teccl(asked.folder)
    except ModuleNotFoundError as missing:
        print(f"SKIPPED: {missing}: pip install highspy numpy")
        return 0
    chorale = str(pathlib.Path(asked.chorale).resolve())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=pathlib.Path(__file__).parent,
                            capture_output=True, text=True, check=False).stdout.strip()
    print(f"commit {commit}, {datetime.date.today()}, Allgather, us without a call; TE-CCL on HiGHS, "
          f"{asked.limit:g} s a program; effort {asked.effort}")
    print(f"{'machine':<24} {'bytes':>8} {'TE-CCL':>8} {'replayed':>8} {'events':>8} {'steps':>8} {'its/ours':>8}")
    rng, ratios = random.Random(asked.seed), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for k in range(asked.machines):
            links, ranks = two_boxes(rng)
            mine = ours(chorale, folder, links, ranks, asked)
            for size, (events, steps) in zip(asked.bytes, mine):
                with open(os.devnull, "w", encoding="utf-8") as nothing:
                    sys.stdout, screen = nothing, sys.stdout
                    try:
                        plan = peer.plan(links, ranks, size, asked, folder)
                    finally:
                        sys.stdout = screen
                label = f"{k}: 2 x {ranks // 2}, {len(links)} links"
                if not plan:
                    print(f"{label:<24} {size:>8} {'none':>8} {'':>8} {events:8.2f} {steps:8.2f}", flush=True)
                    continue
                stated, again = plan[0], replayed(plan[1], links, size)
                ratios.append(min(stated, again) / events)
                times = "".join(f" {each:8.2f}" for each in (stated, again, events, steps, ratios[-1]))
                print(f"{label:<24} {size:>8}{times}", flush=True)
    slower = sum(ratio < 1 / NEAR for ratio in ratios)
    if ratios:
        print(f"{slower} of {len(ratios)} rows where TE-CCL's plan is more than 2 % faster; its time over ours, median "
              f"{statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
