"""How far the program is from what no schedule can beat, on machines without names: 200 random ones of twelve
families, and questions about groups inside a machine, uneven counts, and several collectives at once.
Default options and a time limit.

usage: python3 benchmarks/any_machine machines DIR        writes all machines and questions as files
       python3 benchmarks/any_machine run LOG [options]   asks what LOG does not have yet; reports
                                                          (LOG: a line of JSON per question)
       python3 benchmarks/any_machine report LOG          the tables alone
       python3 benchmarks/any_machine bound NAME          bounds of one machine or question

One process at a time; CPU seconds are the child's by wait4, peak memory is what /proc has stated last. Bounds
are computed here (bounds.py reports how), not by the program. Exit code 1 where an answer is below its bound,
which is a fault of the bound or of the schedule; the result is then kept beside LOG as NAME.COLLECTIVE.json.
"""

import argparse
import collections
import fractions
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import bounds
import machines

COLLECTIVES = ["allgather", "broadcast", "allreduce", "alltoall", "reducescatter"]
PATIENCE = 90  # seconds beyond the limit, and as long as it again, after which a run is killed

NEAR = fractions.Fraction(101, 100)  # rates within 1 % of the best
LEGEND = """none: no answer; <=1% and so on: answers whose rounds per chunk exceed the bound by so little;
median and worst: rounds per chunk over the bound. Steps over the diameter: first: the most of a fewest-steps
point; near: steps of the lowest point within 1 % of the best rate, the median and the 90 % quantile; least: the
fewest that the result's own claims, which reach some 8 steps beyond the fewest, leave to such a point. CPU s:
median and most; over: most seconds beyond the limit, of the clock or, with --cpu, of the processor; MiB: peak
memory."""


class Case:
    def __init__(self, family, name, machine, machine_file, collective, question, question_file=None):
        self.family, self.name, self.machine, self.machine_file = family, name, machine, machine_file
        self.collective, self.question, self.asked = collective, question, question_file or collective


def cases(folder, collectives):
    """All questions; their files are written to the folder."""
    made, questions = machines.write(folder)
    found = [
        Case(family, name, text, folder / f"{name}.json", collective, collective)
        for name, (family, text) in made.items()
        if family in machines.FAMILIES
        for collective in collectives
    ]
    for name, (family, machine, text) in questions.items():
        found.append(
            Case(
                family,
                name,
                made[machine][1],
                folder / f"{machine}.json",
                text["collective"],
                text,
                folder / "questions" / f"{name}.json",
            )
        )
    return found


def sampled(found, count):
    """This many machines, from each family a share as large as its part of all, and at least one of each
    while they last."""
    by_family = collections.defaultdict(list)
    for case in found:
        if case.name not in by_family[case.family]:
            by_family[case.family].append(case.name)
    total, turns = sum(map(len, by_family.values())), []
    for family, names in by_family.items():
        random.Random(f"sample of {family}").shuffle(names)
        turns += [(i / len(names) if i else -1, family, name) for i, name in enumerate(names)]
    if total <= count:
        return found
    chosen = {name for _, _, name in sorted(turns)[:count]}
    return [case for case in found if case.name in chosen]


