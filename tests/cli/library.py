#!/usr/bin/env python3
"""Libraries: what is in them is what the search states; a build that is killed at any moment goes on where it
was, to the same answers; answers that are not to their questions, or not true, are found. The file is read
here by Python's own sqlite3 and zlib.

Usage: library.py CHORALE [SEED]
"""
import json
import os
import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
import xml.etree.ElementTree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run_chorale as run, work  # noqa: E402
from kit.stored import contents, packed, unpacked, without_times  # noqa: E402
from property import verifier  # noqa: E402

chorale = os.path.abspath(sys.argv[1])
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1123
dice = random.Random(seed)
print(f"seed {seed}")


def without_notes(text):
    return [line for line in text.splitlines() if line and not line.startswith("chorale: note: ")]


def processes():
    """Of this user, those that work for a build here."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words, folder = path.read_bytes().split(b"\0"), (path.parent / "cwd").resolve()
        except OSError:
            continue
        if words[:2] == [b"chorale", b"frontier"] and folder == work.resolve():
            found.append(int(path.parent.name))
    return found


os.environ["TMPDIR"] = str(work)
# Two machines that differ in their names only, one that is one-way and uneven, one with levels.
uneven = {"topology": "uneven", "ranks": 4, "switches": 0, "limits": [], "links": [
    {"src": n, "dst": (n + 1) % 4, "bandwidth": 1 + n % 2, "alpha_us": 1, "beta_us_per_byte": 4e-05} for n in range(4)]}
(work / "a.json").write_text(json.dumps(uneven))
(work / "b.json").write_text(json.dumps({**uneven, "topology": "another"}))
spec = {"machines": ["./a.json", "./b.json", "torus:2x3", "dgx-a100:2"], "collectives": ["allgather", "broadcast", "allreduce"],
        "groups": ["all"], "roots": [0, 3], "bytes": [1024, 1 << 20, 1 << 20], "max_chunks": 2, "conflicts": 200}
small = {**spec, "machines": spec["machines"][:3]}
(work / "small.json").write_text(json.dumps(small))
nodes = {**spec, "machines": ["dgx-a100:2"], "groups": ["all", "node", "rank"], "collectives": ["allgather"], "max_chunks": 1}
(work / "nodes.json").write_text(json.dumps(nodes))

# Built whole: three machines of which two are the same, with an allgather, an allreduce and two broadcasts
# each. Roots 0 and 3 of the torus are one question; of the uneven ring they are two, since link 3 -> 0 is
# wider than 0 -> 1.
began = time.monotonic()
text = run("library", "build", "small.json", "-o", "whole.db", "--jobs", 2)
took = time.monotonic() - began
assert "7 questions in 12 entries: 0 there before, 7 answered now, 0 open" in text, text
assert "7 there before, 0 answered now" in run("library", "build", "small.json", "-o", "whole.db")
whole, places = contents(work / "whole.db")
assert len(whole) == 7 and len(places) == 12 + 2 * 7
assert not processes()

# A library may have sums in both orders: either is taken, or the one that is asked for.
for order in ("fixed", "agreed"):
    (work / "order.json").write_text(json.dumps({**small, "machines": ["torus:2x3"], "collectives": ["allreduce"], "order": order}))
    if order == "agreed":
        refused("library", "select", "orders.db", "torus:2x3", "allreduce",
                "--order", "agreed", says="has no allreduce of torus:2x3, all, root 0, in an agreed order")
    assert "1 answered now" in run("library", "build", "order.json", "-o", "orders.db")
for order in ("fixed", "agreed"):
    run("library", "select", "orders.db", "torus:2x3", "allreduce", "--order", order, "--bytes", "1K", "--json", "one.json")
    says = json.loads((work / "one.json").read_text())["collective"].get("order", "agreed")
    assert says == order == "agreed" or order == "fixed" and says.startswith("(("), (order, says)
run("library", "select", "orders.db", "torus:2x3", "allreduce", "--bytes", "1K")
text = run("library", "show", "orders.db")
assert "2 answers in 2 entries" in text and text.count("allreduce, fixed order") == 1, text
run("library", "select", "orders.db", "torus:2x3", "allreduce", "--ranks", "1,0,2,4,3,5", "--order", "agreed")
run("library", "select", "orders.db", "torus:2x3", "allreduce", "--ranks", "0,1,2,3,4,5", "--order", "fixed")
run("library", "verify", "orders.db")
run("library", "export", "orders.db", "torus:2x3", "allreduce", "--order", "fixed", "--as", "preload", "-o", "fixed_only")
assert all('"order": "((' in file.read_text() for file in (work / "fixed_only").iterdir()), list((work / "fixed_only").iterdir())

# What is in it is what the search states, and is taken from there.
for machine, collective, options in [("torus:2x3", "allreduce", []), ("./b.json", "broadcast", ["--root", 3]), ("./a.json", "allgather", [])]:
    line = ["frontier", machine, collective, "--max-chunks", 2, "--conflicts", 200, *options]
    searched, done = run(*line, "--json", "-", code=(0, 3)), run(*line, "--json", "-", "--library", "whole.db", code=(0, 3))
    assert without_times(json.loads(searched.stdout)) == without_times(json.loads(done.stdout)), line
    assert "from whole.db" in done.stderr, done.stderr
assert contents(work / "whole.db") == (whole, places)
# What is not is searched, and kept.
run("frontier", "ring:4", "allgather", "--library", "grows.db")
assert "from grows.db" in run("frontier", "ring:4", "allgather", "--library", "grows.db")
assert "from grows.db" not in run("frontier", "ring:4", "allgather", "--max-chunks", 2, "--library", "grows.db")
assert len(contents(work / "grows.db")[0]) == 2

# The nodes of a machine, and its rails, are alike: one answer each.
text = run("library", "build", "nodes.json", "-o", "nodes.db", "--jobs", 2)
assert "3 questions in 3 entries" in text, text
# Where ranks sit is known where levels are outside of a node: two nodes of eight, one of them, one rank of
# each.
with sqlite3.connect(work / "nodes.db") as file:
    assert dict(file.execute("SELECT grp, hosts FROM places")) == {
        "all": "0 " * 8 + "1 " * 7 + "1", "rank": "0 " * 7 + "0", "node": "0 1"}
with sqlite3.connect(work / "whole.db") as file:
    assert {hosts for (hosts,) in file.execute("SELECT hosts FROM places")} == {""}
shown = run("library", "show", "nodes.db")
assert [line.split()[:5] for line in shown.splitlines()[1:4]] == [["dgx-a100:2", group, "allgather", "-", ranks]
                                                                for group, ranks in (("all", "16"), ("node", "2"), ("rank", "8"))], shown

# Chosen as the table of the result chooses.
rows = [line.split() for line in run("library", "select", "whole.db", "torus:2x3", "allgather", "--bytes", "1K:1G:1024", "--json", "t.json").splitlines()[1:4]]
theirs = [line.split() for line in run("show", "t.json", "--bytes", "1K:1G:1024").splitlines() if line.split()[1:2] in (["KiB"], ["MiB"], ["GiB"])]
assert [row[:4] + row[5:8] for row in rows] == [row[:6] + row[8:9] for row in theirs] and len(rows) == 3, (rows, theirs)  # size, time, bandwidths, steps
assert "verified" in run("check", "t.json")

# Ranks that are numbered otherwise are the same machine: its answer, by the numbers that were asked for.
for turn in range(4):
    ranks = dice.sample(range(4), 4)
    links = [{**link, "src": ranks[link["src"]], "dst": ranks[link["dst"]]} for link in dice.sample(uneven["links"], 4)]
    (work / "turned.json").write_text(json.dumps({**uneven, "links": links}))
    for collective, options in [("allreduce", []), ("broadcast", ["--root", ranks[3]])]:
        done = run("frontier", "./turned.json", collective, *options, "--max-chunks", 2, "--conflicts", 200, "--json", "turned.out.json", "--library", "whole.db", code=None)
        assert "from whole.db" in done.stdout, (ranks, done)
        assert "verified" in run("check", "turned.out.json"), ranks
assert contents(work / "whole.db") == (whole, places)

# Pairs: those of a node, and those of two nodes on one rail or not.
(work / "pairs.json").write_text(json.dumps({**nodes, "groups": ["pairs"], "collectives": ["allgather", "broadcast"], "roots": [0, 1]}))
text = run("library", "build", "pairs.json", "-o", "pairs.db", "--jobs", 2)
kinds = sorted({line.split("  allgather")[0].split("pairs ")[1] for line in run("library", "show", "pairs.db").splitlines() if "allgather" in line})
assert kinds[:2] == ["0 1", "0 8"] and all(len(kind.split()) == 2 for kind in kinds), kinds
refused("library", "select", "pairs.db", "dgx-a100:2", "allgather", "--group", "pairs", says="name the ranks: --ranks 0,1")
rows = [run("library", "select", "pairs.db", "dgx-a100:2", "broadcast", "--root", 1, "--ranks", pair, "--json", "pair.json") for pair in ("0,1", "5,3", "2,10")]
assert rows[0] == rows[1] != rows[2] and "verified" in run("check", "pair.json"), rows
refused("library", "select", "pairs.db", "dgx-a100:2", "allgather", "--ranks", "3,3", says="is not a further rank")

# Killed at random moments, and resumed. Nothing stays in the temporary folder.
kills, temporary = 0, work / "temporary"
temporary.mkdir()
while True:
    process = subprocess.Popen([chorale, "library", "build", "small.json", "-o", "killed.db", "--jobs", "2"], cwd=work, stdout=subprocess.DEVNULL,
                               env={**os.environ, "TMPDIR": str(temporary)})
    try:
        process.wait(timeout=dice.uniform(0, took / 4) if kills < 40 else None)
    except subprocess.TimeoutExpired:
        kills += 1
        process.kill()
        process.wait()
        continue
    assert process.returncode == 0, process.returncode
    break
assert contents(work / "killed.db") == (whole, places), f"after {kills} kills"
for _ in range(1000):  # what dies with a process dies soon
    if not processes():
        break
    time.sleep(0.01)
assert not processes() and not list(temporary.iterdir()), list(temporary.iterdir())
print(f"{kills} times killed: the same {len(whole)} answers")

# A worker that is killed takes its question with it, and nothing else.
for _ in range(100):  # until one is hit before it has ended by itself
    (work / "worker.db").unlink(missing_ok=True)
    process = subprocess.Popen([chorale, "library", "build", "small.json", "-o", "worker.db"], cwd=work, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    struck = False
    while process.poll() is None and not struck:
        for number in processes()[:1]:
            try:
                os.kill(number, signal.SIGKILL)
                struck = True
            except ProcessLookupError:
                pass
    out, error = process.communicate()
    if process.returncode != 0:
        break
assert process.returncode == 3 and "its process was ended by signal 9" in error and "6 answered now, 1 open" in out, (process.returncode, out, error)
assert "6 there before, 1 answered now" in run("library", "build", "small.json", "-o", "worker.db")
assert contents(work / "worker.db") == (whole, places)

# Two builds of one file at once.
both = [subprocess.Popen([chorale, "library", "build", "small.json", "-o", "both.db"], cwd=work, stdout=subprocess.DEVNULL) for _ in range(2)]
assert [each.wait() for each in both] == [0, 0]
assert contents(work / "both.db") == (whole, places)

# Nothing in the file is believed.
assert "7 answers in 12 entries: " in run("library", "verify", "whole.db")


def changed(name, change):
    (work / name).write_bytes((work / "whole.db").read_bytes())
    with sqlite3.connect(work / name) as file:
        change(file)
    return name


def less(file):
    key, blob = file.execute("SELECT key, answer FROM answers ORDER BY key").fetchone()
    answer = json.loads(unpacked(blob))
    answer["points"][0]["schedule"][0]["sends"].pop()
    file.execute("UPDATE answers SET answer = ? WHERE key = ?", (packed(json.dumps(answer)), key))


def exchanged(file):
    (one, a), (two, b) = file.execute("SELECT key, answer FROM answers ORDER BY key").fetchmany(2)
    file.execute("UPDATE answers SET answer = ? WHERE key = ?", (b, one))
    file.execute("UPDATE answers SET answer = ? WHERE key = ?", (a, two))


text = run("library", "verify", changed("less.db", less), code=2)
assert "less.db: " in text, text
text = run("library", "verify", changed("exchanged.db", exchanged), code=2)
assert text.count("an answer is to another question than it is stored for") == 2, text
refused("library", "verify", changed("cut.db", lambda file: file.execute("UPDATE answers SET answer = substr(answer, 1, 20)")), says="damaged")
refused("library", "show", changed("other.db", lambda file: file.execute("DELETE FROM about")), says="is not a library")
for command in (["show", "older.db"], ["build", "small.json", "-o", "older.db"]):
    refused("library", *command[:1], *[changed(word, lambda file: file.execute(
        "UPDATE about SET value = '2'")) if word == "older.db" else word for word in command[1:]], says="is a library of form 2, and this chorale has form 3")

# Merged: of two answers the better one, whatever the order; those that are the same are one.
weak = {**small, "machines": ["torus:2x3"], "conflicts": 0}
(work / "weak.json").write_text(json.dumps(weak))
run("library", "build", "weak.json", "-o", "weak.db")
with sqlite3.connect(work / "weak.db") as file:
    questions = [unpacked(question) for (question,) in file.execute("SELECT question FROM answers")]


def concluded(answer):
    """The answer with what its claims show of its points, by the verifier."""
    answer = {key: value for key, value in answer.items() if key != "complete_chunks"}  # an older file states none
    space = verifier.Space(answer)
    known = list(verifier.families(answer, answer["topology"]["ranks"], space, False))
    pair = lambda rate: [None, 1] if rate == verifier.NEVER else [rate.numerator, rate.denominator]
    for i, point in enumerate(answer["points"]):
        cost = lambda each: (each["steps"], each["rounds"], each["chunks"])
        equal_before = any(verifier.as_good(each, *cost(point)) for each in answer["points"][:i])
        point["on_frontier"] = not equal_before and not any(verifier.better(*cost(each), point) for each in answer["points"])
        way = point["method"] if point["method"] in ("gather+local_reduce", "reduce_scatter+allgather") else "direct"
        own = [each for each in known if point["on_frontier"] or (each.chunks == point["chunks"] and each.way == way)]
        bound = verifier.least_rates(own, space, point["steps"])[-1]
        gap = point["rounds"] / point["chunks"] / bound - 1 if bound else None
        point.update(proven=not verifier.room_for_better(point, own, space), bound=pair(bound), gap=None if gap is None else float(f"{gap:.6g}"))
    answer["openings"] = [{"steps": steps, "found": None if found == verifier.NEVER else pair(found), "bound": pair(bound)}
                          for steps, found, bound in verifier.openings_left(answer["points"], known, space)]
    return answer


def worse(file):
    """The torus's allgather without what proves it, and with times."""
    for key, question, blob in file.execute("SELECT key, question, answer FROM answers").fetchall():
        answer = json.loads(unpacked(blob))
        if answer["collective"]["collective"] == "allgather" and answer["topology"]["ranks"] == 6:
            answer = concluded({**answer, "complete": False, "claims": [], "stopped": "size limit"})
            file.execute("UPDATE answers SET answer = ? WHERE key = ?", (packed(json.dumps(answer)), key))
            file.execute("INSERT INTO measured VALUES (?, 'mpi', 0, 1024, 1, 1, 1, 1)", (key,))


