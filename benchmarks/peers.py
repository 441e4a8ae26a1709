#!/usr/bin/env python3
"""Our Allgathers beside those of another tool's own code, on the same machines and sizes. Skips, and says so, where
the peer is not there. Nothing of a peer is here: FOLDER is a checkout of it.

usage: benchmarks/peers.py CHORALE PEER [FOLDER] [--machines N] [--seed S] [--sizes 1K,64K,1M] [--limit SECONDS]
                                                 [--effort N]

Machines are two boxes of 3 or 4 GPUs, links of each box of mixed rates, one or two cables each way between the boxes.
Times are microseconds without a call. Ours are by events, where messages wait for no steps, and by steps.

teccl       TE-CCL (its package `teccl`). Its mixed integer programs are solved by HiGHS (PyPI highspy) through
            benchmarks/kit/gurobi_on_highs.py, --limit seconds a program. Its settings are those of its published plans:
            one chunk, epochs of the fastest link, four of them as one up to 4 KB, the number of epochs searched. A plan
            has the time that it states, in whole epochs, and one when its sends go as soon as data and link allow, in
            its order; the better counts.
taccl       TACCL (its package `taccl`), likewise; PyPI numpy and lxml. Its sketch lets every GPU of a box that has a cable
            send over it, one chunk a rank, boxes symmetric; its schedule is timed as its sends in their order.
tacos       TACOS (`include/tacos`, `src`). Compiled by c++ with a driver from here; of 1, 2 and 4 chunks a rank and ten
            tries each the best, as stated.
forestcoll  ForestColl (pipeline_allgather.py; PyPI networkx). Its trees have the least time without latencies, and that
            is what it states: ours is with them, so --sizes are 16M and 256M unless asked.
msccl       msccl-tools (its package `msccl`; PyPI z3-solver): the formula of SCCL on Z3. Both search all (steps, rounds,
            chunks) of up to 3 chunks, on a random machine of 5 or 6 GPUs with links of 1 or 2 chunks a round; Z3 has
            --limit seconds. What counts is seconds, and that no point of one is better than all of the other.
openmpi     Open MPI in PATH: benchmarks/fabric compares each of its algorithms on emulated machines; needs root.
"""

import argparse
import datetime
import importlib
import io
import json
import logging
import multiprocessing
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

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
    needs, sizes = "teccl/scheduler.py", "1K,64K,1M"

    def __init__(self, folder, _):
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
        """Its own search: us, the better of what it states and what replayed() has; None where it finds nothing."""
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
        stated = epochs * results[0][epochs]["solver"].epoch_duration * 1e6
        return min(stated, replayed(results[0][epochs]["schedule"][0], links, size))


def replayed(sends, links, size):
    """us when all are sent in the order of their epochs, each as soon as its data and its link are there."""
    there, free = {}, {}
    for source, a, b, chunk, _ in sorted(sends, key=lambda send: send[4]):
        rate, alpha = links[a, b]
        start = max(0 if a == source else there[source, chunk, a], free.get((a, b), 0))
        free[a, b] = start + size * 1e-3 / rate
        there[source, chunk, b] = min(there.get((source, chunk, b), float("inf")), free[a, b] + alpha)
    return max(there.values())


