#!/usr/bin/env python3
"""Libraries that report what is not so: each field of each table of a genuine library forged, rows exchanged,
moved and removed. 'library verify' refuses each one, but where what is changed is still true, which is
verified here, or is information only, as INFORMATION lists it with reasons. And whatever the file states,
no reader of libraries ends by a signal, or prints more than a line of why it refuses.

Usage: forged_libraries.py CHORALE [SEED] [--full]      --full: every field, not some of each kind
"""
import collections
import copy
import functools
import json
import operator
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run_chorale, work  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "property"))
import verifier  # noqa: E402
from library_file import answers, identity, key_of, leaves, others, packed, question_of, renumbered, unpacked  # noqa: E402

full = "--full" in sys.argv
seed = int(next((word for word in sys.argv[2:] if word.isdigit()), 77))
dice = random.Random(seed)
print(f"seed {seed}")

# What may be changed without becoming false, or so that nobody can tell.
INFORMATION = {
    "measured": "what a clock said on some machine; only its form and order can be checked, so 'verify' counts it as taken as it is",
    "seconds": "how long a search took",
    "effort": "cubes, bounds, symmetry and seed of the search: how it went about it, not what is true",
    "less": "a place, a prediction or a measurement less says less, and nothing false",
}


def run(*arguments, seconds=60):
    done = run_chorale(*arguments, code=None, timeout=seconds)
    return done.returncode, done.stdout + done.stderr


# Two nodes of two ranks, and ranks sit on two hosts; a one-way ring; a hub, whose limits count; a line, which
# is refuted.
(work / "nodes.json").write_text(json.dumps({"hierarchy": "nodes", "node": 1, "levels": [
    {"name": "node", "fan_out": 2, "bandwidth_gbs": 10, "latency_us": 5}, {"name": "gpu", "fan_out": 2, "bandwidth_gbs": 20, "latency_us": 1}]}))
(work / "one_way.json").write_text(json.dumps({"topology": "one way", "ranks": 3, "links": [
    {"src": n, "dst": (n + 1) % 3, "bandwidth": 1 + n % 2} for n in range(3)]}))
(work / "spec.json").write_text(json.dumps({
    "machines": ["./nodes.json"], "collectives": ["allgather", "broadcast"], "groups": ["all", "node", "pairs"], "roots": [0, 1], "bytes": [1024, 1 << 20],
    "max_chunks": 1, "conflicts": 1000}))
(work / "flat.json").write_text(json.dumps({
    "machines": ["./one_way.json", "hub:3", "line:3", "ring:4"], "collectives": ["allreduce", "broadcast"], "roots": [0, 1], "bytes": [4096],
    "max_chunks": 2, "conflicts": 1000}))
for spec in ("spec.json", "flat.json"):
    code, text = run("library", "build", spec, "-o", "genuine.db")
    assert code == 0, text
code, text = run("frontier", "ring:5", "allreduce", "--max-chunks", 4, "--library", "genuine.db")  # with refutations that are quickly made again
assert code == 0, text
with sqlite3.connect(work / "genuine.db") as file:
    KEYS = [key for (key,) in file.execute("SELECT key FROM answers ORDER BY key")]
    for key in KEYS[:3]:
        file.execute("INSERT INTO measured VALUES (?, 'mpi', 0, 1024, 2.5, 2, 3, 60)", (key,))
        file.execute("INSERT INTO measured VALUES (?, 'mpi', -1, 1024, 3.5, 3, 4, 60)", (key,))
    ANSWERS = {key: dict(zip(("question", "answer", "numbering"), map(unpacked, row)))
               for key, *row in file.execute("SELECT key, question, answer, numbering FROM answers")}
    assert all(key_of(each["question"]) == key for key, each in ANSWERS.items())
    PLACES = [dict(zip(("rowid", "machine", "grp", "collective", "ranks", "root", "key", "hosts", "members", "numbering"), row))
              for row in file.execute("SELECT rowid, machine, grp, collective, ranks, root, key, hosts, members, numbering FROM places")]