changed("worse.db", worse)
for one, other, taken in [("worse.db", "whole.db", (0, 1)), ("whole.db", "worse.db", (1, 0))]:
    text = run("library", "merge", one, other, "-o", "merged.db")
    assert without_notes(text) == ["7 answers: 6 equal in several files", f"{taken[0]} taken from {one}", f"{taken[1]} taken from {other}"], text
    merged, its_places = contents(work / "merged.db")
    assert its_places == places
    assert merged == whole
    with sqlite3.connect(work / "merged.db") as file:
        assert file.execute("SELECT count(*) FROM measured").fetchone() == (0,)  # of points that are not its


def halves(drop, claims):
    """The first answer of several points on its frontier, without one of them, and with these of its
    claims."""
    def change(file):
        for key, blob in file.execute("SELECT key, answer FROM answers ORDER BY key").fetchall():
            answer = json.loads(unpacked(blob))
            points = [point for point in answer["points"] if point["on_frontier"]]
            # What was dominated may be on the frontier without the point, and is dropped when that comes
            # back.
            if len(points) < 2 or len(answer["claims"]) < 2 or len(answer["points"]) > len(points):
                continue
            answer["points"].remove(points[drop])
            answer.update(complete=False, stopped="size limit", claims=answer["claims"][claims])
            file.execute("UPDATE answers SET answer = ? WHERE key = ?", (packed(json.dumps(concluded(answer))), key))
            file.execute("INSERT INTO measured VALUES (?, 'mpi', 0, 1024, ?, 1, 20, 1)", (key, 10 + drop))
            return
        raise AssertionError("no answer has two points")
    return change


