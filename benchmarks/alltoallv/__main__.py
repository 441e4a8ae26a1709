#!/usr/bin/env python3
"""Alltoallv planned by its counts, in milliseconds.

usage: benchmarks/alltoallv plan    [--chorale build/release/bin/chorale] [--seeds 20]
       benchmarks/alltoallv random  [--chorale build/release/bin/chorale] [--matrices 60]
       benchmarks/alltoallv simgrid [--skews 0,0.5,1,1.5] [--bytes 2000000]
       benchmarks/alltoallv fabric  [--skews 0,1] [--nodes 4] [--size 4] [--bytes 400000]

Counts follow Zipf's law of the given skew, over destinations (popular experts) or over pairs, in random order.

plan: 8 nodes of 8 ranks, 256 MB per rank, by `chorale alltoallv`: the time to plan, the predicted time over the
      bound, how much more the busiest NIC of a node carries than the mean, and directly.
random: the same machine, matrices of a random skew (0 to 1.5, over destinations or pairs), share of empty blocks (0, half
      or nine in ten) and size (16 KB to 1 GB per rank, each doubling as likely), by size; each is printed with --each.
simgrid: the same ranks with data in SimGrid (libsimgrid-dev), every byte checked: the plan against each algorithm
      and selector of SMPI's MPI_Alltoallv. Rates are a tenth of those of plan, and so are bytes.
fabric: network namespaces (root alone; benchmarks/fabric), every byte checked: the plan, which includes gathering
      and planning, against each algorithm of Open MPI's MPI_Alltoallv.
"""
import argparse
import json
import math
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = [HERE / "call.cpp", *(ROOT / "runtime/alltoallv" / f"{name}.cpp" for name in ("plan", "price", "layout")), ROOT / "runtime/alltoallv.cpp"]
LONGEST = 120  # seconds of a run


def zipf(skew, over, ranks, bytes_per_rank, seed):
    chance = random.Random(seed)
    weights = [(i + 1) ** -skew for i in range(ranks if over == "destinations" else ranks * ranks)]
    chance.shuffle(weights)
    if over == "destinations":
        weights *= ranks
    unit = bytes_per_rank * ranks / sum(weights)
    return [[int(weights[src * ranks + dst] * unit) for dst in range(ranks)] for src in range(ranks)]


def written(folder, counts):
    (folder / "counts.txt").write_text("\n".join(" ".join(map(str, row)) for row in counts) + "\n")
    return folder / "counts.txt"


def run(*command, codes=(0,), timeout=LONGEST):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout)
    if codes and done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-500:]}{done.stderr.strip()[-2000:]}")
    return done


def plan(options, folder):
    print(f"{'Zipf over':<13} {'skew':>4}  {'planning ms':>14}  {'time / bound':>15}  {'direct / time':>13}  {'busiest NIC over the mean, less 1':>33}")
    print(f"{'':<13} {'':>4}  {'median':>7}{'most':>7}  {'median':>8}{'most':>7}  {'median':>13}  {'plan, most':>16}{'direct, median':>17}")
    for over in ("destinations", "pairs"):
        for skew in (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5):
            found = []
            for seed in range(options.seeds):
                counts = written(folder, zipf(skew, over, 64, 256_000_000, seed))
                run(options.chorale, "alltoallv", counts, "--nodes", 8, "--json", folder / "plan.json", "-q")
                found.append(json.loads((folder / "plan.json").read_text()))
            ms = [each["planning_ms"] for each in found]
            of_bound = [each["us"] / each["bound_us"] for each in found]
            print(f"{over:<13} {skew:>4}  {statistics.median(ms):>7.2f}{max(ms):>7.2f}  {statistics.median(of_bound):>8.3f}{max(of_bound):>7.3f}  "
                  f"{statistics.median(each['direct_us'] / each['us'] for each in found):>13.2f}  "
                  f"{max(each['busiest_nic']['over_mean'] for each in found) - 1:>16.5f}"
                  f"{statistics.median(each['busiest_nic_directly']['over_mean'] for each in found) - 1:>17.3f}", flush=True)
    return 0