code, text = run("library", "verify", "genuine.db")
assert code == 0 and "6 times taken as measured" in text and "0 refutations" not in text, (code, text)
print(text, end="")
# Nothing is called proven by a refutation that nobody has checked; and what is written of it is a result that
# is true.
code, text = run("frontier", "ring:5", "allreduce", "--max-chunks", 4, "--library", "genuine.db", "--json", "taken.json")
assert code == 3 and "not complete (refutations not checked)" in text and "of genuine.db not checked, and nothing here rests on that" in text, (code, text)
code, text = run("check", "taken.json")
assert code == 0 and "0 refutations" in text, (code, text)


# -- what is still true --------------------------------------------------------------------------------------

for each in ANSWERS.values():
    assert answers(each["question"], json.loads(each["answer"]), json.loads(each["numbering"]))


def still_true(key, changed):
    """Of an answer with something changed: nothing false is reported."""
    now = {**ANSWERS[key], **changed}
    try:
        return answers(now["question"], json.loads(now["answer"]), json.loads(now["numbering"])) and not verifier.verify(json.loads(now["answer"])).faults
    except (KeyError, TypeError, ValueError, IndexError):
        return False


# -- forgeries -----------------------------------------------------------------------------------------------

# (what, change of an open file, why it may pass or ""); a function is asked only if it passes, since
# verification is slow.
FORGERIES = []


def forge(what, change, why=""):
    FORGERIES.append((what, change, why))


def some(items, number):
    items = list(items)
    return items if full or len(items) <= number else dice.sample(items, number)


def update(table, column, value, where, parameters):
    return lambda file: file.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *parameters))


def rekeyed(key, question):
    """The whole library as if that question had been asked."""
    def change(file):
        for table in ("answers", "places", "predicted", "measured"):
            file.execute(f"UPDATE {table} SET key = ? WHERE key = ?", (key_of(question), key))
        file.execute("UPDATE answers SET question = ? WHERE key = ?", (packed(question), key_of(question)))
    return change


def swapped(numbering, what, a, b):
    numbering = json.loads(numbering)
    numbering[what][a], numbering[what][b] = numbering[what][b], numbering[what][a]
    return numbering


for key, stored in ANSWERS.items():
    # The answer: every field.
    answer = json.loads(stored["answer"])
    for path in some(leaves(answer), 10):
        for value in some(others(functools.reduce(operator.getitem, path, answer)), 1):
            changed = copy.deepcopy(answer)
            holder = functools.reduce(operator.getitem, path[:-1], changed)
            holder[path[-1]] = value
            text = json.dumps(changed)
            why = "seconds" if path[-1] == "seconds" and value >= 0 else lambda key=key, text=text: still_true(key, {"answer": text})
            forge(f"answers.answer {'.'.join(str(k) for k in path if isinstance(k, str))}", update("answers", "answer", packed(text), "key = ?", (key,)), why)
    # The question, with its key and without.
    for at in some([i for i, c in enumerate(stored["question"]) if c.isdigit()], 4):
        question = stored["question"][:at] + str((int(stored["question"][at]) + 1) % 10) + stored["question"][at + 1:]
        forge("answers.question", update("answers", "question", packed(question), "key = ?", (key,)))
        places_agree = not any(place["key"] == key for place in PLACES)
        forge("answers.question and key", rekeyed(key, question), "still true" if still_true(key, {"question": question}) and places_agree else "")
    for old, new in [("seed 0", "seed 1"), ("symmetry true", "symmetry false")]:
        forge("answers.question effort", rekeyed(key, stored["question"].replace(old, new)), "effort")
    forge("answers.question conflicts", rekeyed(key, stored["question"].replace("conflicts ", "conflicts 9")))
    forge("answers.key", update("answers", "key", dice.choice([key[::-1], "", "x"]), "key = ?", (key,)))
    # The numbering.
    numbering = json.loads(stored["numbering"])
    forged = [json.dumps(swapped(stored["numbering"], what, *dice.sample(range(len(numbering[what])), 2))) for what in ("ranks", "links")]
    forged += [json.dumps({**numbering, "ranks": numbering["ranks"][:-1]}), json.dumps({**numbering, "links": numbering["links"] + [0]}), "{}", "[", ""]
    for text in forged:
        pure = still_true(key, {"numbering": text})
        # Hosts of places go by it.
        sits = any(place["key"] == key and place["hosts"] for place in PLACES)
        forge("answers.numbering", update("answers", "numbering", packed(text), "key = ?", (key,)), "still true" if pure and not sits else "unclear" if pure else "")
    for column in ("question", "answer", "numbering"):
        for value in (b"", b"\xff" * 12, 7, None, "text", (2 ** 40).to_bytes(8, "little") + b"x"):
            forge(f"answers.{column} not packed", update("answers", column, value, "key = ?", (key,)))
