#!/usr/bin/env python3
"""ASTRA-sim's collectives against schedules of Chorale, both in ASTRA-sim, on the same network.

Usage: astrasim.py CHORALE PROGRAM [--seconds S]     PROGRAM is AstraSim_Analytical_Congestion_Aware (https://github.com/astra-sim/astra-sim);
                                                     without it nothing is run, and the exit code is 77

The left time is the best of ASTRA-sim's own ring, halving and doubling, double binary tree and direct algorithms, each with the data in 1, 4
and 16 parts, which may overlap (preferred-dataset-splits). Ours is the point that 'chorale optimize' takes for the size, as 'emit --target
chakra' writes it, in 1, 4 and 16 parts likewise; 'best' is the fastest of all points. Networks are files of ASTRA-sim, which 'chorale topology import' reads.
Its switches store and forward whole messages, and its rings forward without the rank, which the prediction has otherwise.
"""
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

NETWORKS = [("Ring", 8), ("FullyConnected", 8), ("Switch", 16)]
LATENCY_NS, BANDWIDTH = 500, 50
COLLECTIVES = {"allreduce": ("all-reduce", 0), "allgather": ("all-gather", 2), "alltoall": ("all-to-all", 6)}  # as ASTRA-sim and Chakra have them
SIZES = [1 << 14, 1 << 17, 1 << 20, 1 << 24, 1 << 26]
ALGORITHMS, PARTS = ["ring", "halvingDoubling", "doubleBinaryTree", "direct"], [1, 4, 16]
SYSTEM = {"scheduling-policy": "FIFO", "endpoint-delay": 0, "active-chunks-per-dimension": 16, "local-mem-bw": 1_000_000, "boost-mode": 0}
NO_MEMORY = {"memory-type": "NO_MEMORY_EXPANSION"}


def varint(value):
    return bytes([value & 0x7f | 0x80]) + varint(value >> 7) if value >= 0x80 else bytes([value])


def sized(data):
    return varint(len(data)) + data


def field(number, value):
    return varint(number << 3) + varint(value) if isinstance(value, int) else varint(number << 3 | 2) + sized(value)


def workload(kind, own_bytes):
    """One collective, of so many bytes of a rank's input."""
    attributes = [(b"is_cpu_op", 27, 0), (b"comm_type", 9, kind), (b"comm_size", 9, own_bytes)]
    node = field(1, 1) + field(2, b"collective") + field(3, 7)
    return sized(field(1, b"0.0.4")) + sized(node + b"".join(field(10, field(1, name) + field(at, value)) for name, at, value in attributes))


def fields_of(data):
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7f) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 0x80:
                return value
    while at < len(data):
        key, value = number(), number()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def varints(data):
    end = [at + 1 for at, byte in enumerate(data) if byte < 0x80]
    return [sum((byte & 0x7f) << 7 * k for k, byte in enumerate(data[begin:stop])) for begin, stop in zip([0, *end], end)]


def in_parts(trace, parts):
    """The operations of a trace so many times, which depend on none of the others."""
    messages = []
    while trace:
        size = varints(trace[:10])[0]
        head = len(varint(size))
        messages.append(trace[head:head + size])
        trace = trace[head + size:]
    first, *nodes = messages
    text = sized(first)
    for part in range(parts):
        for node in nodes:
            moved = b""
            for at, value in fields_of(node):
                if at == 1:
                    value += part * len(nodes)
                elif at == 5:
                    value = b"".join(varint(each + part * len(nodes)) for each in varints(value))
                elif at == 10 and value.startswith(field(1, b"comm_tag")):
                    (_, name), (kind, tag) = fields_of(value)
                    value = field(1, name) + field(kind, tag + (part << 20))
                moved += field(at, value)
            text += sized(moved)
    return text


