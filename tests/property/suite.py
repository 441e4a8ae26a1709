#!/usr/bin/env python3
"""The property suite of the program: rows of a maker of random cases and the properties that hold of each, with
every option that limits at its smallest; judged by something slow and obvious.

Usage: suite.py [ROW] [--seconds N | --cases N | --case N | --quick] [--seed S] [--build DIR] [--jobs J]
                [--ranks N] [--work N] [--results DIR] [--faults DIR]

A case follows from row, seed, number and --ranks alone: --case does one again. --quick does what ctest does: the
cases of a row that its table states, on small machines, since nearly all of the time is in the few large ones.
With --results a line is added to DIR/suite.log. Faults are printed with what reproduces them, and kept in
--faults DIR. Exit code 1: something was wrong, or less was found than the row has to find.
"""
import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import typing

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(root / "tests"))
import claims  # noqa: E402
import every_field  # noqa: E402
import exhaustive  # noqa: E402
import forgeries  # noqa: E402
import libraries  # noqa: E402
import lowering  # noqa: E402
import makers  # noqa: E402
import proofs  # noqa: E402
import searches  # noqa: E402
from kit import program, random_input  # noqa: E402
from session import Over, Session, checked  # noqa: E402
from verdicts import forged  # noqa: E402


class Row(typing.NamedTuple):
    make: typing.Callable  # a case, of a random.Random
    properties: list       # of a session, in order; the first one asks
    often: float = 0       # among all rows; 0: by its name only
    cases: int = 1         # in --quick
    least: dict = {}       # counts that --quick has to reach, so that it is seen to look
    ranks: int = 5         # of machines in --quick, at most
    work: int = 100_000    # of the exhaustive search in --quick, which gives up then


def sometimes(chance, *properties):
    return lambda session: each_of(session, properties) if session.flip(chance) else None


def one_of(*choices):
    """Each a property, or some one after the other."""
    return lambda session: each_of(session, session.rng.choice([choice if isinstance(choice, tuple) else (choice,) for choice in choices]))


def each_of(session, properties):
    for each in properties:
        each(session)


def if_small(small, large):
    return lambda session: each_of(session, small if session.case["small"] else large)