for a, b in some([(a, b) for a in ANSWERS for b in ANSWERS if a < b], 6):
    for column in ("question", "answer", "numbering"):
        def exchange(file, column=column, a=a, b=b):
            for key, other in ((a, b), (b, a)):
                file.execute(f"UPDATE answers SET {column} = ? WHERE key = ?", (packed(ANSWERS[other][column]), key))
        same = column == "numbering" and all(still_true(key, {column: ANSWERS[other][column]}) for key, other in ((a, b), (b, a)))
        forge(f"answers.{column} exchanged", exchange, "unclear" if same else "")

    def exchange_keys(file, a=a, b=b):
        for old, new in ((a, "x"), (b, a), ("x", b)):
            file.execute("UPDATE answers SET key = ? WHERE key = ?", (new, old))
    forge("answers.key exchanged", exchange_keys)
    for table in ("places", "predicted", "measured"):
        def move(file, table=table, a=a, b=b):
            for old, new in ((a, "x"), (b, a), ("x", b)):
                file.execute(f"UPDATE {table} SET key = ? WHERE key = ?", (new, old))
        with sqlite3.connect(work / "genuine.db") as file:
            rows = [sorted(file.execute(f"SELECT * FROM {table} WHERE key = ?", (key,)), key=repr) for key in (a, b)]
        if rows[0] or rows[1]:
            empty = [[value for row in each for value in row if value not in (a, b)] for each in rows]
            forge(f"{table}.key exchanged", move, "measured" if table == "measured" else "still true" if empty[0] == empty[1] else "")

for place in PLACES:
    where, row = "rowid = ?", (place["rowid"],)
    stored = ANSWERS[place["key"]]
    for machine in some(["ring:4", "hub:3", "./one_way.json", "./nodes.json", "no such machine", "ring:5", "", "x" * 1000, "\x1b[31m", "ring:4\0"], 4):
        if machine != place["machine"]:
            forge("places.machine", update("places", "machine", machine, where, row), "")
    for group in some(["all", "node", "pairs", "gpu", "../x", "", "x/../../../PWNED"], 4):
        pair = place["members"].count(" ") == 1
        if group != place["grp"]:
            forge("places.grp", update("places", "grp", group, where, row), "unclear" if pair and {group, place["grp"]} & {"pairs", "node", "gpu"} else "")
    forge("places.collective", update("places", "collective", dice.choice(["gather", "", "sum", "allgather" if place["collective"] == "broadcast" else "broadcast"]), where, row))
    for column in ("ranks", "root"):
        for value in (place[column] + 1, -1, 10 ** 12, "x", 1.5, None):
            symmetric = column == "root" and value == place["root"] + 1
            forge(f"places.{column}", update("places", column, value, where, row), "unclear" if symmetric and place["collective"] == "broadcast" else "")
    forge("places.key", update("places", "key", dice.choice([key for key in ANSWERS if key != place["key"]] + ["x"]), where, row))
    numbers = place["hosts"].split()
    for hosts in ["0", "x", "0 1 2 3 4 5 6", " ".join(["1", *numbers[1:]]) if numbers else "0 1", place["hosts"] + " 0", "" if numbers else "0"]:
        forge("places.hosts", update("places", "hosts", hosts, where, row))
    members = place["members"].split()
    for value in ["", "x", place["members"] + " 0", "99 98", " ".join(reversed(members)), " ".join(members[:-1]), "0,1"]:
        forge("places.members", update("places", "members", value, where, row))
    numbering = json.loads(unpacked(place["numbering"]))
    question, _, _ = question_of(stored["question"])
    back = {what: [numbering[what].index(i) for i in range(len(numbering[what]))] for what in numbering}
    part = {"ranks": question["ranks"], "limits": [{**limit, "links": [back["links"][l] for l in limit["links"]]} for limit in question["limits"]],
            "links": [{**question["links"][numbering["links"][l]], "src": back["ranks"][question["links"][numbering["links"][l]]["src"]],
                       "dst": back["ranks"][question["links"][numbering["links"][l]]["dst"]]} for l in range(len(numbering["links"]))]}
    assert renumbered(part, numbering) == renumbered(question, identity(question))
    for what in ("ranks", "links"):
        forged = swapped(unpacked(place["numbering"]), what, *dice.sample(range(len(numbering[what])), 2))
        rooted = place["collective"] in verifier.ROOTED and forged["ranks"][place["root"]] != numbering["ranks"][place["root"]]
        fits = renumbered(part, forged) == renumbered(question, identity(question)) and not rooted
        forge("places.numbering", update("places", "numbering", packed(json.dumps(forged)), where, row), "unclear" if fits and numbers else "still true" if fits else "")
    for text in ("{}", "", json.dumps({**numbering, "ranks": [0]})):
        forge("places.numbering", update("places", "numbering", packed(text), where, row))
    forge("places removed", lambda file, row=row: file.execute("DELETE FROM places WHERE rowid = ?", row), "less")

