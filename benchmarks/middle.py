#!/usr/bin/env python3
"""How far the frontiers of machines without names are from what no schedule can beat, at sizes between those
at which latency decides and those at which bandwidth does: time of the fastest point over the bound.

usage: benchmarks/middle.py run LOG [options]   asks what LOG does not have yet (a line of JSON per question),
                                                and reports
       benchmarks/middle.py report LOG [LOG]    the table alone, of two logs side by side

Machines are a sample of benchmarks/any_machine. S steps and R rounds of C chunks take S alpha + (R / C) bytes
beta, 3 us and 1 us per 25,000 bytes unless told otherwise. The bound is that of the result's own claims,
whose certificates `chorale check` accepts: the least, over all S that no claim excludes, of S alpha +
r(S) bytes beta, where r(S) is the highest rate that is claimed of S steps or more.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "any_machine"))
import machines  # noqa: E402

COLLECTIVES = ["allreduce", "broadcast", "allgather"]
SIZES = {"4K": 4 << 10, "64K": 64 << 10, "512K": 512 << 10, "4M": 4 << 20}


def sampled(families, count):
    """This many machines, drawn evenly over the families, always the same."""
    spec = importlib.util.spec_from_file_location("any_machine", HERE / "any_machine" / "__main__.py")
    any_machine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(any_machine)
    with tempfile.TemporaryDirectory() as name:
        found = any_machine.cases(pathlib.Path(name), ["allreduce"])
    found = [case for case in found if case.family in (families or machines.FAMILIES)]
    return any_machine.sampled(found, count)


def rates(claims, collective):
    """(the fewest steps, [(steps or None for any, rounds per chunk)]) of claims about any chunk count."""
    fewest, found = 1, []
    for claim in claims:
        if claim["collective"] != collective or not claim.get("any_chunks"):
            continue
        if claim["rounds"] is None:
            fewest = max(fewest, claim["steps"] + 1)
        else:
            found.append((claim["steps"], claim["rounds"] / claim["chunks"]))
    return fewest, found


def bound(claims, collective, size, alpha, beta):
    """(least time, the steps at which it is)"""
    fewest, found = rates(claims, collective)
    most = max([fewest] + [steps + 1 for steps, _ in found if steps is not None])
    return min(
        (
            alpha * steps + beta * size * max([0.0] + [r for s, r in found if s is None or s >= steps]),
            steps,
        )
        for steps in range(fewest, most + 1)
    )


def fastest(points, size, alpha, beta):
    return min((alpha * p["steps"] + beta * size * p["rounds"] / p["chunks"], p["steps"]) for p in points)


def ask(chorale, case, collective, folder, asked):
    machine, output = folder / "machine.json", folder / "result.json"
    machine.write_text(json.dumps(case.machine))
    output.unlink(missing_ok=True)
    command = [chorale, "frontier", machine, collective, "--time-limit", f"{asked.seconds:g}", "-q"]
    begun = os.times()
    subprocess.run([*map(str, command), "--json", str(output)], stdout=subprocess.DEVNULL)
    ended = os.times()
    row = {"family": case.family, "name": case.name, "collective": collective}
    row["cpu"] = round(sum(ended[2:4]) - sum(begun[2:4]), 2)
    result = json.loads(output.read_text()) if output.exists() else {"points": []}
    row["points"] = [
        {**{key: p[key] for key in ("steps", "rounds", "chunks")}, "by": p.get("construction", p["method"])}
        for p in result["points"]
        if p["on_frontier"]
    ]
    row["claims"] = [
        {key: claim[key] for key in ("collective", "any_chunks", "steps", "rounds", "chunks") if key in claim}
        for claim in result.get("claims", [])
        if claim.get("any_chunks") and claim["collective"] == collective
    ]
    return row


def read(log):
    lines = log.read_text().splitlines() if log.exists() else []
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


def part(values, share):
    """The least value that so large a share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def report(logs, asked):
    print("collective  size      n   median   90 %   worst   the farthest (steps of the point; of the bound)")
    by = [{(row["name"], row["collective"]): row for row in read(log)} for log in logs]
    both = [key for key in by[0] if all(key in each for each in by)]
    for collective in COLLECTIVES:
        for name, size in SIZES.items():
            for number, rows in enumerate(by):
                ratios = []
                for key in both:
                    row = rows[key]
                    if key[1] != collective or not row["points"]:
                        continue
                    us, steps = fastest(row["points"], size, asked.alpha, asked.beta)
                    least, at = bound(row["claims"], collective, size, asked.alpha, asked.beta)
                    ratios.append((us / least, row["name"], steps, at))
                if not ratios:
                    continue
                values = [ratio for ratio, *_ in ratios]
                worst = "; ".join(
                    f"{machine} {ratio:.2f} ({steps}; {at})"
                    for ratio, machine, steps, at in sorted(ratios, reverse=True)[: asked.worst]
                )
                log = f" {logs[number].name}" if len(logs) > 1 else ""
                print(
                    f"{collective:<11} {name:<5} {len(values):>5} {statistics.median(values):>8.3f} "
                    f"{part(values, 0.9):>6.2f} {max(values):>7.2f}   {worst}{log}"
                )


def run(asked):
    chorale = pathlib.Path(asked.chorale).resolve()
    if not chorale.exists():
        sys.exit(f"{chorale}: there is no such program; --chorale says where it is")
    log = asked.logs[0]
    there = {(row["name"], row["collective"]) for row in read(log)}
    git = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"
    with log.open("a") as file:
        file.write(f"# benchmarks/middle.py {' '.join(sys.argv[1:])}\n# commit {commit}, {os.cpu_count()} ")
        file.write(f"processors, load {', '.join(f'{each:.1f}' for each in os.getloadavg())}\n")
    with tempfile.TemporaryDirectory() as name:
        for case in sampled(asked.families, asked.sample):
            for collective in asked.collectives:
                if (case.name, collective) in there:
                    continue
                row = ask(chorale, case, collective, pathlib.Path(name), asked)
                with log.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(f"{case.name} {collective}: {row['cpu']} CPU s", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(
        prog="middle.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "report"])
    parser.add_argument("logs", nargs="+", type=pathlib.Path, metavar="LOG")
    parser.add_argument("--chorale", default="build/release/bin/chorale")
    parser.add_argument("--seconds", type=float, default=10, help="time limit of a question (10)")
    parser.add_argument("--sample", type=int, default=24, metavar="N", help="machines (24)")
    parser.add_argument("--families", nargs="+", metavar="NAME", choices=list(machines.FAMILIES))
    parser.add_argument("--collectives", nargs="+", default=COLLECTIVES, choices=COLLECTIVES)
    parser.add_argument("--alpha", type=float, default=3, help="microseconds of a step (3)")
    parser.add_argument("--beta", type=float, default=4e-5, help="microseconds per byte and round (4e-5)")
    parser.add_argument("--worst", type=int, default=4, help="machines that are named (4)")
    asked = parser.parse_args()
    if asked.command == "run":
        run(asked)
    report(asked.logs, asked)


if __name__ == "__main__":
    main()