def strongest(claims):
    """Without those that others imply: fewer rounds for the same steps."""
    about = lambda claim: (claim["collective"], claim["chunks"], claim["steps"])
    rounds = lambda claim: verifier.NEVER if claim["rounds"] is None else claim["rounds"]
    return [claim for claim in claims if all(about(each) != about(claim) or rounds(each) <= rounds(claim) for each in claims)]


# Of two of which neither is better one is made, as good as both: what was known before they were taken apart.
# Times go with their points: the first of each is the second and the first of both.
for first, second in [(slice(0, 0), slice(None)), (slice(None), slice(0, 0)), (slice(0, None, 2), slice(1, None, 2))]:
    changed("one.db", halves(0, first))
    changed("two.db", halves(-1, second))
    text = run("library", "merge", "one.db", "two.db", "-o", "merged.db")
    assert without_notes(text) == ["7 answers: 6 equal in several files", "1 combined from several", "0 taken from one.db", "0 taken from two.db"], text
    merged, its_places = contents(work / "merged.db")
    assert its_places == places and "7 answers in 12 entries: " in run("library", "verify", "merged.db")
    ordered = lambda answers: {key: {**answer, "claims": sorted(map(json.dumps, strongest(answer["claims"])))} for key, answer in answers.items()}
    assert ordered(merged) == ordered(whole)
    with sqlite3.connect(work / "merged.db") as file:
        assert sorted(file.execute("SELECT point, median_us FROM measured")) == [(0, 9), (1, 10)]
