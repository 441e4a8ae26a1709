#!/usr/bin/env python3
"""Predicted times against SimGrid, a simulator of others: every point on a frontier is replayed there as an
alpha-beta fluid model.

usage: benchmarks/simgrid.py [--chorale build/release/bin/chorale] [--seconds 10] [--max-chunks 8] [--most 1]
                             [--collective NAME] [MACHINE ...]

Needs libsimgrid-dev and a C++ compiler; reports it and does nothing where they are missing. A machine is a
name or a file; without any: two nodes of ../shared/data/topology/H100-topology.xml as they are imported (left
out, loudly, where that is missing), dgx2:2, mi250:2 and dgx-a100:4. The platform has a link of SimGrid for
each link and each shared limit of the result, and a route over these for each link: parallel links join hosts
of their own. A rank sends all messages of a step, each a transfer by itself, and begins the next step when
all that it sent and receives is there. Exit code 1 where a prediction is off by more than --most percent.
"""
import argparse
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SIZES = [1 << 10, 1 << 16, 1 << 22, 1 << 30]  # of a block
COLLECTIVES = ["allreduce", "allgather", "alltoall"]
SCALE = 10**6  # SimGrid counts whole bytes: both bytes and rates are so many times as large
MOST_SENDS = 60_000  # of a point: an actor each

PROGRAM = r"""
#include <simgrid/s4u.hpp>

#include <fstream>
#include <iostream>
#include <map>
#include <vector>

namespace sg4 = simgrid::s4u;

struct Send { int src, dst, way; };

// Arguments: platform, then the schedule: ranks; bytes of a message; steps; of each how many sends, and these as
// source, destination, which host of each.
int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  std::ifstream in(argv[2]);
  int ranks = 0, steps = 0;
  double bytes = 0;
  in >> ranks >> bytes >> steps;
  std::vector<std::vector<Send>> sends(steps);
  std::vector<std::vector<int>> open(ranks, std::vector<int>(steps, 0));
  std::vector<std::vector<sg4::SemaphorePtr>> there(ranks, std::vector<sg4::SemaphorePtr>(steps));
  for (int s = 0; s < steps; ++s) {
    std::size_t count = 0;
    in >> count;
    sends[s].resize(count);
    for (Send& send : sends[s]) {
      in >> send.src >> send.dst >> send.way;
      ++open[send.src][s];
      ++open[send.dst][s];
    }
  }
  const auto host = [&](int rank, int way) {
    return engine.host_by_name(std::to_string(rank) + "." + std::to_string(way));
  };
  for (int n = 0; n < ranks; ++n)
    for (int s = 0; s < steps; ++s) there[n][s] = sg4::Semaphore::create(0);
  for (int n = 0; n < ranks; ++n)
    sg4::Actor::create("rank", host(n, 0), [&, n] {
      for (int s = 0; s < steps; ++s) {
        for (const Send& send : sends[s])
          if (send.src == n)
            sg4::Actor::create("message", host(n, send.way), [&, s, send] {
              sg4::Comm::sendto(host(send.src, send.way), host(send.dst, send.way),
                                static_cast<std::uint64_t>(bytes));
              there[send.src][s]->release();
              there[send.dst][s]->release();
            });
        for (int left = open[n][s]; left > 0; --left) there[n][s]->acquire();
      }
    });
  engine.run();
  std::cout.precision(12);
  std::cout << sg4::Engine::get_clock() * 1e6 << "\n";
}
"""

# SimGrid's defaults hold corrections that were measured on old clusters; this is the plain model.
PLAIN = ["network/model:CM02", "network/latency-factor:1", "network/bandwidth-factor:1", "network/weight-S:0",
         "network/crosstraffic:0", "network/TCP-gamma:0", "surf/precision:1e-13", "contexts/stack-size:64",
         "contexts/guard-size:0"]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr.strip()[:2000]}")
    return done.stdout


def compiled(folder):
    if not shutil.which("c++"):
        return None
    (folder / "replay.cpp").write_text(PROGRAM)
    done = subprocess.run(["c++", "-std=c++17", "-O2", folder / "replay.cpp", "-o", folder / "replay", "-lsimgrid"],
                          capture_output=True, text=True)
    return None if done.returncode else folder / "replay"


def routes_of(topology):
    """By link: which of the parallel links between its ends it is."""
    count = collections.Counter()
    ways = []
    for link in topology["links"]:
        ways.append(count[link["src"], link["dst"]])
        count[link["src"], link["dst"]] += 1
    return ways


def platform(topology, file):
    links = topology["links"]
    ways = routes_of(topology)
    hosts = max(ways) + 1
    limits_of = collections.defaultdict(list)
    by_ends = {(link["src"], link["dst"]): i for i, link in reversed(list(enumerate(links)))}
    text = ["<?xml version='1.0'?>", '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
            '<platform version="4.1">', '<zone id="machine" routing="Full">']
    text += [f'<host id="{n}.{way}" speed="1Gf"/>' for n in range(topology["ranks"]) for way in range(hosts)]

    def rate(bandwidth, beta):
        return f"{bandwidth / beta * 1e6 * SCALE:.0f}Bps"

    for i, link in enumerate(links):
        speed = rate(link["bandwidth"], link["beta_us_per_byte"])
        text.append(f'<link id="l{i}" bandwidth="{speed}" latency="{link["alpha_us"]}us"/>')
    for k, limit in enumerate(topology.get("limits", [])):
        over = [by_ends[tuple(each)] if isinstance(each, list) else each for each in limit["links"]]
        betas = {links[i]["beta_us_per_byte"] for i in over}
        assert len(betas) == 1, "links of different rates in a limit have no one rate"
        assert not limit.get("multicast") and not limit.get("reduce")
        text.append(f'<link id="m{k}" bandwidth="{rate(limit["bandwidth"], betas.pop())}" latency="0us"/>')
        for i in over:
            limits_of[i].append(k)
    for i, link in enumerate(links):
        over = "".join(f'<link_ctn id="{name}"/>' for name in [f"l{i}"] + [f"m{k}" for k in limits_of[i]])
        ends = f'src="{link["src"]}.{ways[i]}" dst="{link["dst"]}.{ways[i]}"'
        text.append(f'<route {ends} symmetrical="NO">{over}</route>')
    file.write_text("\n".join(text + ["</zone>", "</platform>"]))