with sqlite3.connect(work / "genuine.db") as file:
    predicted = file.execute("SELECT rowid, key, bytes, point, us, least_us FROM predicted").fetchall()
    measured = file.execute("SELECT rowid, key, over, point, bytes, median_us, least_us, most_us, times FROM measured").fetchall()
for rowid, key, size, point, us, least in predicted:
    for column, values in (("bytes", (size * 4096, 0, -1, "x", 1.5)), ("point", (point + 1, -1, 99, None)), ("us", (us * 1.01, us / 2, -us, 0, "x", 1e999)),
                           ("least_us", (least / 2, least * 1.01 + 1, 0, -1, "nan"))):
        for value in some(values, 3):
            if column == "least_us" and value == least or column == "us" and value == us:
                continue
            forge(f"predicted.{column}", update("predicted", column, value, "rowid = ?", (rowid,)))
    forge("predicted removed", lambda file, rowid=rowid: file.execute("DELETE FROM predicted WHERE rowid = ?", (rowid,)), "less")
for rowid, key, *_ in measured:
    for column, good, bad in (("over", ("nccl",), ("", "magic")), ("point", (), (99, -2, "x")), ("bytes", (2048,), (0, -5, "x")), ("median_us", (2.9,), (0, -1, 99, "x")),
                              ("least_us", (1,), (0, -1, 99, "nan")), ("most_us", (9,), (0, -1, 1, 1e999)), ("times", (61,), (0, -1, "x"))):
        for value in good:
            forge(f"measured.{column}", update("measured", column, value, "rowid = ?", (rowid,)), "unclear" if column == "median_us" else "measured")
        for value in some(bad, 2):
            forge(f"measured.{column}, impossible", update("measured", column, value, "rowid = ?", (rowid,)))
    forge("measured removed", lambda file, rowid=rowid: file.execute("DELETE FROM measured WHERE rowid = ?", (rowid,)), "less")
for key in ANSWERS:
    forge("answers removed", lambda file, key=key: file.execute("DELETE FROM answers WHERE key = ?", (key,)))
for sql in ("CREATE TABLE more(x)", "CREATE VIEW v AS SELECT 1", "CREATE TRIGGER t AFTER INSERT ON places BEGIN DELETE FROM answers; END",
            "DROP TABLE measured", "ALTER TABLE predicted ADD COLUMN x", "DELETE FROM about", "UPDATE about SET value = '4'", "DROP INDEX places_of",
            "DROP TABLE places; CREATE VIEW places AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS machine, i AS grp, "
            "i AS collective, i AS ranks, i AS root, i AS key, i AS hosts, i AS members, i AS numbering FROM n"):
    forge("schema", lambda file, sql=sql: file.executescript(sql))

