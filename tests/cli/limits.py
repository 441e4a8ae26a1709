#!/usr/bin/env python3
"""Limits limit: time, memory, conflicts, Ctrl-C, SIGTERM and SIGHUP are obeyed at once whatever a command is doing,
leave what was found, marked unproven, and report it in the exit code and in one line.

Usage: limits.py CHORALE
"""
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run_chorale, work  # noqa: E402

chorale = str(pathlib.Path(sys.argv[1]).resolve())
# Most of this is found at once, some of it takes hours.
HARD = ["hypercube:3", "allreduce", "--max-chunks", "12"]
# Without bounds a solver has to refute pigeons here, which no conflict limit in these tests reaches.
PIGEONS = ["hub:8", "broadcast", "--max-chunks", "4", "--no-bounds"]
# Seconds of CPU that a command may take after a limit, on each of its threads: what a clock shows depends on
# what else the machine does. What is cut here would take minutes.
PROMPTLY = 1 + 2
THREADS = min(os.cpu_count() or 1, 4) + 1
# Sanitizers allocate by themselves, and report what is left behind.
SANITIZED = b"__asan_init" in pathlib.Path(chorale).read_bytes() or b"__tsan_init" in pathlib.Path(chorale).read_bytes()


def text_of(name):
    return (work / name).read_text()


def write(name, value):
    (work / name).write_text(json.dumps(value))
    return name


def judged(args, codes, returncode, err):
    """The exit code is one of these, with at most one line of complaint."""
    said = f"{' '.join(args)}: exit code {returncode}: {err[-500:]}"
    assert returncode in codes, said
    lines = [line for line in re.split(r"[\r\n]", err.replace("\x1b[K", "")) if line and not re.match(r"\d+ s; ", line)]
    assert len(lines) <= 1 and all(line.startswith("chorale: error: ") for line in lines), said
    assert returncode != 2 or lines, said
    return lines[0] if lines else ""


def ends(*args, codes=(3,), limit=0.0, **options):
    """Runs the command; what it printed and complained of."""
    before = os.times()
    done = run_chorale(*args, code=None, timeout=1200, **options)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    complaint = judged(args, codes, done.returncode, done.stderr)
    if limit:
        assert seconds < (limit + PROMPTLY) * THREADS, f"{' '.join(args)}: {seconds:.1f} s of CPU with a limit of {limit} s"
    return done.stdout, complaint