class Taccl:
    needs, sizes, unit = "taccl/scheduler.py", "1K,64K,1M", 100  # of its whole numbers in a microsecond

    def __init__(self, folder, _):
        sys.path.insert(0, str(pathlib.Path(__file__).parent / "kit"))
        sys.path.insert(0, str(folder))
        self.solver = importlib.import_module("gurobi_on_highs")
        self.solver.install()
        self.topology, self.collectives = importlib.import_module("taccl.topologies.topology"), importlib.import_module("taccl.collectives")
        self.common, self.solve = importlib.import_module("taccl.cli.common"), importlib.import_module("taccl.cli.solve")

    def plan(self, links, ranks, size, asked, folder):
        self.solver.install(asked.limit)
        box, cables = ranks // 2, {pair: link for pair, link in links.items() if pair[0] // (ranks // 2) != pair[1] // (ranks // 2)}
        (rate, alpha), *_ = cables.values()
        local = [[links.get((src, dst)) for src in range(box)] for dst in range(box)]
        spent = lambda rate, size: max(1, round(self.unit * size * 1e-3 / rate))  # noqa: E731
        betas = [[spent(link[0], size) if link else 0 for link in row] for row in local]
        first = self.unit * next(link[1] for row in local for link in row if link)
        machine = self.topology.NodeTopology(
            "two_boxes", [[int(bool(link)) for link in row] for row in local], first, betas,
            [[round(first + beta) if beta else 0 for beta in row] for row in betas], len(cables) // 2,
            round(self.unit * alpha) + spent(rate, size), round(self.unit * alpha), spent(rate, size))
        joins = {}
        for a, b in cables:
            joins.setdefault(str(a % box), set()).add(b % box)
        sketch = {"nnodes": 2, "intranode_sketch": {"strategy": "none"}, "symmetry_offsets": [[box, ranks]], "hyperparameters": {"input_chunkup": 1},
                  "internode_sketch": {"strategy": "relay", "internode_conn": {src: sorted(dsts) for src, dsts in joins.items()}}}
        there = os.getcwd()
        os.chdir(folder)  # it keeps files
        try:
            topology, route_sketch = self.common.parse_and_get_topo(machine, io.StringIO(json.dumps(sketch)))
            plan = self.solve.optimize_comm_sketch(topology, route_sketch, self.collectives.allgather(ranks).chunk_up(1))
        except (ValueError, AssertionError, AttributeError):  # it found nothing in time, or cannot state it
            return None
        finally:
            os.chdir(there)
        return replayed([(c, a, b, 0, t) for step in plan.steps for c, a, b, t, _ in step.sends], links, size)


TACOS_DRIVER = r"""
#include <tacos/collective/all_gather.h>
#include <tacos/synthesizer/synthesizer.h>
#include <tacos/topology/topology.h>
#include <algorithm>
#include <iostream>
struct Machine : tacos::Topology {
  explicit Machine(int ranks) { setNpusCount_(ranks); }
  void add(int src, int dst, double rate, double alpha) { connect_(src, dst, rate, alpha); }
};
int main() {  // ranks, bytes of a rank, links; src dst GiB/s us
  int ranks, links, src, dst;
  double bytes, rate, alpha, best = 1e30;
  std::cin >> ranks >> bytes >> links;
  Machine machine(ranks);
  for (; links > 0 && std::cin >> src >> dst >> rate >> alpha; --links) machine.add(src, dst, rate, alpha);
  for (int chunks : {1, 2, 4})
    for (int tries = 0; tries < 10; ++tries) {
      tacos::Synthesizer synthesizer;
      best = std::min<double>(best, synthesizer.solve(machine, tacos::AllGather(ranks, chunks), bytes / chunks));
    }
  std::cout << best << std::endl;
}
"""


class Tacos:
    needs, sizes = "include/tacos/synthesizer/synthesizer.h", "1K,64K,1M"

    def __init__(self, folder, scratch):
        if not shutil.which("c++"):
            raise ModuleNotFoundError("no c++ in PATH")
        (scratch / "tacos_times.cpp").write_text(TACOS_DRIVER)
        self.program = scratch / "tacos_times"
        sources = [path for path in sorted(folder.glob("src/**/*.cpp")) if path.name != "main.cpp"]
        subprocess.run(["c++", "-std=c++17", "-O2", "-I", folder / "include", scratch / "tacos_times.cpp", *sources, "-o", self.program], check=True)

    def plan(self, links, ranks, size, _asked, _folder):
        wires = [f"{a} {b} {rate * 1e9 / 2**30} {alpha}" for (a, b), (rate, alpha) in links.items()]
        done = subprocess.run([self.program], input="\n".join([f"{ranks} {size} {len(wires)}", *wires]), capture_output=True, text=True, check=True)
        return float(done.stdout)