def random_matrices(options, folder):
    rows = []
    for seed in range(options.matrices):
        chance = random.Random(seed)
        over, skew, empty = chance.choice(("destinations", "pairs")), chance.uniform(0, 1.5), chance.choice((0, 0.5, 0.9))
        counts = zipf(skew, over, 64, 16_000 * 2 ** chance.uniform(0, 16), seed)
        counts = [[0 if chance.random() < empty else each for each in row] for row in counts]
        run(options.chorale, "alltoallv", written(folder, counts), "--nodes", 8, "--json", folder / "plan.json", "-q")
        found = json.loads((folder / "plan.json").read_text())
        rows.append((found["bound_us"], found["us"] / found["bound_us"], found["direct_us"] / found["us"], found["planning_ms"]))
        if options.each:
            print(f"seed {seed:>2}: {over:<12} skew {skew:.2f}, {empty:.0%} empty: bound {rows[-1][0]:.1f} us, time / bound {rows[-1][1]:.3f}, direct / time {rows[-1][2]:.2f}")
    print(f"{'bound':<18} {'matrices':>8}  {'planning ms':>14}  {'time / bound':>15}  {'direct / time':>22}")
    print(f"{'':<18} {'':>8}  {'median':>7}{'most':>7}  {'median':>8}{'most':>7}  {'least':>7}{'median':>8}{'most':>7}")
    for name, least, most in (("below 100 us", 0, 100), ("100 us to 2 ms", 100, 2000), ("above 2 ms", 2000, math.inf), ("all", 0, math.inf)):
        of_bound, gain, ms = ([row[k] for row in rows if least <= row[0] < most] for k in (1, 2, 3))
        if ms:
            print(f"{name:<18} {len(ms):>8}  {statistics.median(ms):>7.2f}{max(ms):>7.2f}  {statistics.median(of_bound):>8.3f}{max(of_bound):>7.3f}  "
                  f"{min(gain):>7.2f}{statistics.median(gain):>8.2f}{max(gain):>7.2f}")
    return 0


def platform(folder, nodes, size, nic_gbs, node_gbs):
    """Hosts with a link into their node's switch and a NIC, each way; a message within a node takes the first, between nodes the second."""
    ranks = nodes * size
    lines = ['<?xml version="1.0"?>', '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">', '<platform version="4.1"><zone id="z" routing="Full">']
    lines += [f'<host id="h{n}" speed="1Gf"/>' for n in range(ranks)]
    for n in range(ranks):
        for kind, gbs in (("nic", nic_gbs), ("node", node_gbs)):
            lines.append(f'<link id="{kind}_out{n}" bandwidth="{gbs * 1e9:.0f}Bps" latency="{5 if kind == "nic" else 2}us"/>')
            lines.append(f'<link id="{kind}_in{n}" bandwidth="{gbs * 1e9:.0f}Bps" latency="0us"/>')
    for a in range(ranks):
        for b in range(ranks):
            if a != b:
                kind = "node" if a // size == b // size else "nic"
                lines.append(f'<route src="h{a}" dst="h{b}" symmetrical="NO"><link_ctn id="{kind}_out{a}"/><link_ctn id="{kind}_in{b}"/></route>')
    (folder / "platform.xml").write_text("\n".join(lines + ["</zone></platform>"]))
    (folder / "hosts").write_text("\n".join(f"h{n}" for n in range(ranks)))


def simgrid(options, folder):
    if not shutil.which("smpirun"):
        print("SKIPPED: there is no smpirun (libsimgrid-dev)")
        return 77
    run("smpicxx", "-std=c++20", "-O2", f"-I{ROOT}", *SOURCES, "-o", folder / "call")
    platform(folder, 8, 8, 5, 45)
    model = ["network/model:CM02", "network/latency-factor:1", "network/bandwidth-factor:1", "network/weight-S:0", "network/crosstraffic:0",
             "network/TCP-gamma:0", "smpi/simulate-computation:no"]
    base = ["smpirun", "-np", 64, "-platform", folder / "platform.xml", "-hostfile", folder / "hosts", *(f"--cfg={each}" for each in model),
            "--log=root.thresh:critical"]
    listed = run(*base, "--cfg=smpi/alltoallv:none", folder / "call", "x", 8, "x", "mpi", 1, codes=None)
    names = re.search(r"Valid algorithms: ([^\n]*)\.", listed.stdout + listed.stderr)[1].split(", ")
    choices = [f"smpi/alltoallv:{name}" for name in names if name != "automatic"]
    choices += [f"smpi/coll-selector:{name}" for name in ("ompi", "mpich", "mvapich2", "impi")]

    def us(mode, choice=None):
        try:
            done = run(*base, *([f"--cfg={choice}"] if choice else []), folder / "call", folder / "counts.txt", 8, "nic=5,node=45,latency=5", mode, 1,
                       codes=None)
        except subprocess.TimeoutExpired:
            return math.inf
        found = re.search(r"^(\S+) us$", done.stdout, re.M)
        return float(found[1]) if done.returncode == 0 and found else math.inf

    print(f"{'Zipf over':<13} {'skew':>4} {'ours us':>9} {'predicted':>9} {'bound us':>9}  {'best of SMPI':>12}  ratio  which")
    worst = math.inf
    for over in ("destinations", "pairs"):
        for skew in options.skews:
            counts = written(folder, zipf(skew, over, 64, options.bytes, 1))
            run(options.chorale, "alltoallv", counts, "--nodes", 8, "--rates", "nic=5,node=45,latency=5", "--json", folder / "plan.json", "-q")
            predicted = json.loads((folder / "plan.json").read_text())
            # Where the plan is the direct way, the libraries leave the call to MPI.
            theirs = {choice: us("mpi", choice) for choice in choices}
            choice, best = min(theirs.items(), key=lambda each: each[1])
            ours = us("direct" if predicted["direct"] else "ours")
            worst = min(worst, best / ours)
            out = [name.split("/")[1] for name, time in theirs.items() if time == math.inf]
            print(f"{over:<13} {skew:>4} {ours:>9.0f} {predicted['us']:>9.0f} {predicted['bound_us']:>9.0f}  {best:>12.0f}  {best / ours:>5.2f}  "
                  f"{choice.split('/')[1]}{'; left out: ' + ', '.join(out) if out else ''}", flush=True)
    print(f"{len(choices)} algorithms and selectors of SMPI; at least {worst:.2f} times as fast as the best of them")
    return 0