def cpu_of(process):
    """User and system seconds of a process that has not been waited for."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def interrupt(process, number, args, out, err, code=130):
    """Sends the signal; the end takes little CPU. What was printed is in files, so that nobody has to read pipes."""
    before = cpu_of(process)
    process.send_signal(number)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = usage.ru_utime + usage.ru_stime - before
    assert seconds < PROMPTLY * THREADS, f"{' '.join(args)}: {seconds:.1f} s of CPU after the signal"
    for file in (out, err):
        file.seek(0)
    told, said = out.read(), err.read()
    judged(args, (code,), process.returncode, said)
    return told, said


def started(*args):
    out, err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
    return subprocess.Popen([chorale, *args], cwd=work, stdout=out, stderr=err), out, err


def signalled(number, *args, after, code=130):
    """Sends the signal after this many seconds of its CPU; the command ends at once, as interrupted."""
    process, out, err = started(*args)
    while cpu_of(process) < after:
        assert process.poll() is None, f"{' '.join(args)}: over before the signal, which tests nothing"
        time.sleep(0.01)
    return interrupt(process, number, args, out, err, code)


def interrupted_at(is_there, *args):
    """Sends Ctrl-C once the progress line reports it, however long that takes."""
    process, out, err = started(*args, "--progress")
    while not is_there(pathlib.Path(f"/proc/self/fd/{err.fileno()}").read_text()):
        assert process.poll() is None, f"{' '.join(args)}: over before the signal, which tests nothing"
        time.sleep(0.01)
    return interrupt(process, signal.SIGINT, args, out, err)


def unproven_result(name):
    result = json.loads(text_of(name))
    assert not result["complete"] and result["stopped"], result["stopped"]
    ends("check", name, codes=(0,))
    return result


# --- What was found is kept.

# By conflicts: the same on every machine.
ends("frontier", *PIGEONS, "--conflicts", "20", "--json", "conflicts.json")
assert unproven_result("conflicts.json")["stopped"] == "conflict limit"
out, _ = ends("synthesize", "hub:8", "broadcast", "--chunks", "4", "--steps", "4", "--rounds", "5", "--no-bounds",
              "--conflicts", "50")
assert "undecided" in out, out

# By time.
out, _ = ends("frontier", *HARD, "--time-limit", "1s", "--json", "time.json", limit=1)
assert unproven_result("time.json")["stopped"] == "time limit"
assert "not complete" in out

# Where links differ in alpha, points are timed as they come; at the limit nothing is left to be timed.
out, _ = ends("frontier", "dgx1:2", "allgather", "--min-chunks", "64", "--max-chunks", "64", "--time-limit", "2s", "--json", "alphas.json", limit=2)
assert unproven_result("alphas.json")["points"], out
assert float(re.search(r"; ([0-9.]+) s$", out, re.M)[1]) >= 1.5, out

# The bound for any chunk count is there whatever was come to, and stands for chunk counts that were not.
for machine, collective, count, bound in [("dgx1", "allreduce", 48, "7/24"), ("dgx1:2", "allgather", 40, "8")]:
    out, _ = interrupted_at(lambda told: re.search(r"searching|steps, ", told), "frontier", machine, collective, "--max-chunks", str(count), "--json", "bounds.json")
    said = " ".join(out.split())
    assert f"no schedule of any chunk count has fewer than {bound} " in said and "nothing is known" not in said, out
    result = unproven_result("bounds.json")
    rates = {opening["bound"][0] / opening["bound"][1] for opening in result["openings"]}
    least = int(bound.split("/")[0]) / int((bound + "/1").split("/")[1])
    assert rates and min(rates) >= least - 1e-9, (rates, bound)
    assert any(claim.get("any_chunks") and claim["steps"] is None for claim in result["claims"]), "some chunk counts have no bound"

# By Ctrl-C, with the clock of the progress line running inside calls to the solver.
out, err = interrupted_at(lambda told: "rounds" in told, "frontier", *HARD, "--json", "interrupted.json")
result = unproven_result("interrupted.json")
assert result["stopped"] == "interrupted" and result["points"], "nothing that was found is left"
assert "steps" in err and "rounds" in err, "no progress was shown"


def clock_runs(told):
    """Three different seconds beside one and the same activity."""
    asked = re.findall(r"(\d+) s; ([^\r\n\x1b]*)", told)
    return any(len({seconds for seconds, each in asked if each == what}) >= 3 for _, what in asked)


interrupted_at(clock_runs, "synthesize", "hub:12", "broadcast", "--chunks", "6", "--steps", "6", "--rounds", "8", "--no-bounds")

# By a terminal that closes, unless nohup has SIGHUP ignored.
signalled(signal.SIGHUP, "frontier", *HARD, "--json", "hung_up.json", after=1.5, code=129)
result = unproven_result("hung_up.json")
assert result["stopped"] == "interrupted" and result["points"], "nothing that was found is left"
signalled(signal.SIGHUP, "optimize", *HARD[:2], "--search-time", "100", "-o", "hung_up", after=2, code=129)
ends("check", "hung_up/result.json", codes=(0,))
process = subprocess.Popen(["nohup", chorale, "frontier", *HARD, "--time-limit", "1", "--json", "nohup.json"], cwd=work, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while pathlib.Path(f"/proc/{process.pid}/exe").resolve() != pathlib.Path(chorale):
    time.sleep(0.01)
process.send_signal(signal.SIGHUP)
assert process.wait(timeout=300) == 3 and unproven_result("nohup.json")["stopped"] == "time limit"

# Times are in seconds, whole or not, or have a unit.
for asked in ("0.5", ".5", "0.5s", "500ms", "0.0084m", "1", "1000h"):
    ends("bounds", "ring:4", "allgather", "--time-limit", asked, codes=(0, 3))
for asked in ("0", "0.0001", "-1", "1e3", "inf", "nan", "0x10", "1001h", "5 s", "s", ""):
    _, complaint = ends("bounds", "ring:4", "allgather", "--time-limit", asked, codes=(2,))
    assert "is not a time; use seconds or a unit" in complaint, complaint

# A composition is there as soon as one schedule is: its other outlines and its bounds take seconds more on 64
# ranks.
interrupted_at(lambda told: re.search(r"[1-9]\d* points?; composing", told), "compose", "dgx1:8", "allreduce", "--json", "composed.json")
ends("check", "composed.json", codes=(0,))
composed = json.loads(text_of("composed.json"))
assert composed["points"] and not composed["complete"], "what was composed is lost"

# --- Whatever is being done. Each of these takes minutes, or all memory, where nothing limits it.

RANKS = 4096
links = [{"src": n, "dst": (n + d) % RANKS} for n in range(RANKS) for d in (1, RANKS - 1)]
large = write("large.json", {"topology": "large", "ranks": RANKS, "links": links})
for command in (["frontier", large, "allgather"], ["bounds", large, "allgather"],
                ["synthesize", large, "allgather", "--steps", "2048", "--rounds", "2048"]):
    ends(*command, "--time-limit", "500ms", limit=0.5)
ends("frontier", large, "reducescatter", "--time-limit", "1", limit=1)
signalled(signal.SIGTERM, "bounds", large, "allgather", after=1.5)
signalled(signal.SIGINT, "bounds", large, "allgather", after=0.3)  # earlier: the collective is still being made

# Encoding and filling the solver: nearly as many clauses as there may be.
ENCODING = ["synthesize", "torus:6x6", "allgather", "--chunks", "4", "--steps", "12", "--rounds", "20", "--no-bounds",
            "--no-symmetry"]
signalled(signal.SIGINT, *ENCODING, after=1)
ends(*ENCODING, "--time-limit", "1", limit=1)

# Files that ask for more than anyone has. A reader may refuse them.
ends("frontier", "ring:5", "reducescatter", "--max-chunks", "2", "--json", "small.json", codes=(0,))
REFUSED = (2, 3)


def variant(name, change):
    value = json.loads(text_of("small.json"))
    change(value)
    return write(name, value)


def refutation(steps):
    def change(value):
        value["claims"].append({"collective": "reducescatter", "chunks": 1, "steps": steps, "rounds": steps, "seconds": 0,
                                "certificate": {"kind": "refutation", "engine": "sat", "formula_sha256": "0" * 64,
                                                "proof_sha256": "0" * 64, "proof_bytes": 1}})
    return change


def many_chunks(value):
    value["points"][0]["chunks"] = 1 << 24


for name, change in (("steps9.json", refutation(10**9)), ("steps5.json", refutation(10**5)), ("chunks.json", many_chunks)):
    variant(name, change)
    for command in ("check", "run", "show"):
        if command == "check" or change is many_chunks:
            ends(command, name, "--time-limit", "500ms", codes=REFUSED, limit=0.5)


def wide(value):
    value["topology"] = {"topology": "t", "ranks": 4096, "links": [{"src": 0, "dst": 1}]}
    value["points"] = value["points"][:1]
    value["points"][0].update(steps=0, rounds=0, chunks=2, schedule=[], does={"collective": "reducescatter", "chunks": 2})
    value["claims"] = []


ends("check", variant("wide.json", wide), "--time-limit", "500ms", codes=REFUSED, limit=0.5)

# Minutes of matrices: all ways to split five axes of 8 over five levels of 8.
deep = write("deep.json", {"hierarchy": "h", "node": 0,
                           "levels": [{"name": f"l{i}", "fan_out": 8, "bandwidth_gbs": 1} for i in range(5)]})
job = write("job.json", {"job": "j", "axes": [{"name": f"a{i}", "size": 8} for i in range(5)],
                         "reductions": [{"name": f"r{i}", "axes": [f"a{i}"], "bytes": 1} for i in range(5)]})
ends("place", deep, "--job", job, "--time-limit", "500ms", limit=0.5)
signalled(signal.SIGTERM, "place", deep, "--job", job, after=0.5)

# Whoever watches is told when all is done, whatever it is doing at that moment.
for _ in range(100):
    ends("topology", "list", codes=(0,))

# --- The smallest limits.

ends("classic", "ring_allreduce", "ring:4", "--json", "ring.json", codes=(0,))
COMMANDS = (["frontier", "dgx1", "allreduce"], ["synthesize", "dgx1", "allgather"], ["bounds", "dgx1", "allreduce"],
            ["check", "ring.json"], ["show", "ring.json"], ["emit", "ring.json", "--target", "json"],
            ["classic", "ring_allreduce", "dgx1"], ["place", "a100:4", "--axes", "d=4,t=16", "--reduce", "t", "--bytes", "1G"],
            ["topology", "show", "dgx1"], ["hierarchy", "show", "a100:4"], ["run", "ring.json"])
for command in COMMANDS:
    ends(*command, "--time-limit", "1ms", codes=(0, 3), limit=0.001)
# On 64 ranks with slower links between nodes: what is written is whole, and right.
for command in (["frontier", "dgx1:8", "allgather"], ["frontier", "dgx-a100:8", "allreduce"],
                ["synthesize", "dgx1:8", "allgather"], ["compose", "dgx-a100:8", "allreduce"],
                ["classic", "two_tree_allreduce", "dgx1:8"]):
    (work / "least.json").unlink(missing_ok=True)
    ends(*command, "--time-limit", "1ms", "--json", "least.json", codes=(0, 3) if command[0] == "classic" else (3,),
         limit=0.001)
    if (work / "least.json").exists():
        ends("check", "least.json", codes=(0,))
# What runs is limited as a whole; how long a rank waits for another is a time of its own.
ends("run", "ring.json", "--iterations", "1000000", "--time-limit", "300ms", limit=0.3)
ends("run", "ring.json", "--iterations", "1000000", "--wait", "300ms", "--time-limit", "1", limit=1)
# The page of what was cut says so, as the text does.
run_chorale("emit", "ring.json", "--target", "json", "-o", "lowered")
out, _ = ends("program", str(next((work / "lowered").iterdir())), "--sizes", "64K", "--iterations", "1000000", "--time-limit", "1", "--html", "cut.html", limit=1)
assert all("not all was done (time limit)" in said for said in (out, (work / "cut.html").read_text())), out
# Without conflicts no formula is made that only a solver with some could answer: these took minutes.
# Nothing is proven by that.
ends("frontier", "dgx1", "allreduce", "--min-chunks", "15", "--max-chunks", "16", "--conflicts", "0", "--time-limit", "5m", "--json", "none.json")
assert unproven_result("none.json")["stopped"] == "conflict limit"
# A tensor program is written by what the tuner has come to.
(work / "sums.chorale").write_text("\n".join([
    "workload sums", "ranks 8", "size N = 2^20", *(f"Tensor x{i}(fp32, [N], Local)" for i in range(16)),
    *(f"s{i} = AllReduce(\"+\", x{i})\ny{i} = s{i} * 0.5 + 1" for i in range(16)), "return " + ", ".join(f"y{i}" for i in range(16))]))
out, _ = ends("compile", "sums.chorale", "--machine", "ring:8", "--tune", "--candidates", "1000000", "--time-limit", "1s", "-o", "sums", limit=1)
assert "cut short (time limit)" in out and (work / "sums/sums.h").exists(), out
signalled(signal.SIGINT, "compile", "sums.chorale", "--machine", "ring:8", "--tune", "--candidates", "1000000", "-o", "sums", after=1)
for machine in ("dgx1", "ring:4", "line:4", "mesh:2x3", "hypercube:3"):
    ends("frontier", machine, "allgather", "--conflicts", "0", codes=(0, 3))

if not SANITIZED:
    for command in COMMANDS:
        ends(*command, "--memory-limit", "1", codes=(0, 3))
    # --- Memory: one line, and what was found before.
    for size in ("1", "1M", "2M", "4M"):
        out, complaint = ends("optimize", "dgx1", "allreduce", "--memory-limit", size)
        assert "out of memory" in complaint and "in time" not in out, out + complaint
    for size in ("1M", "20M"):
        _, complaint = ends("frontier", large, "allgather", "--memory-limit", size)
        assert "out of memory" in complaint and "--memory-limit" in complaint, complaint
    for command, size in ((ENCODING, "100M"), (["place", deep, "--job", job], "20M")):
        _, complaint = ends(*command, "--memory-limit", size)
        assert "out of memory" in complaint, complaint
    for size in ("1M", "2M", "5M", "12M"):  # Z3 has its own ways to say so
        _, complaint = ends("synthesize", "dgx1", "allgather", "--chunks", "2", "--steps", "2", "--rounds", "3", "--engine",
                            "smt", "--memory-limit", size)
        assert "out of memory" in complaint, complaint
    for name in ("steps9.json", "steps5.json", "chunks.json", "wide.json"):
        ends("check", name, "--memory-limit", "100M", codes=REFUSED)
    # Stacks for some of the threads: those that wait for each other do not begin, others go on with fewer.
    for transport in ("threads", "kernel"):
        for size in ("12M", "20M"):
            _, complaint = ends("run", "ring.json", "--transport", transport, "--memory-limit", size)
            assert "out of memory" in complaint, complaint
    name = write("questions.json", {"machines": ["ring:2", "ring:3", "ring:4"], "collectives": ["allgather"],
                                    "groups": ["all"], "bytes": [1024], "max_chunks": 1})
    done = run_chorale("library", "build", name, "-o", "little.db", "--jobs", "3", "--memory-limit", "12M", code=3)
    assert all(line.startswith("chorale: error: ") for line in done.stderr.splitlines()), done.stderr  # of each question
    _, complaint = ends("frontier", *HARD, "--memory-limit", "12M", "--json", "memory.json")
    assert "out of memory" in complaint, complaint
    result = unproven_result("memory.json")
    assert result["stopped"] == "memory limit" and result["points"], result["stopped"]

    # The verifier follows chunk after chunk: 131,072 sums of 256 contributions, in the memory of 256 of them.
    ends("classic", "ring_allreduce", "ring:256", "--memory-limit", "30M", codes=(0,))

    # By a limit of the caller's instead of ours.
    def little():
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, resource.RLIM_INFINITY))

    for command in (ENCODING, ["check", "steps5.json"]):
        ends(*command, codes=REFUSED, preexec_fn=little)
print("limits limit, and keep what was found" + (" (memory was not limited: sanitizers)" if SANITIZED else ""))
