"""Libraries: what is built, verified, shown and taken from one, genuine, forged or damaged, is true or refused,
and no reader of a file ends by a signal or writes more than a line."""
import functools
import json
import shutil
import sqlite3
import sys

import library_file
import verifier
from kit import alterations
from kit.stored import COLUMNS, packed, unpacked
from session import Over, verify_result


class Library:
    """What is in a file, as rows by table, packed texts as texts."""

    def __init__(self, path):
        with sqlite3.connect(path) as file:
            self.rows = {table: [{"rowid": rowid, **{column: unpacked(each) if isinstance(each, bytes) else each for column, each in zip(columns, row)}}
                                 for rowid, *row in file.execute(f"SELECT rowid, {', '.join(columns)} FROM {table} ORDER BY rowid")]
                         for table, columns in COLUMNS.items()}
        file.close()
        self.answers, self.places = {row["key"]: row for row in self.rows["answers"]}, self.rows["places"]

    def still_true(self, key, **changed):
        """Of an answer with something changed: nothing false is reported."""
        now = {**self.answers[key], **changed}
        try:
            answer = json.loads(now["answer"])
            return library_file.answers(now["question"], answer, json.loads(now["numbering"])) and not verifier.verify(answer).faults
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, verifier.Fault):
            return False


def built(session):
    """The library that a specification asks for, whose answers are true, and are to its questions."""
    spec = {**session.case["spec"], "machines": [session.write(f"t{i}.json", machine) if isinstance(machine, dict) else machine
                                                 for i, machine in enumerate(session.case["machines"])]}
    build(session, spec)
    examine(session, spec)


def build(session, spec):
    session.write("spec.json", spec)
    code, _, errors = session.run("library", "build", "spec.json", "-o", "genuine.db", "--time-limit", "10s", codes={0, 2, 3}, seconds=10, lines=50)
    if code == 2:
        session.counts["libraries not built"] += 1
        known = ("no path from rank", "no two ranks", "has no rank", "no group", "no ranks for", "order: is of sums")
        session.require(any(words in errors for words in known), "library build: refuses", errors[:300])
        raise Over()
    session.counts["libraries built"] += 1


def examine(session, spec):
    session.library, session.spec = library, _ = Library(session.folder / "genuine.db"), spec
    session.counts["answers of libraries"] += len(library.answers)
    for key, stored in library.answers.items():
        verify_result(session, json.loads(stored["answer"]), "library build")
        session.require(library_file.key_of(stored["question"]) == key and library.still_true(key), "library build: an answer to another question", key)
    for place in library.places:
        session.require(place["key"] in library.answers, "library build: a place without an answer", str(place))
    code, text, _ = session.run("library", "verify", "genuine.db", "--time-limit", "10s", codes={0, 3}, seconds=10, lines=50)
    session.require(code != 3 or any(words in text for words in ("time", "undecided", "not checked")), "library verify: undecided without a reason", text[-300:])