def fabric(options, folder):
    sys.path.insert(0, str(HERE.parent / "fabric"))
    from machine import from_text
    from network import Failed, Network, why_not
    if reason := why_not():
        print(f"SKIPPED: {reason}")
        return 77
    run("mpicxx", "-std=c++20", "-O2", f"-I{ROOT}", *SOURCES, "-o", folder / "call")
    ranks, fast = options.nodes * options.size, 6
    links = []
    for n in range(ranks):
        links.append({"src": n, "dst": ranks + n // options.size, "bandwidth": fast, "both_ways": True})
        links.append({"src": n, "dst": ranks + options.nodes, "bandwidth": 1, "both_ways": True})
    unit = 1500 / (2 * ranks * (fast + 1))  # Mbit/s
    machine = from_text({"topology": "nodes", "ranks": ranks, "switches": options.nodes + 1, "links": links}, unit)
    rates = f"nic={unit / 8e3},node={fast * unit / 8e3},latency=100"
    print(f"{options.nodes} nodes of {options.size} ranks, a NIC of {unit:.2f} Mbit/s each, {fast} times that within a node; {options.bytes} B per rank")
    print(f"{'Zipf over':<13} {'skew':>4} {'ours ms':>9} {'predicted':>9} {'bound':>9}  {'best of Open MPI, ms':>20}  ratio  which")
    with Network(machine) as network:
        for over in ("destinations", "pairs"):
            for skew in options.skews:
                counts = written(folder, zipf(skew, over, ranks, options.bytes, 1))
                run(options.chorale, "alltoallv", counts, "--nodes", options.nodes, "--rates", rates, "--json", folder / "plan.json", "-q")
                predicted = json.loads((folder / "plan.json").read_text())

                def ms(mode, settings=None):
                    text = network.mpirun([folder / "call", counts, options.nodes, rates, mode, 3], settings, LONGEST)
                    return statistics.median(float(each) for each in re.findall(r"^(\S+) us$", text, re.M)) / 1e3

                theirs = {}
                for number, name in enumerate(["default", "linear", "pairwise"]):
                    try:
                        theirs[name] = ms("mpi", {"coll_tuned_use_dynamic_rules": 1, "coll_tuned_alltoallv_algorithm": number} if number else None)
                    except Failed as error:
                        print(f"  {name}: {str(error)[:120]}")
                name, best = min(theirs.items(), key=lambda each: each[1])
                ours = ms("direct" if predicted["direct"] else "ours")
                print(f"{over:<13} {skew:>4} {ours:>9.1f} {predicted['us'] / 1e3:>9.1f} {predicted['bound_us'] / 1e3:>9.1f}  {best:>20.1f}  {best / ours:>5.2f}  {name}"
                      f"{' (direct sends are the plan: MPI does it)' if predicted['direct'] else ''}", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["plan", "random", "simgrid", "fabric"])
    parser.add_argument("--chorale", default=ROOT / "build/release/bin/chorale", type=pathlib.Path)
    parser.add_argument("--seeds", default=20, type=int)
    parser.add_argument("--matrices", default=60, type=int)
    parser.add_argument("--each", action="store_true", help="a line per matrix")
    parser.add_argument("--skews", type=lambda words: [float(word) for word in words.split(",")])
    parser.add_argument("--bytes", type=int)
    parser.add_argument("--nodes", default=4, type=int)
    parser.add_argument("--size", default=4, type=int, help="ranks of a node")
    options = parser.parse_args()
    options.skews = options.skews or ([0.0, 1.0] if options.mode == "fabric" else [0.0, 0.5, 1.0, 1.5])
    options.bytes = options.bytes or (400_000 if options.mode == "fabric" else 2_000_000)
    options.chorale = options.chorale.resolve()
    with tempfile.TemporaryDirectory(prefix="chorale_alltoallv_") as folder:
        return {"plan": plan, "random": random_matrices, "simgrid": simgrid, "fabric": fabric}[options.mode](options, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