text = run("library", "merge", "whole.db", "weak.db", "grows.db", "-o", "merged.db")
assert f"{7 + len(questions) + 2} answers: 0 equal" in text, text
run("library", "verify", "merged.db")
refused("library", "merge", "exchanged.db", "-o", "x.db", says="another question than it is stored for")
refused("library", "merge", "whole.db", "weak.db", "-o", "weak.db", says="is one of the libraries")
refused("library", "merge", "less.db", "whole.db", "-o", "x.db", says="less.db: an answer")


def liar(file):
    """An answer without its point of the fewest steps, which is "refuted": complete by that, if it is
    believed."""
    for key, blob in file.execute("SELECT key, answer FROM answers ORDER BY key").fetchall():
        answer = json.loads(unpacked(blob))
        points = [point for point in answer["points"] if point["on_frontier"]]
        if len(points) < 2 or answer["collective"]["collective"] == "allreduce":
            continue
        answer["points"] = points[1:]
        answer["claims"] += [{"collective": answer["collective"]["collective"], "chunks": chunks, "steps": points[1]["steps"] - 1, "rounds": None, "seconds": 0,
                              "certificate": {"kind": "refutation", "chunk": 0, "formula_sha256": "0" * 64}}
                             for chunks in range(answer["space"]["min_chunks"], answer["space"]["max_chunks"] + 1)]
        assert concluded(answer)["openings"] == [] and answer["complete"], answer["openings"]
        file.execute("UPDATE answers SET answer = ? WHERE key = ?", (packed(json.dumps(answer)), key))
        return
    raise AssertionError("no answer has two points")


