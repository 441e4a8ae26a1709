"""Runs the program for one case, and requires of each run: its exit code, its CPU time, one line of refusal,
and of each result that it is true."""
import collections
import json
import os
import pathlib
import random
import re
import resource
import shlex
import signal
import subprocess
import time

import verifier
from kit import program, random_input  # noqa: F401: program sets what mpirun needs in a container

SLACK = 2  # seconds of CPU beyond a limit; of a wall clock far more, since others may use the machine
NOT_WRITTEN = "is not written:"  # what emit says of some of the points
NOTHING = "(?!)"  # a pattern that nothing matches


class Over(Exception):
    """A case ends here: a fault makes the rest of it meaningless, or there is nothing more to ask."""


class Session:
    """Runs the program for one case and notes what was wrong. result: the answer that properties are about."""

    def __init__(self, options, folder, truth, case):
        self.options, self.folder, self.truth, self.case = options, folder, truth, case
        self.rng = random.Random(case["seed"])
        self.counts, self.faults, self.commands = collections.Counter(), [], []
        self.code = self.result = None

    def flip(self, chance):
        return self.rng.random() < chance

    def fault(self, kind, words="", **more):
        self.faults.append({"kind": kind, "words": words, "command": self.commands[-1] if self.commands else "", **more})

    def require(self, holds, kind, words=""):
        if not holds:
            self.fault(kind, words)
        return holds

    def write(self, name, text):
        (self.folder / name).write_text(text if isinstance(text, str) else json.dumps(text))
        return f"./{name}"

    def read(self, name="r.json"):
        return json.loads((self.folder / name).read_text())

    def run(self, *arguments, codes=(0,), seconds=20, threads=1, refusals=NOTHING, lines=1):
        """Exit code, standard output, standard error. Faults: another exit code, a signal, more CPU than
        `seconds`, a refusal that does not match `refusals` where exit code 2 is not among `codes`, more than
        this many lines of it; 0: however many, and anywhere."""
        arguments = [str(word) for word in arguments]
        name = arguments[0]
        if "--memory-limit" in arguments and not self.options.knows_memory:
            at = arguments.index("--memory-limit")
            del arguments[at:at + 2]
        for i, word in enumerate(arguments):
            if word == "--time-limit" and not arguments[i + 1].endswith("ms"):
                arguments[i + 1] = f"{float(arguments[i + 1][:-1]) * self.options.patience:g}s"
        seconds *= self.options.patience if seconds >= 1 else 1
        if self.options.conflicts and name in ("frontier", "synthesize") and "--conflicts" not in arguments:
            arguments += ["--conflicts", str(self.options.conflicts)]
        # The half second after a limit is one of the clock: a busy machine may give none of it to a process.
        for _ in range(3):
            code, text, errors, _ = self.spawn(self.options.chorale, *arguments, wall=20 * (seconds + SLACK), cpu=int(threads * (seconds + SLACK)) + 1)
            none_in_time = code == 3 and "--time-limit" in arguments and "before there was anything to report" in errors
            if not none_in_time:
                break
        if not self.require(code == 2 or code in codes, f"{name}: exit code {code}", (errors or text)[-300:]):
            raise Over()
        if not self.require(not none_in_time, f"{name}: nothing to tell at the limit"):
            raise Over()
        said = errors.splitlines()
        self.require(code != 2 or not lines or said and all(line.startswith("chorale: error: ") and len(line) <= 2000 for line in said) and
                     (len(said) <= lines or all(NOT_WRITTEN in line for line in said)), f"{name}: a refusal of {len(said)} lines", errors[:500])
        if code == 2 and 2 not in codes:
            self.require(re.search(refusals, errors), f"{name}: refuses", errors[:300])
            raise Over()
        return code, text, errors

    def spawn(self, *command, wall, cpu=None, interrupt=None):
        """Exit code, standard output, standard error, and the seconds of CPU before and after `interrupt`:
        seconds until a signal, and which."""
        command = [str(word) for word in command]
        after, what = interrupt or (0, None)
        self.commands.append((f"timeout -s {signal.Signals(what).name} {after} " if what else "") + shlex.join(
            "chorale" if word == str(self.options.chorale) else word for word in command))
        self.counts["runs"] += 1
        children = cpu_of_children()
        process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", close_fds=False)
        if cpu:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu, cpu + 1))
        before = 0
        if what:
            time.sleep(after)
            os.kill(process.pid, what)  # not reaped yet, even if it has ended
            before = sum(map(int, pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
        try:
            text, errors = process.communicate(timeout=wall)
        except subprocess.TimeoutExpired:
            process.kill()
            text, errors = process.communicate()
        if not self.require(process.returncode not in (-signal.SIGXCPU, -signal.SIGKILL), f"{pathlib.Path(command[0]).name}: hangs", f"{cpu} s"):
            raise Over()
        return process.returncode, text, errors, (before, cpu_of_children() - children - before)

    def run_with_mpi(self, ranks, *arguments):
        """Exit code and all that was reported, by processes of mpirun."""
        code, text, errors, _ = self.spawn("mpirun", "--oversubscribe", "-n", ranks, self.options.chorale, *arguments, wall=600)
        return code, text + errors


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# -- questions and their answers -----------------------------------------------------------------------------

def machine_of(session, case):
    return session.write("t.json", case["machine"]) if isinstance(case["machine"], dict) else case["machine"]


def question(session, case):
    """The arguments that name the machine and the communication, and report what sums and switches may do."""
    asked = case["collective"]
    return [machine_of(session, case), session.write("c.json", asked) if isinstance(asked, dict) else asked,
            *(["--root", case["root"]] if case.get("root") else []), *case.get("more", [])]


def no_path(case):
    """What a refusal may report where a rank cannot be reached."""
    machine, asked = case["machine"], case["collective"]
    if not isinstance(machine, dict):
        return NOTHING
    chunks = verifier.chunks_of(asked if isinstance(asked, dict) else {"collective": asked, "root": case["root"]}, machine["ranks"], 1)
    connected = random_input.surely_possible([(link["src"], link["dst"]) for link in machine["links"]], machine["ranks"], (chunks.combining, chunks.list))
    return NOTHING if connected else "no path from rank"


def words_of(*options):
    """Of dictionaries of options and lists of words."""
    return [word for some in options for word in ([each for pair in some.items() for each in pair] if isinstance(some, dict) else some)]


def seconds_of(case):
    """Of CPU, by its time limit."""
    word = case["limit"].get("--time-limit", "20s")
    return float(word[:-2]) / 1000 if word.endswith("ms") else float(word[:-1])


def ask_frontier(session, name="r.json", **changes):
    """The frontier of the case with these changes, verified; its exit code is what the result reports."""
    case = {**session.case, **changes}
    session.counts["frontiers"] += 1
    (session.folder / name).unlink(missing_ok=True)
    session.code, text, _ = session.run(
        "frontier", *question(session, case), *words_of(case["space"], case["effort"], case["limit"]), "--json", name, codes={0, 3, 20},
        seconds=seconds_of(case), threads=2 if "--jobs" in case["effort"] else 1, refusals=no_path(case))
    code, result = session.code, session.read(name)
    verify_result(session, result, "frontier")
    ended = result["complete"] and not result["stopped"] or result["stopped"] == "chunk counts"
    session.require(code != 0 or ended and result["points"], "frontier: exit code 0 without a complete result")
    session.require(code != 3 or not result["complete"], "frontier: exit code 3 with a complete result")
    if code == 20:
        session.require(not result["points"], "frontier: exit code 20 with points")
        verify_result(session, {**result, "complete": True, "stopped": ""}, "frontier says impossible")
    space, asked = verifier.Space(result), case["space"]
    session.require((space.least, space.most, space.extra, space.steps) == (asked.get("--min-chunks", 1), asked.get("--max-chunks", verifier.NEVER),
                                                                           asked.get("--k"), asked.get("--max-steps")), "frontier: another space than was asked for")
    # Where memory is short, nothing may fit into it.
    session.require(result["points"] or "--max-steps" in asked or result["stopped"] == "memory limit" or not possible(result),
                    "frontier: empty answer", text[-300:])
    return result


def possible(result):
    """Surely; along one tree it depends on more than who reaches whom."""
    if result["collective"].get("order", "agreed") not in ("agreed", "free"):
        return False
    machine = verifier.Machine.read(result["topology"])
    chunks = verifier.chunks_of(result["collective"], machine.ranks, 1)
    return random_input.surely_possible([link[:2] for link in machine.links], machine.ranks, (chunks.combining, chunks.list))


def verify_result(session, result, what):
    session.counts["results verified"] += 1
    said = verifier.verify(result, session.truth)
    session.counts["undecided claims"] += len(said.undecided)
    for fault in said.faults:
        session.fault(f"{what}: false: {re.sub('[0-9]+', 'N', fault)[:60]}", fault)
    return said


def checked(session):
    """`check` accepts what is genuine."""
    session.counts["checks"] += 1
    code, _, errors = session.run("check", "r.json", "--time-limit", "5s", codes={0, 2, 3}, seconds=5)
    session.require(code != 2, "check: refuses a genuine file", errors[:300])


def cost(point):
    return tuple(point[key] for key in ("steps", "rounds", "chunks"))


def require_covered(session, kind, points, by, space=None):
    """Of each point in the space one of `by` is as good."""
    for p in points:
        if space is None or space.has(p["steps"], p["rounds"]):
            session.require(any(verifier.as_good(q, *cost(p)) for q in by), kind, f"{cost(p)}; before: {session.commands[0]}")