def replayed(replay, folder, result, point, block_bytes):
    topology = result["topology"]
    ways = routes_of(topology)
    first = {(link["src"], link["dst"]): i for i, link in reversed(list(enumerate(topology["links"])))}
    lines = [f'{topology["ranks"]} {block_bytes / point["chunks"] * SCALE:.0f} {len(point["schedule"])}']
    for step in point["schedule"]:
        lines.append(str(len(step["sends"])))
        for send in step["sends"]:
            link = send[3] if len(send) > 3 and isinstance(send[3], int) else first[send[1], send[2]]
            lines.append(f"{send[1]} {send[2]} {ways[link]}")
    (folder / "schedule").write_text("\n".join(lines))
    return float(run(replay, folder / "platform.xml", folder / "schedule", *[f"--cfg={option}" for option in PLAIN],
                     "--log=root.thres:critical"))


def predicted(chorale, folder, result, number):
    """What `show --bytes` states of a result that has this point alone."""
    alone = dict(result, points=[result["points"][number]], openings=[], complete=False)
    (folder / "alone.json").write_text(json.dumps(alone))
    blocks = 1 if result["collective"]["collective"] in ("allreduce", "broadcast", "reduce") else result["topology"]["ranks"]
    run(chorale, "show", folder / "alone.json", "--bytes", ",".join(str(size * blocks) for size in SIZES),
        "--json", folder / "sizes.json")
    return [row["us"] for row in json.loads((folder / "sizes.json").read_text())["rows"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chorale", default="build/release/bin/chorale")
    parser.add_argument("--seconds", default=10, type=int, help="of each frontier (10)")
    parser.add_argument("--max-chunks", default=8, type=int)
    parser.add_argument("--most", default=1, type=float, help="percent that a prediction may be off (1)")
    parser.add_argument("--collective", action="append", choices=COLLECTIVES, help="(all three)")
    parser.add_argument("machines", nargs="*")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    commit = run("git", "-C", root, "rev-parse", "--short", "HEAD").strip()
    print(f"{os.cpu_count()} hardware threads; commit {commit}; up to {options.max_chunks} chunks, "
          f"{options.seconds} s a frontier")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        replay = compiled(folder)
        if replay is None:
            print("SKIPPED: no SimGrid here, so nothing was compared; install libsimgrid-dev and a C++ compiler")
            return 0
        machines = [(machine, machine) for machine in options.machines]
        if not machines:
            dump = root.parent / "shared/data/topology/H100-topology.xml"
            if dump.exists():
                run(options.chorale, "topology", "import", dump, "--nodes", 2, "-o", folder / "h100x2.json")
                machines.append(("H100 x2, imported", folder / "h100x2.json"))
            else:
                print(f"SKIPPED: H100 x2, imported: {dump.name} is not here")
            machines += [(machine, machine) for machine in ("dgx2:2", "mi250:2", "dgx-a100:4")]
        sizes = "".join(f"{size:>26,} B" for size in SIZES)
        print("predicted us / replayed us, and how far off the worst of a row is")
        print(f"{'machine':<18} {'collective':<10} {'point':>12} {sizes}     off")
        worst, compared = 0, 0
        for words, machine in machines:
            for collective in options.collective or COLLECTIVES:
                run(options.chorale, "frontier", machine, collective, "--max-chunks", options.max_chunks,
                    "--time-limit", options.seconds, "--json", folder / "result.json", "-q")
                result = json.loads((folder / "result.json").read_text())
                platform(result["topology"], folder / "platform.xml")
                if not any(point["on_frontier"] for point in result["points"]):
                    print(f"{words:<18} {collective:<10}  SKIPPED: nothing was found in {options.seconds} s")
                for number, point in enumerate(result["points"]):
                    sends = sum(len(step["sends"]) for step in point["schedule"])
                    name = f'{point["steps"]}, {point["rounds"]}/{point["chunks"]}'
                    if not point["on_frontier"]:
                        continue
                    if sends > MOST_SENDS:
                        print(f"{words:<18} {collective:<10} {name:>12}  SKIPPED: {sends} messages")
                        continue
                    ours = predicted(options.chorale, folder, result, number)
                    theirs = [replayed(replay, folder, result, point, size) for size in SIZES]
                    off = max(abs(a / b - 1) for a, b in zip(ours, theirs))
                    worst, compared = max(worst, off), compared + len(SIZES)
                    cells = "".join(f"{a:>14.2f} {b:>13.2f}" for a, b in zip(ours, theirs))
                    print(f"{words:<18} {collective:<10} {name:>12} {cells} {100 * off:>6.2f} %", flush=True)
        print(f"{compared} times compared; the worst is off by {100 * worst:.3f} %")
        return 1 if 100 * worst > options.most or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
