#!/usr/bin/env python3
"""LogGOPSim (Hoefler, Schneider, Lumsdaine, 2010), built from its sources, on what 'emit --target goal'
writes.

Usage: loggopsim.py CHORALE FOLDER     FOLDER has LogGOPSim and txt2bin (https://github.com/spcl/LogGOPSim, src/LogGOPSim)

Every point on the frontiers of hubs, at four sizes, as LogGOPSim, SimGrid ('chorale simulate') and Chorale
time it. A hub is what LogGOPS can express: a port per rank, and no links. L is a step's latency and G the
time of a byte, o, g and O are 0, and all messages are eager. LogGOPSim counts in integers: a byte is four
units of time.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

QUESTIONS = [("hub:8", "allreduce"), ("hub:8", "allgather"), ("hub:8", "alltoall"), ("hub:6", "broadcast"), ("hub:16", "alltoall")]
SIZES = {"1K": 1 << 10, "64K": 1 << 16, "1M": 1 << 20, "16M": 1 << 24}
UNITS = 4  # of a byte; more of them overflow LogGOPSim's 32 bits at 16 MiB


def run(*words, cwd):
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{words}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def main():
    chorale, tools = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    print(f"{'machine':<8} {'collective':<10} {'steps':>5} {'rounds/chunk':>12} {'size':>5} {'predicted us':>13} {'SimGrid us':>12} {'LogGOPSim us':>13} {'ratio':>7}")
    worst = rows = 0
    with tempfile.TemporaryDirectory(prefix="chorale_loggopsim_") as folder:
        for machine, collective in QUESTIONS:
            run(chorale, "frontier", machine, collective, "--max-chunks", 2, "--time-limit", 10, "--json", "f.json", cwd=folder)
            result = json.loads((pathlib.Path(folder) / "f.json").read_text())
            link = result["topology"]["links"][0]
            latency = round(link["alpha_us"] / link["beta_us_per_byte"] * UNITS)
            run(chorale, "simulate", "f.json", "--sizes", ",".join(SIZES), "--json", "s.json", cwd=folder)
            simulated = {(row["point"], row["message_bytes"]): row for row in json.loads((pathlib.Path(folder) / "s.json").read_text())["rows"]}
            for number, point in enumerate(result["points"]):
                for size, count in SIZES.items():
                    run(chorale, "emit", "f.json", "--target", "goal", "--bytes", size, "--point", number, "-o", "out.goal", cwd=folder)
                    (goal,) = pathlib.Path(folder).glob("out.goal/*.goal")
                    run(tools / "txt2bin", "-i", goal, "-o", "out.bin", cwd=folder)
                    printed = run(tools / "LogGOPSim", "-f", "out.bin", "-L", latency, "-o", 0, "-g", 0, "-G", UNITS, "-S", 2_000_000_000, "-b", cwd=folder)
                    us = max(int(time) for time in re.findall(r"host \d+: (\d+)", printed)) / UNITS * link["beta_us_per_byte"]
                    row = simulated[number, count]
                    ratio = us / row["predicted_us"]
                    worst, rows = max(worst, abs(ratio - 1)), rows + 1
                    print(f"{machine:<8} {collective:<10} {point['steps']:>5} {point['rounds'] / point['chunks']:>12.4g} {size:>5} {row['predicted_us']:>13.6g} "
                          f"{row['simulated_us']:>12.6g} {us:>13.6g} {ratio:>7.4f}")
                    goal.unlink()
    print(f"{rows} times; LogGOPSim's differ from what is predicted by {100 * worst:.2f} % at most")


if __name__ == "__main__":
    main()