def taken(session, name="genuine.db", codes=(0, 3)):
    """What is taken from a library is true, is of the machine that was named, and does what was asked; or it
    is refused in a line."""
    rng, spec = session.rng, session.spec
    if not session.library.places:
        return
    place = rng.choice(session.library.places)
    root = ["--root", place["root"]] if place["collective"] in verifier.ROOTED else []
    ranks = ["--ranks", place["members"].replace(" ", ",")] if place["grp"] == "pairs" else [] if place["grp"] == "all" else ["--group", place["grp"]]
    words = [place["machine"], place["collective"], *root, *ranks]
    kind = rng.choice(["select", "select", "frontier", "export", "export", "show", "merge"])
    if kind == "frontier" and (place["grp"] != "all" or not place["machine"]):
        kind = "select"
    session.counts[f"libraries, {kind}{'' if name == 'genuine.db' else ' of changed'}"] += 1
    for path in session.folder.glob("taken*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if kind == "show":
        session.run("library", "show", name, *rng.choice([[], ["--html", "page.html"]]), codes=codes)
    elif kind == "merge":
        session.run("library", "merge", name, "genuine.db", "-o", "taken.db", codes=codes)
    elif kind == "select":
        nothing = "nothing|no schedule|has no|no algorithm|not complete|is not in"
        code, _, _ = session.run("library", "select", name, *words, "--bytes", rng.choice(["1K", "1,4K,1M"]), *rng.choice([[], [], ["--order", "agreed"], ["--order", "fixed"]]),
                                 "--json", "taken.json", codes=codes, refusals=nothing)
        require_true(session, place, code, "library select")
    elif kind == "frontier":
        of_sums = place["collective"] in ("reduce", "reducescatter", "allreduce")
        options = [word for key in ("max_chunks", "k", "max_steps", "conflicts", "order") if key in spec and (key != "order" or of_sums)
                   for word in (f"--{key.replace('_', '-')}", spec[key])]
        shutil.copy(session.folder / name, session.folder / "taken.db")
        code, _, _ = session.run("frontier", *words, *options, "--library", "taken.db", "--json", "taken.json", codes={*codes, 20}, seconds=10)
        require_true(session, place, code, "frontier --library")
    else:
        target = rng.choice(["preload", "preload", "mscclpp", "msccl-xml", "nccl-tuner"])
        code, _, _ = session.run("library", "export", name, *words[:2], *(["--group", "all"] if not ranks else ranks), *root, "--as", target, "-o", "taken", "--bytes", "1K:1M:32",
                                 codes={*codes, 2}, lines=50)
        for path in sorted((session.folder / "taken").rglob("*.json")) if code == 0 and target == "preload" else []:
            verify_result(session, json.loads(path.read_text()), "library export")
    session.require(not list(session.folder.glob("*.part*")) and not (session.folder.parent / "PWNED").exists(), f"library {kind}: leaves files behind")


def require_true(session, place, code, what):
    if not (session.folder / "taken.json").exists() or code not in (0, 3, 20):
        return
    result = session.read("taken.json")
    session.counts["results of libraries verified"] += 1
    verify_result(session, result, what)
    asked, path = result["collective"], session.folder / place["machine"]
    session.require(asked["collective"] == place["collective"] and (asked["collective"] not in verifier.ROOTED or asked["root"] == place["root"]),
                    f"{what}: does something else", json.dumps(asked))
    machine = json.loads(path.read_text()) if place["machine"].startswith("./") and path.is_file() and place["grp"] == "all" else {}
    if "links" in machine and not machine.get("switches"):
        plain = lambda links: [(link["src"], link["dst"], link.get("bandwidth", 1)) for link in links]
        session.require(plain(machine["links"]) == plain(result["topology"]["links"]), f"{what}: is of another machine", json.dumps(result["topology"]))


# -- forgeries -----------------------------------------------------------------------------------------------

def known(session):
    """A library with all that there is: two nodes of two ranks on two hosts; a one-way ring; a hub, whose limits
    count; a line, which is refuted; refutations that are quickly made again; measured times."""
    session.write("nodes.json", {"hierarchy": "nodes", "node": 1, "levels": [{"name": "node", "fan_out": 2, "bandwidth_gbs": 10, "latency_us": 5},
                                                                              {"name": "gpu", "fan_out": 2, "bandwidth_gbs": 20, "latency_us": 1}]})
    session.write("one_way.json", {"topology": "one way", "ranks": 3, "links": [{"src": n, "dst": (n + 1) % 3, "bandwidth": 1 + n % 2} for n in range(3)]})
    build(session, {"machines": ["./nodes.json"], "collectives": ["allgather", "broadcast"], "groups": ["all", "node", "pairs"], "roots": [0, 1], "bytes": [1024, 1 << 20],
                    "max_chunks": 1, "conflicts": 1000})
    spec = {"machines": ["./one_way.json", "hub:3", "line:3", "ring:4"], "collectives": ["allreduce", "broadcast"], "roots": [0, 1], "bytes": [4096],
            "max_chunks": 2, "conflicts": 1000}
    build(session, spec)
    session.run("frontier", "ring:5", "allreduce", "--max-chunks", 4, "--library", "genuine.db")
    with sqlite3.connect(session.folder / "genuine.db") as file:
        for key, in file.execute("SELECT key FROM answers ORDER BY key LIMIT 3").fetchall():
            file.execute("INSERT INTO measured VALUES (?, 'mpi', 0, 1024, 2.5, 2, 3, 60)", (key,))
            file.execute("INSERT INTO measured VALUES (?, 'mpi', -1, 1024, 3.5, 3, 4, 60)", (key,))
    file.close()
    examine(session, spec)
    text = session.run("library", "verify", "genuine.db")[1]
    session.require("6 times taken as measured" in text and "0 refutations" not in text, "library verify: other counts", text)
    # Nothing is called proven by a refutation that was not checked; and what is written is a true result.
    code, text, errors = session.run("frontier", "ring:5", "allreduce", "--max-chunks", 4, "--library", "genuine.db", "--json", "r.json", codes={0, 3})
    session.require(code == 3 and "not complete (refutations not checked)" in text and "of genuine.db not checked: run" in errors,
                    "frontier --library: believes refutations", text + errors)
    text = session.run("check", "r.json")[1]
    session.require("0 refutations" in text, "check: refutations that nobody made", text)
    session.spec = {**spec, "max_chunks": 2}


def swapped(numbering, rng):
    """Two ranks or two links of it."""
    numbering = json.loads(numbering)
    what = rng.choice(["ranks", "links"])
    if len(numbering[what]) > 1:
        a, b = rng.sample(range(len(numbering[what])), 2)
        numbering[what][a], numbering[what][b] = numbering[what][b], numbering[what][a]
    return numbering


NOT_PACKED = [b"", b"\xff" * 12, 7, None, "text", (2 ** 40).to_bytes(8, "little") + b"x"]
SCHEMA = ["CREATE TABLE more(x)", "CREATE VIEW v AS SELECT 1", "CREATE TRIGGER t AFTER INSERT ON places BEGIN DELETE FROM answers; END", "DROP TABLE measured",
          "ALTER TABLE predicted ADD COLUMN x", "DELETE FROM about", "UPDATE about SET value = '4'", "DROP INDEX places_of",
          "DROP TABLE places; CREATE VIEW places AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS machine, i AS grp, "
          "i AS collective, i AS ranks, i AS root, i AS key, i AS hosts, i AS members, i AS numbering FROM n"]
# Of a column, what is false whatever the row has, as functions of the old value.
FALSE = {
    "answers.key": lambda old: [old[::-1], "", "x"],
    "places.collective": lambda old: ["gather" if old != "gather" else "scatter", "", "sum"],
    "places.ranks": lambda old: [old + 1, -1, 10 ** 12, "x", 1.5, None],
    "places.root": lambda old: [-1, 10 ** 12, "x", 1.5, None],
    "places.hosts": lambda old: ["x", "0 1 2 3 4 5 6", f"{old} 0", "0 1" if not old else ""],
    "places.members": lambda old: ["", "x", f"{old} 0", "99 98", " ".join(old.split()[:-1]), "0,1"],
    "predicted.bytes": lambda old: [old * 4096, 0, -1, "x", 1.5],
    "predicted.point": lambda old: [-1, 99, None],
    "predicted.us": lambda old: [old * 1.01, old / 2, -old, 0, "x", 1e999],
    "predicted.least_us": lambda old: [old * 1.01 + 1, -1, "nan", *([old / 2, 0] if old else [])],
    "measured.over": lambda _: ["", "magic"], "measured.point": lambda _: [99, -2, "x"], "measured.bytes": lambda _: [0, -5, "x"],
    "measured.median_us": lambda _: [0, -1, 99, "x"], "measured.least_us": lambda _: [0, -1, 99, "nan"], "measured.most_us": lambda _: [0, -1, 1, 1e999],
    "measured.times": lambda _: [0, -1, "x"]}
# What a clock said on some machine: only its form and order can be checked.
MEASURED = {"over": "nccl", "bytes": 2048, "least_us": 1, "most_us": 9, "times": 61}
# Where another value may be true, too: of a pair in another group, of ranks that are equal to the machine.
UNCLEAR = {"places.machine": ["ring:4", "hub:3", "./one_way.json", "./nodes.json", "ring:5"], "places.grp": ["all", "node", "pairs", "gpu"],
           "places.root": [0, 1, 2], "predicted.point": [0, 1], "measured.median_us": [2.9], "measured.point": [0]}
NOWHERE = {"places.machine": ["no such machine", "", "x" * 1000, "\x1b[31m", "ring:4\0"], "places.grp": ["../x", "", "x/../../../PWNED"]}


def forgeries(library, rng):
    """By kind: a function of an open file, which changes it and returns what the change is: "false", "true",
    "unclear", or a function that knows; None if there is nothing to change."""
    kinds, answers = {}, list(library.answers.values())
    kind = lambda name: functools.partial(kinds.__setitem__, name)

    def update(file, table, column, value, row):
        file.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row["rowid"]))

    def column_of(table, column, values, verdict):
        def change(file):
            row = rng.choice(library.rows[table])
            new = rng.choice([each for each in values(row[column]) if each != row[column]] or [None])
            update(file, table, column, new, row)
            return verdict
        return change

    for name, values in FALSE.items():
        kinds[name] = column_of(*name.split("."), values, "false")
    for name, values in UNCLEAR.items():
        kinds[f"{name}, another"] = column_of(*name.split("."), lambda _, values=values: values, "unclear")
    for name, values in NOWHERE.items():
        kinds[f"{name}, nowhere"] = column_of(*name.split("."), lambda _, values=values: values, "false")
    for column, value in MEASURED.items():
        kinds[f"measured.{column}, possible"] = column_of("measured", column, lambda _, value=value: [value], "true")
    for column in ("question", "answer", "numbering"):
        kinds[f"answers.{column} not packed"] = column_of("answers", column, lambda _: NOT_PACKED, "false")
    keys = lambda old: [key for key in library.answers if key != old] + ["x"]
    kinds["places.key"] = column_of("places", "key", keys, "false")

    # Every field of answers.
    fields = {}
    for row in answers:
        answer = json.loads(row["answer"])
        for path in alterations.places(answer):
            if path:
                fields.setdefault(alterations.words_of(path), []).append((row, answer, path))

    def field(name):
        def change(file):
            row, answer, path = rng.choice(fields[name])
            what, new = rng.choice(list(alterations.alterations(alterations.at(answer, path), rng).items()))
            text = json.dumps(alterations.changed(answer, path, new))
            update(file, "answers", "answer", packed(text), row)
            if path == ("seconds",) and what in ("+1", "zero", "huge"):
                return "true"  # how long a search took
            return lambda: "unclear" if library.still_true(row["key"], answer=text) else "false"
        return change
    for name in fields:
        kinds[f"answers.answer {name}"] = field(name)

    def rekeyed(file, row, question):
        """The whole library as if that question had been asked."""
        for table in ("answers", "places", "predicted", "measured"):
            file.execute(f"UPDATE {table} SET key = ? WHERE key = ?", (library_file.key_of(question), row["key"]))
        update(file, "answers", "question", packed(question), row)

    def question(with_key):
        def change(file):
            row = rng.choice(answers)
            old = row["question"]
            at = rng.choice([i for i, c in enumerate(old) if c.isdigit()])
            new = old[:at] + str((int(old[at]) + rng.randint(1, 9)) % 10) + old[at + 1:]
            if not with_key:
                update(file, "answers", "question", packed(new), row)
                return "false"
            rekeyed(file, row, new)
            return lambda: "unclear" if library.still_true(row["key"], question=new) else "false"
        return change
    kinds["answers.question"], kinds["answers.question and key"] = question(False), question(True)

    @kind("answers.question, effort")
    def _(file):
        row = rng.choice(answers)
        rekeyed(file, row, row["question"].replace(*rng.choice([("seed 0", "seed 1"), ("symmetry true", "symmetry false")])))
        return "true"  # how the search went about it, not what is true

    @kind("answers.question, conflicts")
    def _(file):
        row = rng.choice(answers)
        rekeyed(file, row, row["question"].replace("conflicts ", "conflicts 9"))
        return "false"

    @kind("answers.numbering")
    def _(file):
        row = rng.choice(answers)
        numbering = json.loads(row["numbering"])
        text = rng.choice([json.dumps(swapped(row["numbering"], rng))] * 4 + [json.dumps({**numbering, "ranks": numbering["ranks"][:-1]}),
                                                                             json.dumps({**numbering, "links": numbering["links"] + [0]}), "{}", "[", ""])
        update(file, "answers", "numbering", packed(text), row)
        # Hosts of places go by it.
        sits = any(place["key"] == row["key"] and place["hosts"] for place in library.places)
        return lambda: ("unclear" if sits else "true") if library.still_true(row["key"], numbering=text) else "false"

    def exchanged(table, column):
        def change(file):
            a, b = rng.sample(sorted(library.answers), 2)
            if column != "key":
                for row, other in ((a, b), (b, a)):
                    update(file, table, column, packed(library.answers[other][column]), library.answers[row])
                return lambda: "unclear" if all(library.still_true(row, **{column: library.answers[other][column]}) for row, other in ((a, b), (b, a))) else "false"
            rows = [sorted(repr([each[name] for name in COLUMNS[table] if name != "key"]) for each in library.rows[table] if each["key"] == key) for key in (a, b)]
            for old, new in ((a, "x"), (b, a), ("x", b)):
                file.execute(f"UPDATE {table} SET key = ? WHERE key = ?", (new, old))
            return "true" if rows[0] == rows[1] else "unclear" if table == "measured" else "false"
        return change
    if len(answers) > 1:
        for name in ("answers.question", "answers.answer", "answers.numbering", "answers.key", "places.key", "predicted.key", "measured.key"):
            kinds[f"{name} exchanged"] = exchanged(*name.split("."))

    @kind("places.numbering")
    def _(file):
        row = rng.choice(library.places)
        numbering, (machine, _, _) = json.loads(row["numbering"]), library_file.question_of(library.answers[row["key"]]["question"])
        part = library_file.renamed(machine, numbering)
        forged = rng.choice([swapped(row["numbering"], rng)] * 3 + [{**numbering, "ranks": [0] * len(numbering["ranks"])}, {}])
        update(file, "places", "numbering", packed(json.dumps(forged)), row)
        fits = forged and library_file.renumbered(part, forged) == library_file.renumbered(part, numbering)
        rooted = fits and row["collective"] in verifier.ROOTED and forged["ranks"][row["root"]] != numbering["ranks"][row["root"]]
        return "false" if not fits or rooted else "unclear" if row["hosts"] else "true"

    @kind("places.members, reversed")
    def _(file):
        row = rng.choice(library.places)
        update(file, "places", "members", " ".join(reversed(row["members"].split())), row)
        return "false" if row["members"].split() != row["members"].split()[::-1] else "true"

    def removed(table, verdict):
        def change(file):
            row = rng.choice(library.rows[table])
            file.execute(f"DELETE FROM {table} WHERE rowid = ?", (row["rowid"],))
            return verdict
        return change
    for table in COLUMNS:  # a place, a prediction or a measurement less says less, and nothing false
        kinds[f"{table} removed"] = removed(table, "false" if table == "answers" else "true")

    @kind("schema")
    def _(file):
        file.executescript(rng.choice(SCHEMA))
        return "false"
    return {name: change for name, change in kinds.items() if library.rows.get(name.split(".")[0].split(" ")[0], True)}


