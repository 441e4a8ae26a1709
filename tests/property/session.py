"""Running the program for one case of a door, and what all commands ask of its answers: exit codes, CPU time,
one line of refusal, true results."""
import collections
import functools
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import time

import exhaustive
import verifier
import random_input

SLACK = 2  # seconds of CPU beyond a limit; of a wall clock far more, since others may use the machine
NOT_WRITTEN = "is not written:"  # what emit says of some of the points
NOTHING = "(?!)"  # a pattern that nothing matches


class Wall(Exception):
    """The wall clock of a run is over."""


def alarm(*_):
    raise Wall()


class Found(Exception):
    """A fault that ends its case."""


class Session:
    """Runs the program for one case and notes what was wrong."""

    def __init__(self, options, folder, truth):
        self.options, self.folder, self.truth = options, folder, truth
        self.counts, self.faults, self.commands = collections.Counter(), [], []

    def fault(self, kind, words=""):
        self.faults.append({"kind": kind, "words": words, "command": self.commands[-1] if self.commands else ""})

    def write(self, name, text):
        (self.folder / name).write_text(text if isinstance(text, str) else json.dumps(text))

    def run(self, *arguments, codes, seconds=20, threads=1, refusals=NOTHING, lines_of_refusal=1, attempts=3):
        """Exit code, standard output, standard error. Faults: another exit code, a signal, more CPU than
        `seconds`, a refusal that does not match `refusals`, more than this many lines of it."""
        again = functools.partial(self.run, *arguments, codes=codes, seconds=seconds, threads=threads, refusals=refusals,
                                  lines_of_refusal=lines_of_refusal, attempts=attempts - 1)
        arguments = [str(word) for word in arguments]
        if "--memory-limit" in arguments and not self.options.knows_memory:
            at = arguments.index("--memory-limit")
            del arguments[at:at + 2]
        for i, word in enumerate(arguments):
            if word == "--time-limit" and not arguments[i + 1].endswith("ms"):
                arguments[i + 1] = f"{float(arguments[i + 1][:-1]) * self.options.patience:g}s"
        seconds *= self.options.patience if seconds >= 1 else 1
        if self.options.conflicts and arguments[0] in ("frontier", "synthesize") and "--conflicts" not in arguments:
            arguments += ["--conflicts", str(self.options.conflicts)]
        self.commands.append("chorale " + shlex.join(arguments))
        with open(self.folder / "stdout", "w+b") as out, open(self.folder / "stderr", "w+b") as err:
            process = subprocess.Popen([self.options.chorale, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err, close_fds=False)
            most = int(threads * (seconds + SLACK)) + 1
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (most, most + 1))
            signal.alarm(int(20 * (seconds + SLACK)))
            try:
                code = process.wait()
            except Wall:
                process.kill()
                process.wait()
                code = -signal.SIGXCPU
            finally:
                signal.alarm(0)
            out.seek(0)
            err.seek(0)
            text, errors = out.read().decode(errors="replace"), err.read().decode(errors="replace")
        self.counts["runs"] += 1
        if code == -signal.SIGXCPU:
            self.fault(f"{arguments[0]}: hangs", f"{seconds} s")
            raise Found()
        if code < 0 or code not in codes | {2}:
            self.fault(f"{arguments[0]}: exit code {code}", (errors or text)[-300:])
            raise Found()
        # The half second after a limit is one of the clock: a busy machine may give none of it to this
        # process.
        if code == 3 and "--time-limit" in arguments and "before there was anything to report" in errors:
            if attempts > 1:
                return again()
            self.fault(f"{arguments[0]}: nothing to tell at the limit")
            raise Found()
        lines = errors.splitlines()
        if code == 2 and (not lines or not all(line.startswith("chorale: error: ") for line in lines) or
                          len(lines) > lines_of_refusal and not all(NOT_WRITTEN in line for line in lines)):
            self.fault(f"{arguments[0]}: a refusal of {len(lines)} lines", errors[:500])
        if code == 2 and 2 not in codes:
            if not re.search(refusals, errors):
                self.fault(f"{arguments[0]}: refuses", errors[:300])
            raise Found()
        return code, text, errors

    def run_other(self, *arguments, seconds):
        """Exit code and all that was reported, by another program than chorale."""
        self.commands.append(shlex.join(map(str, arguments)))
        self.counts["runs"] += 1
        try:
            done = subprocess.run(list(map(str, arguments)), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace", timeout=20 * seconds)
        except subprocess.TimeoutExpired:
            self.fault(f"{pathlib.Path(arguments[0]).name}: hangs")
            raise Found() from None
        return done.returncode, done.stdout

    def run_with_mpi(self, ranks, *arguments):
        """Exit code and all that was reported, by processes of mpirun."""
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = ["mpirun", "--oversubscribe", "-n", str(ranks)]
        self.commands.append(shlex.join([*words, "chorale", *arguments]))
        self.counts["runs"] += 1
        try:
            done = subprocess.run([*words, self.options.chorale, *arguments], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=600)
        except subprocess.TimeoutExpired:
            self.fault(f"{arguments[0]}: hangs with MPI")
            raise Found() from None
        return done.returncode, done.stdout

    def interrupted(self, arguments, after, what):
        """Exit code, seconds of CPU after the signal, seconds of CPU before it."""
        arguments = [str(word) for word in arguments]
        self.commands.append(f"timeout -s {signal.Signals(what).name} {after} chorale {shlex.join(arguments)}")
        process = subprocess.Popen([self.options.chorale, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, close_fds=False)
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (30, 31))
        time.sleep(after)
        os.kill(process.pid, what)  # not reaped yet, even if it has ended
        before = sum(map(int, pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
        signal.alarm(600)
        try:
            _, status, used = os.wait4(process.pid, 0)
        except Wall:
            process.kill()
            self.fault(f"{arguments[0]}: does not end after a signal")
            raise Found() from None
        finally:
            signal.alarm(0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.counts["runs"] += 1
        return process.returncode, used.ru_utime + used.ru_stime - before, before

    def result(self, name="r.json"):
        return json.loads((self.folder / name).read_text())


# -- what all commands share
# ------------------------------------------------------------------------------------

def machine_of(session, case):
    if isinstance(case["machine"], dict):
        session.write("t.json", case["machine"])
        return "t.json"
    return case["machine"]


def question(session, case):
    """The arguments that name the machine and the communication, and report what sums and switches may do."""
    words = [machine_of(session, case)]
    if isinstance(case["collective"], dict):
        session.write("c.json", case["collective"])
        words.append("c.json")
    else:
        words.append(case["collective"])
    return words + (["--root", case["root"]] if case.get("root") else []) + case.get("more", [])


def no_path(case):
    """What a refusal may report where a rank cannot be reached."""
    machine, asked = case["machine"], case["collective"]
    if not isinstance(machine, dict):
        return NOTHING
    chunks = verifier.chunks_of(asked if isinstance(asked, dict) else {"collective": asked, "root": case["root"]}, machine["ranks"], 1)
    connected = random_input.surely_possible([(link["src"], link["dst"]) for link in machine["links"]], machine["ranks"], (chunks.combining, chunks.list))
    return NOTHING if connected else "no path from rank"


def options(space, effort):
    return [word for key, value in space.items() for word in (key, value)] + list(effort)


def ask_frontier(session, case, space, effort, seconds, name="r.json"):
    """The exit code and the result, verified and checked."""
    session.counts["frontiers"] += 1
    (session.folder / name).unlink(missing_ok=True)
    arguments = ["frontier", *question(session, case), *options(space, effort), "--json", name]
    code, text, _ = session.run(*arguments, codes={0, 3, 20}, seconds=seconds, threads=2 if "--jobs" in effort else 1, refusals=no_path(case))
    result = session.result(name)
    verify_result(session, result, "frontier")
    ended = result["complete"] and not result["stopped"] or result["stopped"] == "chunk counts"
    if code == 0 and not (ended and result["points"]):
        session.fault("frontier: exit code 0 without a complete result")
    if code == 3 and result["complete"]:
        session.fault("frontier: exit code 3 with a complete result")
    if code == 20:
        if result["points"]:
            session.fault("frontier: exit code 20 with points")
        verify_result(session, {**result, "complete": True, "stopped": ""}, "frontier says impossible")
    # Where memory is short, nothing may fit into it.
    if not result["points"] and "--max-steps" not in space and result["stopped"] != "memory limit" and possible(result):
        session.fault("frontier: empty answer", text[-300:])
    return code, result


def possible(result):
    """Surely; along one tree it depends on more than who reaches whom."""
    if result["collective"].get("order", "agreed") not in ("agreed", "free"):
        return False
    machine = verifier.Machine.read(result["topology"])
    chunks = verifier.chunks_of(result["collective"], machine.ranks, 1)
    return random_input.surely_possible([link[:2] for link in machine.links], machine.ranks, (chunks.combining, chunks.list))


def verify_result(session, result, what):
    session.counts["results judged"] += 1
    said = verifier.verify(result, session.truth)
    session.counts["undecided claims"] += len(said.undecided)
    for fault in said.faults:
        session.fault(f"{what}: false: {re.sub('[0-9]+', 'N', fault)[:60]}", fault)
    return said


def check(session, name="r.json"):
    session.counts["checks"] += 1
    code, _, errors = session.run("check", name, "--time-limit", "5s", codes={0, 2, 3}, seconds=5)
    if code == 2:
        session.fault("check: refuses a genuine file", errors[:300])


def frontier_of(result):
    return exhaustive.best([(p["steps"], p["rounds"], p["chunks"]) for p in result["points"] if p["on_frontier"]])


def covered(point, points):
    return any(verifier.as_good(q, point["steps"], point["rounds"], point["chunks"]) for q in points)


def cost(point):
    return tuple(point[key] for key in ("steps", "rounds", "chunks"))


def few_of_any(session, result, truth, space):
    """What is reported of the least chunk counts of a frontier of any."""
    closed = result["complete_chunks"]
    session.counts["any number of chunks against exhaustive search"] += 1
    for steps, rounds, chunks in truth:
        surely = closed is None or closed >= space.chunks[-1]
        if surely and not covered({"steps": steps, "rounds": rounds, "chunks": chunks}, result["points"]):
            session.fault("frontier: lacks what it is complete for", f"{steps} steps, {rounds} rounds, {chunks} chunks")
        for p in result["points"]:
            if p["on_frontier"] and p["proven"] and verifier.better(steps, rounds, chunks, p):
                session.fault("frontier: a proven point is not the best", f"{cost(p)}; {steps} steps, {rounds} rounds, {chunks} chunks")


# The engines of the literature have no direct sums for several.
def by_engine(engine):
    return NOTHING if engine == "sat" else "this engine knows|this engine counts every"


def engine_of(rng):
    return rng.choice(["sat", "sat", "smt", "sat-partition"])
