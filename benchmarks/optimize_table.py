#!/usr/bin/env python3
"""The table that 'chorale optimize' answers with, on ten machines: how near each message size is to the
bound, how soon there is a table, and that it only improves.

Usage: optimize_table.py CHORALE [--data FOLDER] [--collectives allreduce allgather] [--times 2 6 18]
                         [--machines MACHINE ...]

Five machines are files of other tools in --data (tests/data/topology). A row per machine and collective,
searched for the last of --times: percent of the bound at seven sizes; seconds until the first line of the
log, which has a time for each size (wall, and CPU of the program), with the aim: 2 s up to 16 ranks, 10 s up
to 64. Then the same question is asked for each of --times: a size that has a longer time, or a lower bound,
after a longer search is a fault, as is one that got worse from a line of the log to the next, or has no time
in the end. A longer search that had fewer CPU seconds, since others used the processors, is not compared.
Exit code 1: a fault, or a first table later than its aim in CPU seconds.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.stdout.reconfigure(line_buffering=True)
SIZES = ["1K", "16K", "128K", "1M", "16M", "128M", "1G"]
BYTES = [int(size[:-1]) << {"K": 10, "M": 20, "G": 30}[size[-1]] for size in SIZES]
# Arguments; a name that ends with .xml is a file in --data.
MACHINES = ["dgx1", "torus:4x4", "dgx-a100:2", "mi250:1", "dgx-a100:8", "h100.xml --nodes 2", "topo_8p_rome.xml --nodes 2",
            "topology_p4d-24xl-topo.xml --nodes 2", "topo_16p1h.xml", "azure-ndv4-topo.xml --nodes 8"]
MICROSECONDS = {"us": 1, "ms": 1e3, "s": 1e6}
TIME = re.compile(r"(\d[\d.]*) (us|ms|s) \((\d[\d.]*) % of bound\)")


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Answer:
    """One search: its rows, when the first line of the log came, and what the lines report of the smallest
    and the largest size."""

    def __init__(self, chorale, machine, collective, seconds):
        self.log, self.first = [], None
        with tempfile.NamedTemporaryFile(suffix=".json") as file, tempfile.TemporaryFile("w+") as printed:
            begin = time.monotonic()
            command = [chorale, "optimize", *machine, collective, "--sizes", ",".join(SIZES), "--search-time", f"{seconds}s", "--progress", "--json", file.name]
            running = subprocess.Popen(command, stdout=printed, stderr=subprocess.PIPE, text=True)
            for line in running.stderr:
                pairs = TIME.findall(line)
                if pairs and self.first is None:
                    self.first = (time.monotonic() - begin, cpu_seconds(running.pid))
                if pairs:
                    self.log.append([float(us) * MICROSECONDS[unit] for us, unit, _ in pairs])
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
            if running.returncode not in (0, 3):
                sys.exit(f"{command}: exit code {running.returncode}")
            self.cpu = used.ru_utime + used.ru_stime
            self.table = json.loads(pathlib.Path(file.name).read_text())
            printed.seek(0)
            self.ranks = int(re.search(r"(\d+) ranks", printed.read())[1])
        self.all = time.monotonic() - begin
        self.rows = {row["message_bytes"]: row for row in self.table["rows"]}
        if self.first is None:  # it ended before the log began
            self.first = (self.all, self.cpu)

    def worse_in_log(self):
        return [(before, now) for lines in zip(self.log, self.log[1:]) for before, now in zip(*lines) if now > before * 1.001]


def worse(before, after):
    """What got worse from one table to another of a longer search."""
    for size, row in before.rows.items():
        later = after.rows.get(size)
        if later is None or later["us"] > row["us"] * 1.0001 or later["bound_us"] < row["bound_us"] * 0.9999:
            yield f"{size} B: {row['us']:.5g} us (bound {row['bound_us']:.5g}), then " + (
                f"{later['us']:.5g} us (bound {later['bound_us']:.5g})" if later else "nothing")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("chorale", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1] / "tests/data/topology")
    parser.add_argument("--collectives", nargs="+", default=["allreduce", "allgather"])
    parser.add_argument("--times", nargs="+", type=int, default=[2, 6, 18])
    parser.add_argument("--machines", nargs="+", default=MACHINES)
    given = parser.parse_args()
    chorale = given.chorale.resolve()
    commit = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    print(f"commit {commit}; percent of the bound after {given.times[-1]} s; first table: wall and CPU seconds; load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors")
    print(f"{'machine':<38} {'ranks':>5} {'collective':<10}" + "".join(f"{size:>7}" for size in SIZES) + "   first     (CPU)  aim  search")
    faults = late = asked = starved = 0
    for machine in given.machines:
        words = machine.split()
        if words[0].endswith(".xml"):
            words[0] = str(given.data / words[0])
        for collective in given.collectives:
            answers = [Answer(chorale, words, collective, seconds) for seconds in given.times]
            last = answers[-1]
            aim = 2 if last.ranks <= 16 else 10
            asked += 1
            wall, cpu = min(answer.first for answer in answers)
            late += cpu > aim
            faults += len(last.rows) < len(SIZES)
            shares = "".join(f"{100 * row['bound_us'] / row['us']:6.1f} " if row else "  none " for row in map(last.rows.get, BYTES))
            print(f"{machine:<38} {last.ranks:>5} {collective:<10}{shares} {wall:6.2f} s {cpu:7.2f} {aim:>4}  {'complete' if last.table['complete'] else last.table['stopped'] or 'ended'} {last.all:.1f} s")
            for shorter, longer, seconds in zip(answers, answers[1:], given.times[1:]):
                if longer.cpu < shorter.cpu:  # other work had the processors
                    starved += 1
                    continue
                for fault in worse(shorter, longer):
                    faults += 1
                    print(f"  worse after {seconds} s: {fault}")
            for answer, seconds in zip(answers, given.times):
                for before, now in answer.worse_in_log():
                    faults += 1
                    print(f"  worse within {seconds} s: {before:.5g} us, then {now:.5g} us")
    print(f"{asked} tables of {len(given.machines)} machines; {late} first tables later than their aim; {faults} times a row got worse or had no time; "
          f"{starved} longer searches had fewer CPU seconds than the shorter, and are not compared")
    return 1 if faults or late else 0


if __name__ == "__main__":
    sys.exit(main())