def forged(session, number=None, chance=0.2):
    """`verify` refuses what is false, and accepts what is true; nothing that is taken is false."""
    library, rng = session.library, session.rng
    kinds = forgeries(library, rng)
    if session.faults or not library.answers:
        return
    for name in rng.sample(sorted(kinds), min(number, len(kinds))) if number else [*kinds] * (session.options.rounds or 2):
        shutil.copy(session.folder / "genuine.db", session.folder / "forged.db")
        file = sqlite3.connect(session.folder / "forged.db")
        try:
            verdict = kinds[name](file)
            file.commit()
        except (sqlite3.IntegrityError, sqlite3.InterfaceError):
            continue  # there is such a row already
        finally:
            file.close()
        before = len(session.faults)
        code, text, errors = session.run("library", "verify", "forged.db", "--time-limit", "10s", codes={0, 2, 3}, seconds=10, lines=0)
        if callable(verdict):
            verdict = verdict() if code != 2 else "or true"  # the verifier is slow
        session.counts["libraries forged"] += 1
        session.counts[f"libraries forged, {verdict}, {'refused' if code == 2 else 'accepted'}"] += 1
        session.require(verdict != "false" or code == 2, f"library verify: accepts a forged {name}", f"exit code {code}: {text[-300:]}")
        session.require(verdict != "true" or code != 2, f"library verify: refuses a true {name}", errors[:300])
        if code == 2 and ": place " in errors:
            session.require(session.run("library", "show", "forged.db", codes={0, 2})[0] == 2, f"library show: shows a false place: {name}", errors[:300])
        for _ in range(2 if rng.random() < chance else 0):
            taken(session, "forged.db", codes=(0, 2, 3))
        for fault in session.faults[before:]:
            fault["forged"] = name