run("frontier", "ring:4", "broadcast", "--min-chunks", 3, "--max-chunks", 4, "--library", "true.db")
(work / "liar.db").write_bytes((work / "true.db").read_bytes())
with sqlite3.connect(work / "liar.db") as file:
    liar(file)
with sqlite3.connect(work / "true.db") as file:  # as a search says it that has only found
    for key, blob in file.execute("SELECT key, answer FROM answers").fetchall():
        answer = concluded({**json.loads(unpacked(blob)), "complete": False, "claims": [], "stopped": "size limit"})
        file.execute("UPDATE answers SET answer = ? WHERE key = ?", (packed(json.dumps(answer)), key))
refused("library", "merge", "liar.db", "true.db", "-o", "x.db", says="an answer is called complete, and true.db has a better schedule")
shown = run("library", "show", "liar.db")
assert "refutations not checked" in shown and "not checked: run 'chorale library verify'" in shown.stderr, shown
assert "claims[" in run("library", "verify", "liar.db", code=2)
assert "nothing was merged (time limit)" in run("library", "merge", "whole.db", "weak.db", "grows.db", "-o", "x.db", "--time-limit", "1ms", code=3)
assert not list(work.glob("x.db*")) and not list(work.glob("*.part*"))

# Exported: what others read, each for sizes that leave nothing out.
def sizes_of(files, least, most):
    ranges = sorted((least(file), most(file)) for file in files)
    assert ranges[0][0] == 0 and all(b == next_a - 1 for (_, b), (next_a, _) in zip(ranges, ranges[1:])), ranges
    return ranges