class Forestcoll:
    needs, sizes = "pipeline_allgather.py", "16M,256M"

    def __init__(self, folder, _):
        sys.path.insert(0, str(folder))
        self.graphs = importlib.import_module("networkx")
        self.trees = importlib.import_module("pipeline_allgather")

    def plan(self, links, ranks, size, _asked, _folder):
        graph = self.graphs.DiGraph()
        for (a, b), (rate, _) in links.items():
            graph.add_edge(a, b, capacity=round(rate * 100))  # in 10 MB/s
        (load, trees), _ = self.trees.optimal_pipeline_spanning_trees(graph, compute_nodes=list(range(ranks)))
        return size * load / trees * 0.1


def points_of_z3(links, ranks, most_chunks, pipe):
    from msccl.collectives import allgather
    from msccl.strategies import prune_pareto_optimal, solve_all_latency_bandwidth_tradeoffs
    from msccl.topologies import Topology

    rates = [[links.get((src, dst), 0) for src in range(ranks)] for dst in range(ranks)]
    begun = time.time()
    found = list(solve_all_latency_bandwidth_tradeoffs(Topology("random", rates), allgather(ranks), max_chunks=most_chunks))
    points = [(len(each.steps), len(each.steps) + each.extra_rounds(), each.instance.chunks) for each in prune_pareto_optimal(found)]
    pipe.send((points, time.time() - begun))


def msccl(asked, scratch):
    """Machines by the (steps, rounds, chunks) that both find, and the seconds; returns how many rows are lost."""
    sys.path.insert(0, str(asked.folder))
    for module in ("z3", "msccl"):
        importlib.import_module(module)
    rng, lost, ratios, most_chunks = random.Random(asked.seed), 0, [], 3
    print(f"{'machine':<20} {'Z3 s':>8} {'ours s':>8}  points of both, or of Z3 | ours")
    for k in range(asked.machines):
        ranks = rng.choice([5, 6])
        links = {(i, (i + 1) % ranks): rng.choice([1, 2]) for i in range(ranks)}
        links |= {(a, b): rng.choice([1, 2]) for a in range(ranks) for b in range(ranks) if a != b and rng.random() < 0.5}
        wires = [{"src": a, "dst": b, "bandwidth": width} for (a, b), width in sorted(links.items())]
        (scratch / "machine.json").write_text(json.dumps({"topology": "random", "ranks": ranks, "links": wires}))
        begun = time.time()
        subprocess.run([asked.chorale, "frontier", "machine.json", "allgather", "--max-chunks", str(most_chunks), "--json", "r.json"],
                       cwd=scratch, capture_output=True, check=True)
        ours_s = time.time() - begun
        ours_points = [(each["steps"], each["rounds"], each["chunks"]) for each in json.loads((scratch / "r.json").read_text())["points"] if each["on_frontier"]]
        near, far = multiprocessing.Pipe()
        process = multiprocessing.Process(target=points_of_z3, args=(links, ranks, most_chunks, far))
        with open(os.devnull, "w", encoding="utf-8") as nothing:
            sys.stdout, screen = nothing, sys.stdout
            process.start()
            sys.stdout = screen
        far.close()
        label = f"{k}: {ranks}, {len(links)} links"
        if not near.poll(asked.limit):
            process.terminate()
            print(f"{label:<20} {'> ' + format(asked.limit, 'g'):>8} {ours_s:8.2f}  - | {show(ours_points)}", flush=True)
            continue
        (theirs, z3_s), less = near.recv(), lambda p, q: p[0] <= q[0] and p[1] * q[2] < q[1] * p[2] or p[0] < q[0] and p[1] * q[2] <= q[1] * p[2]
        process.join()
        better = [p for p in theirs if not any(q[0] <= p[0] and q[1] * p[2] <= p[1] * q[2] for q in ours_points)]
        worse = [q for q in ours_points if any(less(q, p) for p in theirs)]
        lost += bool(better) or ours_s > NEAR * z3_s
        ratios.append(z3_s / ours_s)
        both = show(ours_points) if not better and not worse else f"{show(theirs)} | {show(ours_points)}"
        print(f"{label:<20} {z3_s:8.2f} {ours_s:8.2f}  {both}", flush=True)
    if ratios:
        print(f"{lost} of {len(ratios)} rows where Z3 is faster or has a better point; its seconds over ours, median "
              f"{statistics.median(ratios):.1f}, {min(ratios):.1f} to {max(ratios):.1f}; {asked.machines - len(ratios)} not in {asked.limit:g} s")
    return lost