# -- damage --------------------------------------------------------------------------------------------------

ODD = [0, -1, 1, 2, 2 ** 31 - 1, 2 ** 31, -2 ** 31, 2 ** 63 - 1, -2 ** 63, 1e308, -1e308, 1e-320, 0.5, None, True, "", "x", "\x00", "9" * 400, "../../x",
       "0 1 2 3", "allgather", 999_999, 1_000_000]


def bytes_damaged(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        at = rng.randrange(max(1, len(data)))
        kind = rng.choice(["bit", "byte", "cut", "zeros", "more", "copy"])
        if kind == "bit":
            data[at:at + 1] = bytes([data[at] ^ 1 << rng.randrange(8)]) if at < len(data) else b""
        elif kind == "byte":
            data[at:at + 1] = bytes([rng.randrange(256)])
        elif kind == "cut":
            del data[at:at + rng.choice([1, 10, 5000])]
        elif kind == "zeros":
            data[at:at + 20] = bytes(20)
        elif kind == "more":
            data[at:at] = rng.randbytes(rng.choice([1, 30]))
        else:
            data[at:at] = data[at // 2:at // 2 + 30]
    return bytes(data)


def values_damaged(data, rng):
    """JSON with some of its values others."""
    value = json.loads(data)
    for _ in range(rng.choice([1, 1, 1, 3])):
        path = rng.choice(list(alterations.places(value))[1:])
        alterations.change(value, path, rng.choice([*ODD, "\udcff", [], {}, [[]]]))
    return json.dumps(value).encode()


def cells_damaged(file, rng):
    """Any value of any column, or damaged bytes within what is packed."""
    for _ in range(rng.choice([1, 2, 5])):
        table = rng.choice(sorted(COLUMNS))
        column = rng.choice(COLUMNS[table])
        rowid, old = rng.choice(file.execute(f"SELECT rowid, {column} FROM {table}").fetchall())
        new = packed(bytes_damaged(unpacked(old).encode(), rng)) if isinstance(old, bytes) and rng.random() < 0.8 else rng.choice([*ODD, rng.randbytes(30)])
        try:
            file.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = {rowid}", (new,))
        except (sqlite3.IntegrityError, OverflowError):
            pass


def answers_damaged(file, rng):
    """Texts that are what they should be, but for values."""
    for column in rng.choice([["answer"], ["answer"], ["numbering"], ["answer", "numbering"]]):
        rowid, old = rng.choice(file.execute(f"SELECT rowid, {column} FROM answers").fetchall())
        file.execute(f"UPDATE answers SET {column} = ? WHERE rowid = {rowid}", (packed(values_damaged(unpacked(old), rng)),))


PYTHON = """
import sys, chorale
for path in sys.argv[1:]:
    for job in (lambda l: l.verify(conflicts=1000), lambda l: l.places(), lambda l: l.select("ring:4", "allgather", 4096),
                lambda l: l.select("hub:3", "allreduce", 4096, ranks=[2, 0, 1]), lambda l: l.find("ring:4", "allgather", max_chunks=2, conflicts=1000)):
        try:
            job(chorale.library.open(path))
        except chorale.InputError:
            print("refused")
"""


def damaged(session, rounds=12):
    """Whatever is in a library or a result, each reader of it ends by itself, soon, with an exit code of
    docs/exit-codes.md and at most a line of why it refuses. With --python the package's readers do."""
    rng, folder, python, rounds = session.rng, session.folder, session.options.python, session.options.rounds or rounds
    build(session, {"machines": ["ring:4", "hub:3"], "collectives": ["allgather", "allreduce", "broadcast"], "groups": ["all"], "roots": [0, 1], "bytes": [4096],
                    "max_chunks": 2, "conflicts": 1000})
    with sqlite3.connect(folder / "genuine.db") as file:
        file.execute("INSERT INTO measured SELECT key, 'mpi', 0, 1024, 2.5, 2, 3, 60 FROM answers")
    file.close()
    results = []
    for words in (["frontier", "hub:3", "allreduce", "--max-chunks", 2], ["frontier", "ring:4", "broadcast", "--min-chunks", 3, "--max-chunks", 4],
                  ["classic", "ring_allreduce", "ring:4"]):
        session.run(*words, "--json", "r.json", codes={0, 3})
        results.append((folder / "r.json").read_bytes())
    for number in range(rounds):
        for kind, damage in (("bytes", None), ("cells", cells_damaged), ("answers", answers_damaged)):
            path = folder / f"{kind}{number}.db"
            shutil.copy(folder / "genuine.db", path)
            if damage:
                with sqlite3.connect(path) as file:
                    damage(file, rng)
                file.close()
            else:
                path.write_bytes(bytes_damaged(path.read_bytes(), rng))
            session.counts["libraries damaged"] += 1
            for command in (["library", "verify", path.name, "--conflicts", 1000], ["library", "show", path.name],
                            ["library", "select", path.name, "ring:4", rng.choice(["allgather", "allreduce"]), "--bytes", "1K:1M:32"],
                            ["library", "select", path.name, "hub:3", "broadcast", "--root", 1, "--ranks", "1,2,0"],
                            ["frontier", "hub:3", "allreduce", "--max-chunks", 2, "--conflicts", 1000, "--library", path.name]) if not python else ():
                session.run(*command, codes={0, 2, 3, 20}, seconds=60, lines=0 if "verify" in command else 1)
                session.require(not list(folder.glob("*.part*")), f"{command[1]}: leaves a part behind")
        for damage in (bytes_damaged, values_damaged) * 2 if not python else ():
            (folder / "damaged.json").write_bytes(damage(rng.choice(results), rng))
            command = rng.choice([["check", "damaged.json", "--conflicts", 1000, "--time-limit", "20s"], ["show", "damaged.json"], ["check", "damaged.json", "--conflicts", 0, "--all"]])
            session.run(*command, codes={0, 2, 3}, seconds=60, lines=0 if "--all" in command else 1)
    if python:
        code, text, errors, _ = session.spawn(sys.executable, "-c", PYTHON, *sorted(folder.glob("*[0-9].db")), wall=600)
        session.require(code == 0, f"Python: exit code {code}", errors[-600:])
        session.counts["refused by Python"] = text.count("refused")