class Watch(threading.Thread):
    """Peak memory of a process while it runs (wait4 has Python's own, from before exec); and Ctrl-C once it
    has taken this many CPU seconds: a limit that other work on the machine does not change."""

    def __init__(self, process, seconds):
        super().__init__(daemon=True)
        self.process, self.seconds, self.peak_mib = process, seconds, 0

    def run(self):
        tick = os.sysconf("SC_CLK_TCK")
        files = pathlib.Path(f"/proc/{self.process.pid}")
        while self.process.returncode is None:
            try:
                fields = (files / "stat").read_text().rpartition(")")[2].split()
                peak = [line for line in (files / "status").read_text().splitlines() if line.startswith("VmHWM")]
            except OSError:
                return
            self.peak_mib = max([self.peak_mib] + [int(line.split()[1]) // 1024 for line in peak])
            if (int(fields[11]) + int(fields[12])) / tick >= self.seconds:
                self.process.send_signal(signal.SIGINT)
                self.seconds = float("inf")
            time.sleep(0.02)


def measured(chorale, case, seconds, cpu, folder):
    """A row, but for the bound; and the result. `cpu`: the seconds are the processor's, not the clock's."""
    output = folder / "result.json"
    output.unlink(missing_ok=True)
    command = [
        chorale,
        "frontier",
        case.machine_file,
        case.asked,
        *([] if cpu else ["--time-limit", f"{round(seconds * 1000)}ms"]),
        "--json",
        output,
        "-q",
    ]
    started = time.monotonic()
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        watch = Watch(process, seconds if cpu else float("inf"))
        watch.start()
        late = threading.Timer((10 if cpu else 2) * seconds + PATIENCE, lambda: process.send_signal(signal.SIGKILL))
        late.start()
        words = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        late.cancel()
    row = {
        "exit": process.returncode,
        "wall": round(time.monotonic() - started, 2),
        "cpu": round(usage.ru_utime + usage.ru_stime, 2),
        "mib": watch.peak_mib,
    }
    if words.strip():
        row["words"] = words.strip()[:200]
    result = json.loads(output.read_text()) if output.exists() else {"points": []}
    points = [point for point in result["points"] if point["on_frontier"]]
    if points:
        row.update(of_points(points))
        row["near_least"] = steps_left(result, fractions.Fraction(row["best"]) * NEAR)
    row["stopped"] = result.get("stopped", "")
    return row, result


def steps_left(result, rate):
    """The fewest steps for which no claim of the result excludes this rate, at any chunk count."""
    excluded = [
        claim["steps"]
        for claim in result["claims"]
        if claim.get("any_chunks")
        and claim["steps"] is not None
        and (claim["rounds"] is None or fractions.Fraction(claim["rounds"], claim["chunks"]) > rate)
        and claim["collective"] == result["points"][0]["does"]["collective"]
    ]
    return 1 + max(excluded, default=0)


def of_points(points):
    """What a frontier has: fewest rounds per chunk, fewest steps, and who made which."""

    def rate(point):
        return fractions.Fraction(point["rounds"], point["chunks"])

    def construction(point):
        return point.get("construction", point["method"])

    best = min(points, key=lambda point: (rate(point), point["steps"]))
    first = min(points, key=lambda point: (point["steps"], rate(point)))
    near = min(point["steps"] for point in points if rate(point) <= rate(best) * NEAR)
    return {
        "best": str(rate(best)),
        "chunks": best["chunks"],
        "best_steps": best["steps"],
        "steps": first["steps"],
        "near_steps": near,
        "construction": construction(best),
        "steps_by": construction(first),
        "all_by": sorted(set(map(construction, points))),
    }


def key_of(row):
    return row["name"], row["collective"], row["seconds"]


def read(log):
    """The rows of a log; a last line that a killed run did not finish is none."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


def heading():
    """What a log should name: the command, the commit of this tree, and what else the processors do."""
    here = pathlib.Path(__file__).resolve().parent
    git = ["git", "-C", here, "rev-parse", "--short", "HEAD"]
    done = subprocess.run(git, capture_output=True, text=True)
    commit = done.stdout.strip() if done.returncode == 0 else "unknown"
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    command = " ".join(["benchmarks/any_machine", *sys.argv[1:]])
    return f"# {command}\n# commit {commit}, {os.cpu_count()} processors, load {load}\n"


def run(asked):
    chorale, log = pathlib.Path(asked.chorale).resolve(), pathlib.Path(asked.log)
    if not chorale.exists():
        sys.exit(f"{chorale}: there is no such program; --chorale says where it is")
    there = {key_of(row) for row in read(log)}
    begun = log.exists() and log.read_text()
    text = "\n" if begun and not begun.endswith("\n") else ""
    text += heading()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        found = cases(folder, asked.collectives)
        if asked.families:
            found = [case for case in found if case.family in asked.families]
        if asked.sample:
            found = sampled(found, asked.sample)
        for number, case in enumerate(found):
            row = {
                "family": case.family,
                "name": case.name,
                "collective": case.collective,
                "seconds": asked.seconds,
                "limit": "cpu" if asked.cpu else "wall",
                "ranks": case.machine["ranks"],
            }
            if key_of(row) in there:
                continue
            bound, argument = bounds.least(case.machine, case.question)
            row.update(
                bound=str(bound), argument=argument, diameter=bounds.least_steps(case.machine, case.question)
            )
            more, result = measured(chorale, case, asked.seconds, asked.cpu, folder)
            row.update(more)
            if is_false(row):
                kept = log.with_name(f"{case.name}.{case.collective.replace(' ', '_')}.json")
                kept.write_text(json.dumps(result))
            with log.open("a") as file:
                file.write(text + json.dumps(row) + "\n")
                text = ""
            if not asked.quiet:
                print(f"{number + 1}/{len(found)}  {words_of(row)}", file=sys.stderr, flush=True)


def excess(row):
    """Rounds per chunk over the bound, or None without an answer."""
    if "best" not in row:
        return None
    bound = fractions.Fraction(row["bound"])
    return fractions.Fraction(row["best"]) / bound if bound else fractions.Fraction(1)


def is_false(row):
    return excess(row) is not None and (excess(row) < 1 or row["steps"] < row["diameter"])


def words_of(row):
    ratio = excess(row)
    found = f"{float(ratio):.3f} by {row['construction']}" if ratio is not None else "no answer"
    spent = f"{row['cpu']} CPU s, {row['mib']} MiB"
    return f"{row['name']} {row['collective']}: {found}; {spent}, exit code {row['exit']}"


def part(values, share):
    """The least value that so large a share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def distribution(rows, title):
    print(
        f"\n{title:<30}{'n':>4}{'none':>6}{'<=1%':>6}{'<=5%':>6}{'<=20%':>7}{'median':>8}{'worst':>8}   "
        f"{'first':>6}{'near':>7}{'90%':>6}{'least':>7}   {'CPU s':>6}{'most':>6}{'over':>6}{'MiB':>7}"
    )

    def line(name, some):
        ratios = [float(excess(row)) for row in some if excess(row) is not None]
        cells = [f"{len(some):>4}{len(some) - len(ratios):>6}"]
        cells.append(
            "".join(
                f"{sum(ratio <= most + 1e-9 for ratio in ratios):>{width}}"
                for most, width in ((1.01, 6), (1.05, 6), (1.2, 7))
            )
        )
        cells.append(
            f"{statistics.median(ratios):>8.3f}{max(ratios):>8.2f}   " if ratios else f"{'-':>8}{'-':>8}   "
        )
        answered = [row for row in some if "best" in row]
        first = [row["steps"] / max(1, row["diameter"]) for row in answered]
        near = [row["near_steps"] / max(1, row["diameter"]) for row in answered]
        cells.append(
            f"{max(first):>6.2f}{statistics.median(near):>7.1f}{part(near, 0.9):>6.0f}"
            if near
            else f"{'-':>6}{'-':>7}{'-':>6}"
        )
        least = [row["near_least"] / max(1, row["diameter"]) for row in answered if "near_least" in row]
        cells.append(f"{statistics.median(least):>7.1f}   " if least else f"{'-':>7}   ")
        over = max(0, *(row["cpu" if row.get("limit") == "cpu" else "wall"] - row["seconds"] for row in some))
        cpu, mib = [row["cpu"] for row in some], [row["mib"] for row in some]
        cells.append(f"{statistics.median(cpu):>6.1f}{max(cpu):>6.1f}{over:>6.1f}{max(mib):>7}")
        print(f"{name:<30}" + "".join(cells))

    collectives = list(dict.fromkeys(row["collective"] for row in rows))
    for collective in collectives:
        some = [row for row in rows if row["collective"] == collective]
        families = list(dict.fromkeys(row["family"] for row in some))
        for family in families:
            line(f"{collective} {family}", [row for row in some if row["family"] == family])
        if len(families) > 1:
            line(f"{collective}, all", some)
    if len(collectives) > 1:
        line("all", rows)


def ablation(rows):
    print(f"\n{'construction':<36}{'best rate':>11}{'fewest steps':>14}{'some point':>12}   best rate of")
    counts = collections.defaultdict(collections.Counter)
    of = collections.defaultdict(collections.Counter)
    for row in rows:
        if "best" in row:
            counts[row["construction"]]["rate"] += 1
            counts[row["steps_by"]]["steps"] += 1
            of[row["construction"]][row["collective"]] += 1
            for name in row["all_by"]:
                counts[name]["some"] += 1
    for name, count in sorted(counts.items(), key=lambda each: (-each[1]["rate"], -each[1]["some"], each[0])):
        words = ", ".join(f"{collective} {number}" for collective, number in of[name].most_common())
        print(f"{name:<36}{count['rate']:>11}{count['steps']:>14}{count['some']:>12}   {words}")


def report(rows):
    """Returns whether every answer is possible."""
    for seconds in sorted({row["seconds"] for row in rows}):
        some = [row for row in rows if row["seconds"] == seconds]
        machines_of = {row["name"] for row in some}
        print(f"\n{len(some)} questions of {len(machines_of)} machines or parts, {seconds:g} s each")
        print(LEGEND)
        distribution([row for row in some if row["family"] in machines.FAMILIES], "machines")
        others = [row for row in some if row["family"] not in machines.FAMILIES]
        if others:
            distribution(others, "parts of machines")
        ablation(some)
        ended = collections.Counter(row["exit"] for row in some)
        print("\nexit codes: " + ", ".join(f"{code}: {count}" for code, count in sorted(ended.items())))
        far = sorted((row for row in some if excess(row) is not None), key=lambda row: -excess(row))[:10]
        print(
            "farthest from the bound: "
            + "; ".join(f"{row['name']} {row['collective']} {float(excess(row)):.2f}" for row in far)
        )
        silent = [row for row in some if excess(row) is None]
        if silent:
            print(
                "no answer: "
                + "; ".join(f"{row['name']} {row['collective']} (exit code {row['exit']})" for row in silent)
            )
    wrong = [row for row in rows if is_false(row)]
    for row in wrong:
        print(
            f"BELOW THE BOUND: {row['name']} {row['collective']}: {row['best']} rounds/chunk, "
            f"bound {row['bound']} ({row['argument']}); "
            f"{row['steps']} steps, diameter {row['diameter']}"
        )
    return not wrong


def main():
    parser = argparse.ArgumentParser(
        prog="any_machine", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("machines", help="write machines and questions").add_argument("folder")
    ask = commands.add_parser("run", help="ask, and report")
    ask.add_argument("log")
    ask.add_argument("--chorale", default="build/release/bin/chorale")
    ask.add_argument("--seconds", type=float, default=10, help="time limit of a question (10)")
    ask.add_argument(
        "--cpu",
        action="store_true",
        help="the limit is in CPU seconds, after which the program is interrupted as by Ctrl-C: for machines "
        "that have other work",
    )
    ask.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help="N machines or questions only, drawn evenly over the families, always the same",
    )
    ask.add_argument(
        "--families",
        nargs="+",
        metavar="NAME",
        choices=[*machines.FAMILIES, "groups", "counts", "several"],
        help="(all)",
    )
    ask.add_argument(
        "--collectives",
        nargs="+",
        default=COLLECTIVES,
        metavar="NAME",
        choices=list(bounds.NAMED),
        help=f"of whole machines ({' '.join(COLLECTIVES)})",
    )
    ask.add_argument("-q", "--quiet", action="store_true", help="no line a question")
    commands.add_parser("report", help="tables from a log").add_argument("log")
    commands.add_parser("bound", help="bounds of one machine or question").add_argument("name")
    asked = parser.parse_args()
    if asked.command == "run" and (asked.seconds < 0.001 or (asked.sample is not None and asked.sample < 1)):
        parser.error("--seconds is 0.001 or more, --sample 1 or more")
    if asked.command == "machines":
        made, questions = machines.write(asked.folder)
        print(f"wrote {len(made)} machines and {len(questions)} questions to {asked.folder}")
        return 0
    if asked.command == "bound":
        with tempfile.TemporaryDirectory() as name:
            some = [case for case in cases(pathlib.Path(name), COLLECTIVES) if case.name == asked.name]
        for case in some:
            bound, argument = bounds.least(case.machine, case.question)
            print(
                f"{case.name} {case.collective}: {bound} = {float(bound):.6g} rounds per chunk ({argument}), "
                f"{bounds.least_steps(case.machine, case.question)} steps"
            )
        if not some:
            parser.error(f"{asked.name}: there is no such machine or question")
        return 0
    if asked.command == "run":
        run(asked)
    rows = read(pathlib.Path(asked.log))
    if not rows:
        parser.error(f"{asked.log}: there are no rows in it")
    return 0 if report(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