def show(points):
    return " ".join(f"({s},{r},{c})" for s, r, c in points)


def openmpi(asked, _):
    if not shutil.which("mpirun"):
        raise ModuleNotFoundError("no mpirun in PATH")
    done = subprocess.run([sys.executable, pathlib.Path(__file__).parent / "fabric", asked.chorale, "compare"], check=False)
    if done.returncode == 77:
        raise ModuleNotFoundError("benchmarks/fabric cannot lay out machines here")
    return done.returncode


TIMED = {"teccl": Teccl, "taccl": Taccl, "tacos": Tacos, "forestcoll": Forestcoll}
OTHERS = {"msccl": msccl, "openmpi": openmpi}


def number(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def times(peer, asked, scratch):
    """Machines and sizes by time; returns how many rows are lost."""
    print(f"{'machine':<24} {'bytes':>10} {'theirs':>9} {'events':>9} {'steps':>9} {'theirs/events':>13}")
    rng, ratios, by_steps = random.Random(asked.seed), [], []
    for k in range(asked.machines):
        links, ranks = two_boxes(rng)
        mine = ours(asked.chorale, scratch, links, ranks, asked)
        for size, (events, steps) in zip(asked.bytes, mine):
            with open(os.devnull, "w", encoding="utf-8") as nothing:
                sys.stdout, screen = nothing, sys.stdout
                try:
                    theirs = peer.plan(links, ranks, size, asked, scratch)
                finally:
                    sys.stdout = screen
            label = f"{k}: 2 x {ranks // 2}, {len(links)} links"
            if theirs is None:
                print(f"{label:<24} {size:>10} {'none':>9} {events:9.2f} {steps:9.2f}", flush=True)
                continue
            ratios.append(theirs / events)
            by_steps.append(theirs / steps)
            print(f"{label:<24} {size:>10}" + "".join(f" {each:9.2f}" for each in (theirs, events, steps)) + f" {ratios[-1]:13.3f}", flush=True)
    slower = sum(ratio < 1 / NEAR for ratio in ratios)
    for how, all_of in ("events", ratios), ("steps", by_steps):
        if all_of:
            print(f"by {how} {sum(ratio < 1 / NEAR for ratio in all_of)} of {len(all_of)} rows where theirs is more than 2 % faster; its time over "
                  f"ours, median {statistics.median(all_of):.2f}, {min(all_of):.2f} to {max(all_of):.2f}")
    return slower


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chorale")
    parser.add_argument("peer", choices=[*TIMED, *OTHERS])
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=pathlib.Path("."))
    parser.add_argument("--machines", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", help="bytes of a rank")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--effort", type=int, default=1000)
    asked = parser.parse_args()
    asked.folder, asked.chorale = asked.folder.resolve(), str(pathlib.Path(asked.chorale).resolve())
    kind = TIMED.get(asked.peer)
    needs = kind.needs if kind else {"msccl": "msccl/strategies.py"}.get(asked.peer, ".")
    if not (asked.folder / needs).exists():
        print(f"SKIPPED: {asked.folder} has no {needs}: give a checkout of {asked.peer}")
        return 0
    logging.disable(logging.ERROR)  # TE-CCL reports each program that has no plan
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=pathlib.Path(__file__).parent,
                                capture_output=True, text=True, check=False).stdout.strip()
        print(f"commit {commit}, {datetime.date.today()}, {asked.peer}, seed {asked.seed}, limit {asked.limit:g} s, effort {asked.effort}")
        try:
            if kind:
                asked.bytes = [number(each) for each in (asked.sizes or kind.sizes).split(",")]
                lost = times(kind(asked.folder, scratch), asked, scratch)
            else:
                lost = OTHERS[asked.peer](asked, scratch)
        except ModuleNotFoundError as missing:
            print(f"SKIPPED: {missing}")
            return 0
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