run("library", "export", "whole.db", "torus:2x3", "allgather", "allreduce", "--as", "mscclpp", "-o", "plans")
for collective in ("allgather", "allreduce"):
    for in_place in (True, False):
        plans = [json.loads(path.read_text()) for path in (work / "plans").glob(f"*_{collective}_*.json")]
        assert sizes_of([plan for plan in plans if plan["inplace"] == in_place], lambda plan: plan["min_message_size"],
                        lambda plan: plan["max_message_size"])[-1][1] == 2 ** 64 - 1
run("library", "export", "whole.db", "torus:2x3", "allgather", "--as", "msccl-xml", "-o", "xml")
algorithms = [xml.etree.ElementTree.parse(path).getroot().attrib for path in (work / "xml").iterdir()]
assert sizes_of(algorithms, lambda a: int(a["minBytes"]), lambda a: int(a["maxBytes"]))[-1][1] == 0
run("library", "export", "whole.db", "torus:2x3", "allgather", "broadcast", "--root", "3", "--as", "preload", "-o", "answers")
for path in (work / "answers").iterdir():
    assert "verified" in run("check", path)
    assert json.loads(path.read_text())["collective"].get("root") == (3 if "broadcast" in path.name else 0), path
run("library", "export", "nodes.db", "dgx-a100:2", "allgather", "--as", "nccl-tuner", "-o", "tuner", code=2)
(work / "reduce.json").write_text(json.dumps({**nodes, "machines": ["full:6"], "groups": ["all"], "collectives": ["allreduce"], "conflicts": 0}))
run("library", "build", "reduce.json", "-o", "reduce.db")
run("library", "export", "reduce.db", "full:6", "allreduce", "--as", "nccl-tuner", "-o", "tuner")
rows = [line.split(",") for line in (work / "tuner" / "nccl_tuner.csv").read_text().splitlines() if not line.startswith("#")]
assert rows and all(len(row) == 10 and row[0] == "allreduce" and row[3] in ("ring", "tree") and row[4:8] == ["simple", "-1", "-1", "6"] for row in rows), rows
assert all(int(a[2]) < int(b[1]) for a, b in zip(rows, rows[1:])) and all(len(line) < 250 for line in (work / "tuner" / "nccl_tuner.csv").read_text().splitlines())
# Where latency counts more no row has the size, also between sizes that have one; elsewhere the faster shape.
gaps, row_before = 0, False
units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
for number, unit, rest in re.findall(r"# allreduce of (\d+) (\w+): (.*)", (work / "tuner" / "nccl_tuner.csv").read_text()):
    size = int(number) * units[unit]
    shapes = [row[3] for row in rows if int(row[1]) <= size <= int(row[2])]
    left = "latency counts more" in rest
    assert len(shapes) == (0 if left else 1), (number, unit, rest, shapes)
    gaps += left and row_before
    row_before = bool(shapes)