class Simulator:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        (folder / "memory.json").write_text(json.dumps(NO_MEMORY))

    def us(self, network, system):
        """Of the rank that is last; none if ASTRA-sim refuses the algorithm, or does not end."""
        (self.folder / "system.json").write_text(json.dumps({**SYSTEM, **system}))
        try:
            done = subprocess.run([self.program, "--workload-configuration=work", "--system-configuration=system.json",
                                   "--remote-memory-configuration=memory.json", f"--network-configuration={network}"],
                                  cwd=self.folder, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return None
        cycles = [int(each) for each in re.findall(r"finished, (\d+) cycles", done.stdout)]
        return max(cycles) / 1000 if cycles else None


def native(simulator, network, key):
    """(us, name) of the fastest."""
    found = []
    for algorithm in ALGORITHMS if key == "all-reduce" else ["ring", "halvingDoubling", "direct"]:
        if key == "all-to-all" and algorithm == "halvingDoubling":
            continue
        for parts in PARTS:
            us = simulator.us(network, {f"{key}-implementation": [algorithm], "preferred-dataset-splits": parts})
            if us:
                found.append((us, f"{algorithm}/{parts}"))
    return min(found)


def main():
    commit = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    chorale = pathlib.Path(sys.argv[1]).resolve()
    program = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    seconds = sys.argv[sys.argv.index("--seconds") + 1] if "--seconds" in sys.argv else "10"
    if not program or not os.access(program, os.X_OK):
        print("SKIPPED: no program of ASTRA-sim: build AstraSim_Analytical_Congestion_Aware from its sources and name it")
        sys.exit(77)
    print(f"commit {commit}; {LATENCY_NS} ns and {BANDWIDTH} GB/s (of 2^30 bytes) a link; {seconds} s a search")
    print(f"{'network':<17} {'collective':<10} {'message':>9} {'ASTRA-sim us':>13} {'algorithm':>20} {'predicted us':>13} {'ours us':>9} {'parts':>5} {'speedup':>8} {'best us':>9}")
    slower = rows = 0
    with tempfile.TemporaryDirectory(prefix="chorale_astrasim_") as name:
        folder = pathlib.Path(name)
        simulator = Simulator(program, folder)

        def run(*words):
            done = subprocess.run([str(word) for word in (chorale, *words)], cwd=folder, capture_output=True, text=True)
            if done.returncode not in (0, 3):
                sys.exit(f"{words}: exit code {done.returncode}\n{done.stderr}")
            return done.stdout

        for kind, ranks in NETWORKS:
            network = f"{kind}_{ranks}.yml"
            (folder / network).write_text(f"topology: [ {kind} ]\nnpus_count: [ {ranks} ]\nbandwidth: [ {BANDWIDTH}.0 ]\nlatency: [ {LATENCY_NS}.0 ]\n")
            run("topology", "import", network, "-o", "network.json", "-q")
            for collective, (key, type_of) in COLLECTIVES.items():
                run("optimize", "./network.json", collective, "--sizes", ",".join(map(str, SIZES)), "--search-time", seconds, "--json", "found.json", "-o", f"best_{kind}_{collective}", "-q")
                sizes = json.loads((folder / "found.json").read_text())["rows"]
                result = folder / f"best_{kind}_{collective}" / "result.json"
                points = len(json.loads(result.read_text())["points"])
                for row in sizes:
                    size, times = row["message_bytes"], {}
                    for rank in range(ranks):
                        (folder / f"work.{rank}.et").write_bytes(workload(type_of, size // ranks if collective == "allgather" else size))
                    theirs, algorithm = native(simulator, network, key)
                    for point, parts in itertools.product(range(points), PARTS):
                        run("emit", result, "--target", "chakra", "--bytes", size // parts, "--point", point, "-o", folder / "traces")
                        (traces,) = (folder / "traces").iterdir()
                        for file in traces.glob("*.et"):
                            (folder / file.name).write_bytes(in_parts(file.read_bytes(), parts))
                        shutil.rmtree(folder / "traces")
                        us = simulator.us(network, {f"{key}-implementation-custom": [f"{folder}/rank"], "preferred-dataset-splits": 1})
                        times[point, parts] = us or math.inf
                    ours, parts = min((times[row["point"], parts], parts) for parts in PARTS)
                    slower, rows = slower + (ours > 1.001 * theirs), rows + 1
                    print(f"{network[:-4]:<17} {collective:<10} {size:>9} {theirs:>13.4g} {algorithm:>20} {row['us']:>13.4g} {ours:>9.4g} {parts:>5} {theirs / ours:>8.2f} "
                          f"{min(times.values()):>9.4g}", flush=True)
    print(f"{rows} rows; ours is slower in {slower} (by more than 0.1 %)")


if __name__ == "__main__":
    main()