EXACT = (searches.exact, searches.exact_question, searches.exact_question)
LIKE_OTHERS = (one_of(searches.larger, searches.larger, searches.another_way, searches.contradiction, searches.contradiction, (), ()),)
FEW = 2_000  # of the exhaustive search, where it is not what a row is about
SUMS = ("one_shot_allreduce", "two_tree_allreduce", "ring_allreduce", "recursive_doubling_allreduce")
ROWS = {
    # Answers, against exhaustive search and each other.
    "tiny": Row(makers.tiny, [searches.frontier, *EXACT, sometimes(0.3, checked)], 30, 60, {"exhaustive comparisons": 60}),
    "frontier": Row(makers.limited, [searches.frontier, sometimes(0.4, checked), *LIKE_OTHERS], 40, 30),
    "synthesize": Row(makers.limited, [searches.synthesis, sometimes(0.5, checked), sometimes(0.3, searches.bounded)], 8, 40),
    "interrupt": Row(makers.long, [searches.interrupted], 2, 10),
    "order": Row(makers.sums, [searches.frontier, if_small(EXACT, LIKE_OTHERS), searches.in_order, searches.less_order, sometimes(0.3, lowering.executed_in_types),
                               checked, forged(8, forgeries.ALL + [forgeries.order_of_sums] * 8)], 10, 20, {"compared with another order": 16}, 4),
    "sums": Row(makers.allreduces, [one_of(*[searches.frontier] * 4, lambda session: lowering.classic(session, SUMS, "full:8")), proofs.same_bits], 1, 30,
                {"chunks added up": 60, "points that state sums": 1, "chunks that need stated sums": 1}, 6, FEW),
    "ways": Row(makers.ways, [searches.frontier, searches.over_all_ways, checked, forged(10, forgeries.WAYS)], 8, 10, {"frontiers over some ways and all": 3}),
    "abilities": Row(makers.abilities, [searches.frontier, *EXACT, searches.counted_once, checked, sometimes(0.3, lowering.executed),
                                        forged(8, forgeries.ALL + [forgeries.machine] * 8)], 8, 12, {"exhaustive comparisons": 10}),
    # Sentences: what each command claims, as a predicate; tests/docs/sentences.py has which sentences.
    "claims": Row(makers.claims, [claims.asked], 20, 40, {
        "questions": 40, **{f"claims of {name}": 1 for name in ("fastest_at_sizes", "fewest_rounds")},
        **{f"mutants of {name} refused": 1 for name in ("fastest_at_sizes", "fewest_rounds")}}, 5, FEW),
    # Files: what is false is refused, what is true is not.
    "forge": Row(makers.mixed, [one_of(*[searches.frontier] * 4, searches.synthesis), checked, forged(25, forgeries.ALL)], 10, 15, {"forgeries, false": 100, "forgeries, true": 15}),
    "every_field": Row(makers.known, [every_field.every_field], 0, len(every_field.GENUINE), {"fields changed": 4000}),
    "library": Row(makers.libraries, [libraries.built, *[libraries.taken] * 4, lambda session: libraries.forged(session, 6, 1)], 5, 8, {"libraries forged": 18}),
    "forged_libraries": Row(makers.known, [libraries.known, *[libraries.taken] * 4, libraries.forged], 0, 1, {"libraries forged": 200}),
    "damaged_files": Row(makers.known, [libraries.damaged], 0, 1, {"libraries damaged": 12}),
    "lrat": Row(makers.proofs, [searches.frontier, proofs.refutations_proven], 1, 12, {"refutations proven": 30, "changed proofs refused": 20}, 8, FEW),
    "pb": Row(makers.bounds, [searches.frontier, proofs.bounds_proven], 1, 100, {
        "bounds proven": 250, "bounds refused with a round more": 40, "schedules that keep all rules": 10, "schedules that pay": 10, "bounds proven by crossings": 2, "schedules that count sends once": 1,
        **{f"bounds proven by {kind}": 1 for kind in ("distance", "weights", "trees", "cuts", "partition", "growth")}}, 4, FEW),
    # What is made of answers.
    "lower": Row(makers.few_chunks, [one_of((lowering.classic, checked), *[searches.frontier] * 4), lowering.lowered, lowering.executed,
                                     sometimes(0.2, lowering.executed_by_mpi), lowering.shown], 7, 25, {"lowered": 15, "programs verified": 10}),
    "place": Row(makers.meshes, [lowering.placed], 5, 40),
    "compile": Row(makers.programs, [lowering.compiled], 0.5, 1),
}


def make_case(options, number):
    rng = random.Random(f"{options.seed}/{number}")
    name = options.row or rng.choices(list(ROWS), [row.often for row in ROWS.values()])[0]
    case = {"row": name, "seed": rng.randrange(1 << 32), "number": number, **ROWS[name].make(rng)}
    while "collective" in case and random_input.ranks_of(case["machine"]) > options.ranks:
        case |= ROWS[name].make(rng)
    return case


def do(case, options, folder, truth):
    session = Session(options, folder, truth, case)
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    try:
        each_of(session, ROWS[case["row"]].properties)
    except Over:
        pass
    except Exception as error:
        session.fault(f"the suite itself: {error!r}", traceback.format_exc())
    return session