# -- verdicts ------------------------------------------------------------------------------------------------
if not full:  # of each kind some
    by_kind = collections.defaultdict(list)
    for each in FORGERIES:
        by_kind[each[0].split(" ")[0] + each[0].rpartition(".")[2], each[2] if isinstance(each[2], str) else "judged"].append(each)
    FORGERIES = [each for kind in by_kind.values() for each in dice.sample(kind, min(4, len(kind)))]
counts, passed, faults = collections.Counter(), collections.Counter(), []
readers = [("library", "show", "forged.db"), ("library", "show", "forged.db", "--html", "page.html"), ("library", "merge", "forged.db", "genuine.db", "-o", "all.db"),
           *[("library", "select", "forged.db", place["machine"], place["collective"], "--group", place["grp"], "--root", place["root"], "--ranks" if place["grp"] == "pairs"
              else "--bytes", place["members"].replace(" ", ",") if place["grp"] == "pairs" else "1K") for place in PLACES],
           *[("library", "export", "forged.db", place["machine"], place["collective"], "--group", place["grp"], "--as", "preload", "-o", "exported")
             for place in PLACES if place["grp"] != "pairs"],
           ("frontier", "ring:5", "allreduce", "--max-chunks", 4, "--library", "forged.db"),
           ("frontier", "./one_way.json", "allreduce", "--max-chunks", 2, "--conflicts", 1000, "--library", "forged.db")]


def is_well(arguments, code, text, allowed):
    lines = text.strip().splitlines()
    if code not in allowed:
        faults.append(f"{what}: {arguments}: exit code {code}: {text[-300:]}")
    elif code == 2 and arguments[1] != "verify" and len(lines) != 1:
        faults.append(f"{what}: {arguments}: {len(lines)} lines where it refuses: {text[:300]}")


for what, change, why in FORGERIES:
    shutil.copy(work / "genuine.db", work / "forged.db")
    try:
        with sqlite3.connect(work / "forged.db") as file:
            change(file)
    except (sqlite3.IntegrityError, sqlite3.InterfaceError):
        continue  # there is such a row already
    finally:
        file.close()
    arguments = ("library", "verify", "forged.db")
    try:
        code, text = run(*arguments)
    except subprocess.TimeoutExpired:
        faults.append(f"{what}: {arguments}: hangs")
        continue
    is_well(arguments, code, text, {0, 2, 3})
    if callable(why):
        why = "unclear" if code != 2 and why() else ""
    kind = "information" if why in INFORMATION else why or "false"
    counts[kind] += 1
    if code != 2:
        passed[kind] += 1
        if kind == "false":
            faults.append(f"{what}: passes: {text[-200:]}")
    elif kind in ("information", "still true"):
        faults.append(f"{what}: is refused, and nothing false was said ({why}): {text[-300:]}")
    if code == 2 and ": place " in text and run(*readers[0])[0] != 2:
        faults.append(f"{what}: shown: {text[-300:]}")
    for arguments in some(readers, 2) if full or dice.random() < 0.3 else []:
        (work / "all.db").unlink(missing_ok=True)
        try:
            is_well(arguments, *run(*arguments), {0, 2, 3})
        except subprocess.TimeoutExpired:
            faults.append(f"{what}: {arguments}: hangs")
    assert not (work.parent / "PWNED").exists() and not list(work.glob("*.part*")), what
for fault in faults[:40]:
    print("FAULT", fault)
by_kind = collections.Counter(fault.split(":")[0] + (": passes" if ": passes: " in fault else "") for fault in faults)
for kind, number in by_kind.most_common():
    print(f"{number:5} {kind}")
print(f"{sum(counts.values())} forged libraries: " + ", ".join(f"{passed[kind]} of {number} that are {kind} pass" for kind, number in counts.most_common()))
sys.exit(1 if faults else 0)
