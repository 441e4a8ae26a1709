#!/usr/bin/env python3
"""What people read: lines that fit, points numbered as listed, files named and on standard output, names that
were meant.

Usage: output.py CHORALE EXAMPLES
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run_chorale, work  # noqa: E402

chorale, examples = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
os.environ.pop("COLUMNS", None)
everything = []  # (command, text): all that was said


def run(*arguments, code=0, columns=None):
    done = run_chorale(*arguments, code=code, env={"COLUMNS": str(columns)} if columns else {})
    everything.append((arguments, done.stdout + done.stderr))
    return done


def numbers(table):
    """Of the points in a table."""
    return [int(n) for n in re.findall(r"^ *(\d+)  ", table, re.M)]


def widest(text):
    return max(map(len, text.splitlines()), default=0)


# Every point that is listed has the number of its row, and every command means the same point by it.
listed = run("frontier", "dgx1", "allgather", "--max-chunks", 4, "--json", "f.json").stdout
assert listed.endswith("wrote f.json\n"), listed
result = json.loads((work / "f.json").read_text())
best = [p for p in result["points"] if p["on_frontier"]]
assert result["points"][: len(best)] == best and [p["steps"] for p in best] == sorted(p["steps"] for p in best)
assert numbers(listed) == list(range(len(best))) == numbers(run("show", "f.json").stdout.split("\n\npoint")[0])
assert numbers(run("frontier", "dgx1", "allgather", "--max-chunks", 4, "--all").stdout) == list(range(len(result["points"])))
for i, point in enumerate(best):
    shown = run("show", "f.json", "--point", i).stdout
    assert re.search(rf"^{i} +{point['steps']} +{point['rounds']} +{point['chunks']} ", shown, re.M) and f"\npoint {i}: " in shown, shown
    assert re.search(rf"^ +{i} +512 ", run("run", "f.json", "--point", i, "--bytes", 512).stdout, re.M)
emitted = run("emit", "f.json", "-o", "a/b/c").stdout.split()
assert emitted == [f"a/b/c/dgx1_allgather_{i}.xml" for i in range(len(best))] and all((work / p).is_file() for p in emitted), emitted
assert f"{len(result['points'])} schedules verified ({len(best)} on the frontier)" in run("check", "f.json").stdout

# A page is written, named, and then the schedule is not printed as well.
page = run("show", "f.json", "--html", "f.html").stdout
assert page.endswith("wrote f.html\n") and "\npoint 0: " not in page and (work / "f.html").read_text().startswith("<!"), page

# "-" is standard output, which has nothing else then.
axes = ["--axes", "data=4,tensor=16", "--reduce", "tensor", "--bytes", "4G"]
for arguments in [["frontier", "ring:4", "allgather", "--json"], ["synthesize", "ring:4", "allgather", "--json"],
                  ["classic", "ring_allgather", "ring:4", "--json"], ["place", "a100:4", *axes, "--json"],
                  ["place", "a100:4", *axes, "--html"], ["show", "f.json", "--html"]]:
    done = run(*arguments, "-")
    assert json.loads(done.stdout) if "--json" in arguments else done.stdout.startswith("<!"), arguments
    assert done.stderr and "wrote" not in done.stderr, arguments
    quiet = run(*arguments, "-", "-q")
    assert quiet.stdout.startswith(done.stdout[:20]) and not quiet.stderr, arguments
    file = run(*arguments, "out")
    assert file.stdout.endswith("wrote out\n") and not file.stderr and (work / "out").read_text()[:20] == done.stdout[:20], arguments
assert not (work / "-").exists()
# Two files on it are refused by every command, at the second one, and a file that cannot be
# written before the work.
for arguments, second in [(["place", "a100:4", *axes, "--json", "-", "--html", "-"], "--html"), (["show", "f.json", "--bytes", "1K", "--html=-", "--json", "-"], "--json"),
                          (["topology", "import", examples / "node.xml", "--json", "-", "-o", "-"], "--"),
                          (["frontier", "dgx1", "allreduce", "--json", "absent/f.json"], "--json"), (["design", "--ranks", 512, "--html", "absent/f.html"], "--html")]:
    assert run(*arguments, code=2).stderr.startswith("chorale: error: " + second), arguments

# --quiet states errors only, and the exit code stays.
for arguments, code in [(["frontier", "ring:4", "allgather"], 0), (["synthesize", "ring:4", "allgather", "--steps", 1], 20),
                        (["check", "f.json"], 0), (["run", "f.json", "--bytes", 64], 0), (["place", "a100:4", *axes], 0),
                        (["emit", "f.json", "-o", "quiet"], 0), (["bounds", "dgx1", "allgather"], 0), (["classic", "ring_allgather", "ring:4"], 0),
                        (["program", "a/b/c/dgx1_allgather_0.xml"], 0), (["topology", "show", "dgx1"], 0), (["topology", "list"], 0)]:
    done = run(*arguments, "-q", code=code)
    assert not done.stdout and not done.stderr, arguments
assert "dgx9" in run("frontier", "dgx9", "allgather", "--quiet", code=2).stderr

# What was meant.
for arguments, meant in [
    (["frontir", "dgx1", "allgather"], "'frontir': unknown command; did you mean 'frontier'?"),
    (["topology", "shwo", "dgx1"], "'shwo': unknown command; did you mean 'show'?"),
    (["frontier", "dgx1", "allgather", "--max-chunk", "6"], "frontier: unknown option --max-chunk; did you mean '--max-chunks'?"),
    (["frontier", "dgx1", "allgather", "--jsn=f.json"], "frontier: unknown option --jsn; did you mean '--json'?"),
    (["topology", "show", "dgx1", "--dott"], "show: unknown option --dott; did you mean '--dot'?"),
    (["frontier", "rnig:4", "allgather"], "unknown name 'rnig:4'; did you mean 'ring'?"),
    (["frontier", "dgx", "allgather"], "unknown name 'dgx'; did you mean 'dgx1'?"),
    (["frontier", "dgx1", "allreduc"], "unknown name 'allreduc'; did you mean 'allreduce'?"),
    (["classic", "ring_alreduce", "ring:4"], "unknown name 'ring_alreduce'; did you mean 'ring_allreduce'?"),
    (["emit", "f.json", "--target", "msccl-xlm"], "--target: unknown value 'msccl-xlm'; did you mean 'msccl-xml'?"),
    (["run", "f.json", "--type", "flaot"], "--type: unknown value 'flaot'; did you mean 'float'?"),
    (["place", "h10:4", *axes], "unknown name 'h10:4'; did you mean 'h100'?"),
    (["place", "h100:8", *axes, "--algo", "rign"], "--algo: unknown value 'rign'; did you mean 'ring'?"),
    # What is missing.
    (["topology"], "chorale topology: a command is missing; see 'chorale topology --help'"),
    (["frontier", "dgx1", "allgather", "--max-chunks"], "frontier: --max-chunks needs a value; see 'chorale frontier --help'"),
    (["--fastr"], "chorale: unknown option --fastr; see 'chorale --help'"),
    # Nothing is near: what there is.
    (["frontier", "dgx1", "sum"], "use one of broadcast, scatter, gather"),
    (["frontier", "dgx1", "allgather", "--gpu-memory"], "unknown option --gpu-memory; see 'chorale frontier --help'"),
    (["frontier", "dgx1", "allgather", "6"], "'6' is one argument too many; see 'chorale frontier --help'"),
    # Words that would have no effect, or another than was meant.
    (["frontier", "ring:4", "alltoall", "--root", "2"], "--root: alltoall has no root; leave it out"),
    (["classic", "ring_allreduce", "ring:4", "--root", "2"], "--root: allreduce has no root; leave it out"),
    (["frontier", "ring:4", "halves.json"], "halves.json: cuts a block into 2 chunks; list a block as one chunk"),
    (["frontier", "ring:4", "named.json"], "named.json: cuts a block into 2 chunks; leave 'chunks' out"),
    (["frontier", "ring:4", "whole.json", "--root", "2"], "--root: is for collectives that are named; give the root in whole.json"),
    (["emit", "f.json", "-o", "f.json/inside"], "f.json is not a directory"),
]:
    (work / "halves.json").write_text('{"collective": "pair", "chunks_per_block": 2, "chunks": [{"pre": [0], "post": [1]}, {"pre": [0], "post": [1]}]}')
    (work / "named.json").write_text('{"collective": "broadcast", "chunks": 2, "root": 2}')
    (work / "whole.json").write_text('{"collective": "broadcast", "root": 2}')
    said = run(*arguments, code=2).stderr
    assert meant in said and said.count("\n") == 1, (arguments, said)
assert not (work / "f.json/inside").exists()
run("frontier", "ring:4", "whole.json", "--max-chunks", 2)  # which is how such a file is cut

# What cannot be emitted leaves no directory behind.
run("emit", "f.json", "-o", "nothing", "--epilogue", code=2)
assert not (work / "nothing").exists()

# What people type before they know any command.
overview = run("--help").stdout
assert run().stdout == run("help").stdout == overview and "Find algorithms:\n  optimize " in overview, overview
assert run("help", "frontier").stdout == run("frontier", "--help").stdout
assert run("help", "topology", "show").stdout == run("topology", "show", "--help").stdout
assert run("version").stdout == run("--version").stdout
assert "did you mean 'frontier'?" in run("help", "fronteir", code=2).stderr

# Lines fit: 80 columns where nobody says, COLUMNS where it is set, the terminal's where there is one.
commands = [[name] for name in re.findall(r"^  ([a-z]+)  ", run("--help").stdout, re.M)]
assert len(commands) > 10, commands
(work / "switch.json").write_text(json.dumps({
    "topology": "a machine with a name that is rather long, as those of clusters are", "ranks": 3, "switches": 1,
    "links": [{"src": n, "dst": 3, "both_ways": True} for n in range(3)],
    "limits": [{"name": "the only uplink of the node", "links": [0], "bandwidth": 1}]}))
run("classic", "ring_allreduce", "ring:3", "--json", "ring.json")
run("emit", "ring.json", "--target", "json")
texts = [["--help"], *([*name, "--help"] for name in commands), ["topology", "show", "--help"], ["topology", "list"],
         ["hierarchy", "list"], ["classic", "list"], ["topology", "show", "dgx2"], ["topology", "show", "ring:2"],
         ["topology", "show", "switch.json"], ["hierarchy", "show", "h100:4"], ["hierarchy", "show", "rack:2x2x2x4"],
         ["frontier", "switch.json", "allreduce", "--max-chunks", 2], ["frontier", "ring:4", "allreduce", "--max-chunks", 3, "--all"],
         ["synthesize", "dgx1", "allgather", "--chunks", 6, "--steps", 3, "--rounds", 7], ["bounds", "dgx2", "allreduce", "--steps", 3],
         ["bounds", "line:2", "broadcast"], ["classic", "ring_allreduce", "full:16"], ["show", "f.json"], ["check", "f.json"],
         ["run", "ring.json", "--bytes", "1K", "--type", "all", "--iterations", 1],  # every name of a type, and the slowest one's times
        ["run", "ring.json", "--bytes", "1K:64M:65536", "--type", "bfloat16", "--iterations", 1, "--warmup", 0],
        ["program", "ring_3_allreduce_0.json", "--bytes", "1M"],
         ["program", "ring_3_allreduce_0.json", "--topology", "ring:3"], ["place", "a100:4", *axes, "--strategies", 3, "--explain"],
         ["place", "h100:128", "--job", examples / "gpt3-175b.json"]]
for arguments in texts:
    for columns, most in [(None, 80), (60, 60), (132, 132)]:
        text = run(*arguments, columns=columns).stdout
        over = [line for line in text.splitlines() if len(line) > most]
        assert not over, f"{arguments} at {most} columns:\n" + "\n".join(over)
# What is to be printed and cannot be is an error, whether standard output is closed or the disk behind it
# full. A closed one would be the first file that the program opens itself.
(work / "some.json").write_text('{"machines": ["ring:3"], "collectives": ["allgather"], "groups": ["all"], "bytes": [1024], "max_chunks": 1}')
run("library", "build", "some.json", "-o", "some.db")
# A page has what the command prints: each sentence, and each cell of each table. 'library show' prints less.
for arguments in [["topology", "show", "leaf-spine:2x2x1"], ["check", "f.json"], ["bounds", "dgx1", "allgather", "--chunks", 6, "--steps", 3], ["bounds", "ring:4", "allgather", "--group", 0],
                  ["run", "ring.json", "--bytes", "1K,2K"], ["program", "ring_3_allreduce_0.json", "--bytes", "1K"],
                  ["program", "ring_3_allreduce_0.json", "--topology", "ring:3"], ["baseline", "dgx-h100:2", "allreduce", "--sizes", "1K,1G"],
                  ["order", examples / "topology.conf", "--hosts", "n[01-03,09-13]", "--job", examples / "order.json"],
                  ["alltoallv", examples / "alltoallv.csv"], ["compare", "ring:4", "full:4", "allreduce"],
                  ["library", "show", "some.db"], ["place", "a100:4", *axes], ["job", examples / "calls.csv"],
                  ["reshard", "dgx-h100:2", examples / "reshard.json", "--search-time", "0.3"]]:
    printed = "".join(run(*arguments, "--html", "report.html", columns=400).stdout.split())
    report = json.loads(re.search(r'id="data">(.*?)</script>', (work / "report.html").read_text(), re.S)[1])
    report = report.get("report", report)  # beside what is drawn
    tables = [table for table in report["tables"] if "by message size" not in table["title"]]
    assert report["sentences"] or tables, report
    for words in [*report["sentences"], *(table["title"] for table in tables), *(cell for table in tables for row in table["rows"] for cell in row)]:
        assert "".join(words.split()) in printed, (arguments, words, printed)
    assert all(len(row) == len(table["rows"][0]) == len(table["kinds"]) for table in report["tables"] for row in table["rows"]), report
asked = [["optimize", "ring:4", "allreduce", "--search-time", "0.3"], ["optimize", "ring:4", "allreduce", "--search-time", "0.3", "--json", "-"],
         ["optimize", "ring:4", "allreduce", "--search-time", "0.3", "--svg", "-"], ["frontier", "ring:4", "allgather", "--json", "-"],
         ["compare", "ring:4", "full:4", "allreduce"], ["compare", "ring:4", "full:4", "allreduce", "--json", "-"], ["compose", "dgx1:2", "allgather", "--json", "-"],
         ["design", "--ranks", 8, "--degree", 3, "--json", "-"], ["reshard", "dgx-h100:2", examples / "reshard.json", "--json", "-", "--search-time", "0.3"],
         ["job", examples / "calls.csv"], ["order", examples / "topology.conf", "--hosts", "n[01-03,09-13]", "--job", examples / "order.json"],
         ["alltoallv", examples / "alltoallv.csv"], ["transform", examples / "adam.chorale"], ["tune", examples / "adam.chorale", "--machine", "ring:4", "--json", "-"],
         ["topology", "show", "ring:4", "--dot"], ["topology", "import", examples / "node.xml", "-o", "-"], ["show", "f.json", "--html", "-"],
         ["place", "a100:4", *axes, "--json", "-"], ["library", "show", "some.db"], ["library", "verify", "some.db"], ["completion", "bash"],
         ["--version"], ["help", "order"]]
for arguments in [text for text in texts if text[-1] != "--help"] + asked:
    command = [str(chorale), *map(str, arguments)]
    run_chorale(*arguments, code=(0, 3))
    for how in ("closed", "full"):
        with open("/dev/full", "wb", buffering=0) as full:
            done = subprocess.run(command, cwd=work, stderr=subprocess.PIPE, text=True, stdout=full, stdin=subprocess.DEVNULL,
                                  preexec_fn=(lambda: os.close(1)) if how == "closed" else None)
        assert done.returncode == 2 and done.stderr.endswith("chorale: error: standard output: cannot be written; check the space on it\n"), (arguments, how, done)
everywhere_closed = subprocess.run([chorale, "optimize", "ring:4", "allreduce", "--search-time", "0.3", "--json", "closed.json", "-q"], cwd=work,
                                   preexec_fn=lambda: [os.close(file) for file in range(3)])
assert everywhere_closed.returncode in (0, 3) and json.loads((work / "closed.json").read_text())["rows"]
assert widest(run("topology", "list", columns=200).stdout) > 80, "wide lines are not used where there is room"


def on_a_terminal(columns, *arguments):
    """What is reported there; the program reads the width from the terminal itself."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([chorale, *arguments], stdout=its, stderr=subprocess.PIPE, cwd=work)
    os.close(its)
    text = b""
    try:
        while piece := os.read(ours, 4096):
            text += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0, process.stderr.read()
    return text.decode().replace("\r\n", "\n")