assert gaps, "full:6 has a size without a choice after one that has one: 64 KiB, and 128 KiB"

# The tuner's rows have the numbers of the other tables: NCCL's ring is what 'classic' makes of this machine,
# over all its NICs, and the library's time is what 'show' has.
run("frontier", "dgx-h100:2", "allreduce", "--max-chunks", "1", "--conflicts", "0", "--library", "tuner.db", "--json", "tuner.json", code=None)
run("library", "export", "tuner.db", "dgx-h100:2", "allreduce", "--as", "nccl-tuner", "-o", "tuner2")
run("classic", "multi_ring_allreduce", "dgx-h100:2", "--json", "ring.json")
for size in ("1 MiB", "1 GiB"):
    told = next(line for line in (work / "tuner2" / "nccl_tuner.csv").read_text().splitlines() if f" {size}: " in line)
    for file, name in (("tuner.json", "the library's"), ("ring.json", "ring")):
        run("show", file, "--bytes", size.replace(" ", "")[:2], "--json", "sizes.json")
        us = json.loads((work / "sizes.json").read_text())["rows"][0]["us"]
        number, unit = re.search(rf"{name} ([0-9.]+) (us|ms|s)\b", told).groups()
        assert abs(float(number) * {"us": 1, "ms": 1e3, "s": 1e6}[unit] / us - 1) < 0.006, (told, file, us)
ring_gbs = 2 * 15 / 16 * 2**30 / us / 1e3  # bus bandwidth: eight NICs of 50 GB/s
assert 0.95 * 400 < ring_gbs <= 400, ring_gbs

(work / "full").write_text("no directory")
refused("library", "export", "whole.db", "torus:2x3", "allgather", "-o", "full/plans", says="-o")

# What is asked wrongly.
refused("library", "show", "nowhere.db", says="there is no such library")
(work / "empty.db").write_bytes(b"")
refused("library", "show", "empty.db", says="empty.db: is not a library of chorale")
refused("library", "show", "a.json", says="SQLite: ")
refused("library", "build", "small.json", says="-o: is missing")
refused("library", "select", "whole.db", "torus:2x3", "allreduce", "--root", 1, says="it has that for all with root 0")
refused("frontier", "ring:4", "allgather", "--library", "x.db", "--repair", "t.json", says="drop it, or --repair")
for change, words in [({"machine": []}, "machine"), ({"groups": ["rack"]}, "not divided into equal groups"),
                      ({"machines": ["dgx-a100:2"], "groups": ["rack"]}, "use one of all, pairs, node, rank"), ({"collectives": ["sum"]}, "sum"),
                      ({"machines": ["rong:4"]}, "ring"), ({"roots": [-1]}, "roots[0]"), ({"max_chunks": 0}, "max_chunks"),
                      ({"min_chunks": 3}, "min_chunks"), ({"seconds": 0}, "seconds"), ({"bytes": [0]}, "bytes[0]"), ({"conflicts": "many"}, "conflicts")]:
    (work / "wrong.json").write_text(json.dumps({**small, **change}))
    refused("library", "build", "wrong.json", "-o", "x.db", says=words)
# With no conflicts allowed there are answers all the same, and they say what they are.
(work / "none.json").write_text(json.dumps({**small, "conflicts": 0, "seconds": 60, "machines": ["ring:5"]}))
run("library", "build", "none.json", "-o", "none.db")
run("library", "verify", "none.db")
print("built, killed, resumed, verified")