def smaller(case):
    """Cases with a little less in them."""
    for key, less in (("effort", []), ("limit", makers.LIMIT)):
        if case.get(key, less) != less:
            yield {**case, key: less}
    for key in case.get("space", {}):
        yield {**case, "space": {k: v for k, v in case["space"].items() if k != key}}
    machine, collective = case.get("machine"), case.get("collective")
    if isinstance(machine, dict) and "ranks" in machine and "ways" not in machine:
        if machine.get("limits"):
            yield {**case, "machine": {key: value for key, value in machine.items() if key != "limits"}}
        for i, link in enumerate(machine["links"] if not machine.get("limits") else []):
            yield {**case, "machine": {**machine, "links": machine["links"][:i] + machine["links"][i + 1:]}}
            if link.get("bandwidth", 1) > 1:
                yield {**case, "machine": {**machine, "links": machine["links"][:i] + [{**link, "bandwidth": 1}] + machine["links"][i + 1:]}}
    if isinstance(collective, dict) and len(collective["chunks"]) > 1:
        for i in range(len(collective["chunks"])):
            yield {**case, "collective": {**collective, "chunks": collective["chunks"][:i] + collective["chunks"][i + 1:]}}


def shrink(case, kind, options, folder, truth, seconds=10):
    """The same kind of fault with less, as far as `seconds` go."""
    end = time.monotonic() + seconds
    going = True
    while going:
        going = False
        for candidate in smaller(case):
            if time.monotonic() > end:
                return case
            if any(fault["kind"] == kind for fault in do(candidate, options, folder, truth).faults):
                case, going = candidate, True
                break
    return case


def work(first, options, results):
    """Does every J-th case and reports what came out."""
    signal.signal(signal.SIGINT, lambda *_: None)  # not ignored: programs that it starts would ignore it, too
    folder = pathlib.Path(tempfile.mkdtemp(prefix="suite_", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    truth, shrunk, number = exhaustive.Exhaustive(options.programs / "tests/exhaustive", options.work), collections.Counter(), first
    while time.monotonic() < options.end and (options.cases is None or number < options.cases):
        case = make_case(options, number)
        session = do(case, options, folder, truth)
        for fault in {fault["kind"]: fault for fault in session.faults}.values():
            fault |= {"case": case, "number": number}
            shrunk[fault["kind"]] += 1
            if shrunk[fault["kind"]] <= 2 and not options.quick and "forged" not in fault:
                fault["case"] = shrink(case, fault["kind"], options, folder, truth)
                again = [f for f in do(fault["case"], options, folder, truth).faults if f["kind"] == fault["kind"]]
                fault |= again[0] if again else {}
        results.put((session.counts, session.faults))
        number += options.jobs
    truth.close()
    shutil.rmtree(folder)
    results.put(None)


def reproduction(fault):
    case = fault["case"]
    text = f"{fault['kind']}: {fault['words'].strip()}\n  {fault['command']}\n"
    if "forged" in fault and len(json.dumps(fault["forged"])) < 6000:
        text += f"  forged.json: {json.dumps(fault['forged'])}\n"
    for name, key in (("h.json" if "axes" in case else "t.json", "machine"), ("c.json", "collective")):
        if isinstance(case.get(key), dict):
            text += f"  {name}: {json.dumps(case[key])}\n"
    return text + f"  case {fault['number']}: {json.dumps({key: case[key] for key in case if key not in ('machine', 'collective')})}\n"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("row", nargs="?", choices=list(ROWS), metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int, help="so many, instead of for so long")
    parser.add_argument("--case", type=int, help="only the case of this number")
    parser.add_argument("--quick", action="store_true", help="as in ctest: few cases, small machines, limits of time ten times as long, and 1000 conflicts where there is no limit")
    parser.add_argument("--full", action="store_true", help="every_field: all values of every field")
    parser.add_argument("--rounds", type=int, help="damaged_files, forged_libraries: of each kind")
    parser.add_argument("--python", action="store_true", help="damaged_files: read by the package, which PYTHONPATH has")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--ranks", type=int, help="of a machine, at most: most of the time is in the few large ones")
    parser.add_argument("--work", type=int, help="of the exhaustive search, which gives up then")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--build", dest="programs", type=pathlib.Path, default=root / "build/release")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--faults", type=pathlib.Path)
    options = parser.parse_args()
    row = ROWS.get(options.row)
    if options.quick and not row:
        parser.error("--quick: name a row")
    usual = dict(seed=9, cases=row.cases, ranks=row.ranks, work=row.work, jobs=1) if options.quick else dict(
        seed=int.from_bytes(os.urandom(4), "big"), ranks=1 << 20, work=300_000, jobs=2)
    for key, value in usual.items():
        if getattr(options, key) is None:
            setattr(options, key, value)
    options.patience, options.conflicts = (10, 1000) if options.quick else (1, None)  # a clock says nothing where others use the machine
    options.programs = options.programs.resolve()
    options.chorale = options.programs / "bin/chorale"
    if not options.chorale.exists():
        parser.error(f"{options.chorale} does not exist: cmake --build --preset release")
    if options.python and subprocess.run([sys.executable, "-c", "import chorale"], capture_output=True).returncode != 0:
        program.skip("Python read nothing: this interpreter has not the package")
    # Sanitizers need all memory there is.
    options.knows_memory = b"__asan_init" not in options.chorale.read_bytes()
    options.end = time.monotonic() + (1e9 if options.cases is not None or options.case is not None else options.seconds)
    return options


def log_line(options, counts, faults, seconds):
    commit = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    return (f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} commit {commit} seed {options.seed}{' row ' + options.row if options.row else ''}: "
            f"{seconds:.0f} s, {options.jobs} jobs; {sum(faults.values())} faults; " +
            ", ".join(f"{counts[key]} {key}" for key in sorted(counts)) + "\n")


