#!/usr/bin/env python3
"""Random input at every door of the program, with every option that limits at its smallest, for as long as is
asked; every answer is verified.

Usage: attack.py [--seconds N | --cases N | --case N] [--seed S] [--only DOOR] [--ranks N] [--work N] [--jobs J] [--chorale PROGRAM]
                 [--exhaustive PROGRAM] [--results DIR] [--faults DIR]

commands: tiny (against exhaustive search), frontier, synthesize, forge (forged results against
tests/property/verifier.py), lower, interrupt, place, order (sums agreed, fixed, along a random tree and free,
against exhaustive search and each other), ways (chosen through switches, against all ways), abilities
(switches that multicast and reduce, against exhaustive search), library (built, verified, taken from and
forged, against the verifier), compile (random tensor programs, against the interpreter) Machines,
communications and options are those of tests/property/random_input.py. A case follows from seed,
number and --ranks alone: --case does one again. With --results a line is added to DIR/attack.log. Faults are
printed with what reproduces them, and kept in --faults DIR. Exit code 1: something was wrong.
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

root = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(root / "tests" / "property"))
import exhaustive  # noqa: E402
import commands  # noqa: E402
import library_command  # noqa: E402
import random_input  # noqa: E402
import switch_commands  # noqa: E402
from session import Found, Session, alarm  # noqa: E402

# door: (makes a case, does it, how often)
COMMANDS = {"tiny": (commands.make_tiny, commands.tiny, 30), "frontier": (commands.make_frontier, commands.frontier, 40), "synthesize": (commands.make_frontier, commands.synthesize, 8),
         "forge": (commands.make_forge, commands.forge, 10), "lower": (commands.make_lower, commands.lower, 7), "interrupt": (commands.make_interrupt, commands.interrupt, 2),
         "place": (commands.make_place, commands.place, 5), "order": (commands.make_order, commands.order, 10), "ways": (switch_commands.make_routes, switch_commands.ways, 8),
         "abilities": (switch_commands.make_abilities, switch_commands.abilities, 8), "library": (library_command.make_library, library_command.library, 5),
         "compile": (commands.make_compile, commands.compile_programs, 0.5)}


def make_case(options_, number):
    rng = random.Random(f"{options_.seed}/{number}")
    door = options_.only or rng.choices(list(COMMANDS), [weight for _, _, weight in COMMANDS.values()])[0]
    case = {"door": door, "seed": rng.randrange(1 << 32), **COMMANDS[door][0](rng)}
    while "collective" in case and random_input.ranks_of(case["machine"]) > options_.ranks:
        case |= COMMANDS[door][0](rng)
    return case


def do(case, options_, folder, truth):
    session = Session(options_, folder, truth)
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    try:
        COMMANDS[case["door"]][1](session, case, random.Random(case["seed"]))
    except Found:
        pass
    return session


def smaller(case):
    """Cases with a little less in them."""
    for key in ("effort", "limit"):
        if case.get(key):
            yield {**case, key: []}
    for key in case.get("space", {}):
        yield {**case, "space": {k: v for k, v in case["space"].items() if k != key}}
    machine, collective = case["machine"], case.get("collective")
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


def shrink(case, kind, options_, folder, truth, seconds=10):
    """The same kind of fault with less, as far as `seconds` go."""
    end = time.monotonic() + seconds
    going = True
    while going:
        going = False
        for candidate in smaller(case):
            if time.monotonic() > end:
                return case
            if any(fault["kind"] == kind for fault in do(candidate, options_, folder, truth).faults):
                case, going = candidate, True
                break
    return case


def work(first, options_, results):
    """Does every J-th case and reports what came out."""
    signal.signal(signal.SIGINT, lambda *_: None)  # not ignored: programs that it starts would ignore it, too
    signal.signal(signal.SIGALRM, alarm)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="attack_", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    truth = exhaustive.Exhaustive(options_.exhaustive, options_.work)
    shrunk = collections.Counter()
    number = first
    while time.monotonic() < options_.end and (options_.cases is None or number < options_.cases):
        case = make_case(options_, number)
        session = do(case, options_, folder, truth)
        for fault in {fault["kind"]: fault for fault in session.faults}.values():
            fault |= {"case": case, "number": number}
            shrunk[fault["kind"]] += 1
            if shrunk[fault["kind"]] <= 2 and not options_.as_it_is and "forged" not in fault:
                fault["case"] = shrink(case, fault["kind"], options_, folder, truth)
                again = [f for f in do(fault["case"], options_, folder, truth).faults if f["kind"] == fault["kind"]]
                fault |= again[0] if again else {}
        results.put((session.counts, session.faults))
        number += options_.jobs
    truth.close()
    shutil.rmtree(folder)
    results.put(None)


def reproduction(fault):
    case = fault["case"]
    text = f"{fault['kind']}: {fault['words'].strip()}\n  {fault['command']}\n"
    if len(json.dumps(fault.get("forged"))) < 6000 and "forged" in fault:
        text += f"  forged.json: {json.dumps(fault['forged'])}\n"
    for name, key in (("t.json" if "axes" not in case else "h.json", "machine"), ("c.json", "collective")):
        if isinstance(case.get(key), dict):
            text += f"  {name}: {json.dumps(case[key])}\n"
    return text + f"  case {fault['number']}: {json.dumps({key: case[key] for key in case if key not in ('machine', 'collective')})}\n"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int, help="so many, instead of for so long")
    parser.add_argument("--case", type=int, help="only the case of this number")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    parser.add_argument("--only", choices=list(COMMANDS))
    parser.add_argument("--ranks", type=int, default=1 << 20, help="of a machine, at most: most of the time is in the few large ones")
    parser.add_argument("--work", type=int, default=300_000, help="of the exhaustive search, which gives up then")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--chorale", default=root / "build/release/bin/chorale")
    parser.add_argument("--exhaustive", default=root / "build/release/tests/exhaustive")
    parser.add_argument("--emit-random", default=root / "build/release/tests/emit_random", help="of tests/codegen, for the door 'compile'")
    parser.add_argument("--patience", type=float, default=1, help="time limits so many times as long (but those of 1 ms): for tests")
    parser.add_argument("--conflicts", type=int, help="of each question that has no such limit of its own: for tests, where a clock says nothing")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--faults", type=pathlib.Path)
    parser.add_argument("--as-it-is", action="store_true", help="do not make faults smaller")
    options_ = parser.parse_args()
    options_.chorale, options_.exhaustive, options_.emit_random = (pathlib.Path(path).resolve() for path in
                                                                   (options_.chorale, options_.exhaustive, options_.emit_random))
    for program in [options_.chorale, options_.exhaustive] + [options_.emit_random] * (options_.only in (None, "compile")):
        if not program.exists():
            parser.error(f"{program} does not exist: cmake --build --preset release")
    options_.knows_memory = "--memory-limit" in subprocess.run([options_.chorale, "frontier", "--help"], capture_output=True, text=True).stdout
    options_.knows_memory &= b"__asan_init" not in pathlib.Path(options_.chorale).read_bytes()  # sanitizers need all there is
    options_.end = time.monotonic() + (1e9 if options_.cases is not None or options_.case is not None else options_.seconds)
    return options_


def log_line(options_, counts, faults, seconds):
    commit = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    return (f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} commit {commit} seed {options_.seed}{' only ' + options_.only if options_.only else ''}: "
            f"{seconds:.0f} s, {options_.jobs} jobs; {sum(faults.values())} faults; " +
            ", ".join(f"{counts[key]} {key}" for key in sorted(counts)) + "\n")


def main():
    options_ = parse()
    if options_.case is not None:
        signal.signal(signal.SIGALRM, alarm)
        folder = pathlib.Path(tempfile.mkdtemp(prefix="attack_"))
        case = make_case(options_, options_.case)
        session = do(case, options_, folder, exhaustive.Exhaustive(options_.exhaustive, options_.work))
        print(f"in {folder}:\n  " + "\n  ".join(session.commands))
        for fault in session.faults:
            print(reproduction({**fault, "case": case, "number": options_.case}), end="")
        return 1 if session.faults else 0
    began = said = time.monotonic()
    print(f"seed {options_.seed}", flush=True)
    results = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(j, options_, results)) for j in range(options_.jobs)]
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
                if options_.faults:
                    options_.faults.mkdir(parents=True, exist_ok=True)
                    name = re.sub("[^a-z0-9]+", "_", fault["kind"].lower())[:60]
                    (options_.faults / f"{name}_{options_.seed}_{fault['number']}.json").write_text(json.dumps(fault))
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
    for kind, number in faults.most_common():
        print(f"{number:9} FAULTS {kind}")
    line = log_line(options_, counts, faults, time.monotonic() - began)
    if options_.results:
        with (options_.results / "attack.log").open("a") as log:
            log.write(line)
    print(f"{sum(faults.values())} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