assert 80 < widest(on_a_terminal(120, "topology", "list")) <= 120
assert widest(on_a_terminal(50, "topology", "list")) <= 50

# Files are written by the thread that has the last word, and half a file by none: one whose reader comes late
# outlasts the limit, which ends a command that only works half a second later.
# On a busy machine it may not come to the file in time, and gets more.
for command in (["topology", "show", "ring:4", "--html"], ["topology", "import", examples / "node.xml", "-o"]):
    pipe = work / f"pipe_{command[1]}"
    os.mkfifo(pipe)
    for limit in (1, 8, 64):
        process = subprocess.Popen([chorale, *command, pipe, "--time-limit", f"{limit}s"], cwd=work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(limit + 1)
        if process.poll() is None:
            break
        said = process.communicate()
        assert process.returncode == 3, (command, said)
    assert process.poll() is None, f"topology {command[1]}: {said}"
    text = pipe.read_text()
    said = process.communicate()[0]
    assert process.returncode == 0 and text.endswith("\n") and f"wrote {pipe}" in said, (command, process.returncode, said)

# One of many is not many.
(work / "limited.json").write_text(json.dumps({"topology": "limited", "ranks": 2, "links": [{"src": 0, "dst": 1}, {"src": 1, "dst": 0}],
                                               "limits": [{"name": "port", "bandwidth": 1, "links": [0]}]}))
assert "port: 1 link, 1 per round" in run("topology", "show", "limited.json", "--dot").stdout
assert "at most steps + 1 round " in " ".join(run("frontier", "ring:3", "allgather", "--k", 1).stdout.split())
wrong = [(command, match) for command, text in everything for match in re.findall(r"(?<![\d./-])\b1 [a-z]+s\b", text)
         if match.split()[1] not in ("us", "ms", "as", "is", "this")]
assert not wrong, wrong
print(f"{len(everything)} commands said what they should, in lines that fit")