def main():
    options = parse()
    if options.case is not None:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="suite_"))
        case = make_case(options, options.case)
        session = do(case, options, folder, exhaustive.Exhaustive(options.programs / "tests/exhaustive", options.work))
        print(f"in {folder}:\n  " + "\n  ".join(session.commands))
        for fault in session.faults:
            print(reproduction({**fault, "case": case, "number": options.case}), end="")
        return 1 if session.faults else 0
    began = said = time.monotonic()
    print(f"seed {options.seed}", flush=True)
    results = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(j, options, results)) for j in range(options.jobs)]
    for worker in workers:
        worker.start()
    counts, faults, left = collections.Counter(), collections.Counter(), len(workers)
    try:
        while left:
            try:
                item = results.get(timeout=5)
            except queue.Empty:
                if not any(worker.is_alive() for worker in workers):
                    print("a worker died", flush=True)
                    faults["a worker died"] += 1
                    break
                continue
            if item is None:
                left -= 1
                continue
            counts.update(item[0])
            counts["cases"] += 1
            for fault in item[1]:
                faults[fault["kind"]] += 1
                if "case" not in fault:
                    continue
                if faults[fault["kind"]] <= 3:
                    print(reproduction(fault), end="", flush=True)
                if options.faults:
                    options.faults.mkdir(parents=True, exist_ok=True)
                    name = re.sub("[^a-z0-9]+", "_", fault["kind"].lower())[:60]
                    (options.faults / f"{name}_{options.seed}_{fault['number']}.json").write_text(json.dumps(fault))
            if time.monotonic() - said > 30:
                said = time.monotonic()
                print(f"{said - began:.0f} s: {counts['cases']} cases, {counts['frontiers']} frontiers, {counts['exhaustive comparisons']} exhaustive "
                      f"comparisons ({counts['exhaustive comparisons with --k']} with --k), {counts['forgeries']} forgeries, {sum(faults.values())} faults",
                      flush=True)
    except KeyboardInterrupt:
        for worker in workers:
            worker.terminate()
    for worker in workers:
        worker.join()
    for key in sorted(counts):
        print(f"{counts[key]:9} {key}")
    for key, least in ROWS[options.row].least.items() if options.quick else ():
        faults[f"too few: {counts[key]} {key}, {least} at least"] += counts[key] < least
    faults = +faults
    for kind, number in faults.most_common():
        print(f"{number:9} FAULTS {kind}")
    line = log_line(options, counts, faults, time.monotonic() - began)
    if options.results:
        with (options.results / "suite.log").open("a") as log:
            log.write(line)
    print(f"{sum(faults.values())} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
