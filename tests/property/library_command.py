"""The door of libraries: what is built, verified, shown and taken from one, genuine or forged, is true or
refused."""
import copy
import functools
import json
import operator
import shutil
import sqlite3

import verifier
import library_file
import random_input
from random_input import flip
from session import verify_result

COLUMNS = {"answers": ("key", "question", "answer", "numbering"), "predicted": ("key", "bytes", "point", "us", "least_us"),
           "places": ("machine", "grp", "collective", "ranks", "root", "key", "hosts", "members", "numbering"), "about": ("name", "value")}
PACKED = ("question", "answer", "numbering")


def make_library(rng):
    machines = []
    for _ in range(rng.choice([1, 1, 2])):
        machine = random_input.machine(rng, tiny=flip(rng, 0.8))
        if isinstance(machine, dict) and flip(rng, 0.2):
            machine = random_input.chosen_ways(rng, rng.choice([3, 4])) if flip(rng, 0.5) else random_input.switched(rng, 3)
        machines.append(machine)
    names = ["allgather", "broadcast", "reduce", "reducescatter", "allreduce", "allreduce", "gather", "scatter", "alltoall"]
    spec = {"collectives": sorted(set(rng.sample(names, rng.choice([1, 2])))), "conflicts": rng.choice([0, 30, 300])}
    for key, values, chance in [("groups", [["all"], ["pairs"], ["all", "pairs"]], 0.4), ("roots", [[0], [1], [0, 1]], 0.4), ("bytes", [[1024], [64, 1 << 20]], 0.6),
                                ("max_chunks", [1, 2], 0.5), ("k", [0, 1], 0.2), ("max_steps", [1, 2, 3], 0.15), ("order", ["fixed", "agreed"], 0.6)]:
        if flip(rng, chance):
            spec[key] = rng.choice(values)
    return {"machine": None, "machines": machines, "spec": spec}


def library(session, case, rng):
    spec = {**case["spec"], "machines": []}
    for i, machine in enumerate(case["machines"]):
        if isinstance(machine, dict):
            session.write(f"t{i}.json", machine)
        spec["machines"].append(f"./t{i}.json" if isinstance(machine, dict) else machine)
    session.write("spec.json", spec)
    code, text, errors = session.run("library", "build", "spec.json", "-o", "l.db", "--time-limit", "10s", codes={0, 2, 3}, seconds=10, lines_of_refusal=50)
    if code == 2:
        session.counts["libraries not built"] += 1
        known = ("no path from rank", "no two ranks", "has no rank", "no group", "no ranks for", "order: is of sums")
        if not any(words in errors for words in known):
            session.fault("library build: refuses", errors[:300])
        return
    session.counts["libraries built"] += 1
    (session.folder / "genuine.db").write_bytes((session.folder / "l.db").read_bytes())
    answers_, places = contents(session)
    session.counts["answers of libraries"] += len(answers_)
    for key, stored in answers_.items():
        verify_result(session, json.loads(stored["answer"]), "library build")
        if library_file.key_of(stored["question"]) != key or not answers(stored):
            session.fault("library build: an answer to another question", f"{key}")
    for place in places:
        if place["key"] not in answers_:
            session.fault("library build: a place without an answer", str(place))
    code, text, _ = session.run("library", "verify", "l.db", "--time-limit", "10s", codes={0, 3}, seconds=10, lines_of_refusal=50)
    if code == 3 and not any(words in text for words in ("time", "undecided", "not checked")):
        session.fault("library verify: undecided without a reason", text[-300:])
    for _ in range(4 if places else 0):
        take(session, rng, spec, rng.choice(places), "l.db", genuine=True)
    if session.faults:
        return
    for _ in range(6 if answers_ else 0):
        forge(session, rng, spec, answers_, places)


def contents(session):
    file = sqlite3.connect(session.folder / "l.db")
    answers_ = {key: dict(zip(PACKED, map(library_file.unpacked, row))) for key, *row in file.execute("SELECT key, question, answer, numbering FROM answers")}
    places = [dict(zip(("rowid", *COLUMNS["places"]), row)) for row in file.execute(f"SELECT rowid, {', '.join(COLUMNS['places'])} FROM places")]
    file.close()
    return answers_, places


def answers(stored):
    return library_file.answers(stored["question"], json.loads(stored["answer"]), json.loads(stored["numbering"]))


def machine_of(session, name):
    """The machine of a file as its links, if it has no switches; else nothing."""
    path = session.folder / name
    if not name.startswith("./") or not path.is_file():
        return None
    text = json.loads(path.read_text())
    return None if text.get("switches") else text


def take(session, rng, spec, place, name, genuine):
    """What is taken from a library is true, is of the machine that was named, and does what was asked; or it
    is refused in a line."""
    words = [name, place["machine"], place["collective"], *(["--root", place["root"]] if place["collective"] in verifier.ROOTED else []),
             *(["--ranks", place["members"].replace(" ", ",")] if place["grp"] == "pairs" else [])]
    kind = rng.choice(["select", "select", "frontier", "export", "export", "show", "merge"])
    if kind == "frontier" and (place["grp"] != "all" or not place["machine"]):
        kind = "select"
    codes = {0, 3} if genuine else {0, 2, 3}
    session.counts[f"libraries, {kind}{'' if genuine else ' of forged'}"] += 1
    for path in session.folder.glob("taken*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if kind == "show":
        session.run("library", "show", name, *rng.choice([[], ["--html", "page.html"]]), codes=codes)
    elif kind == "merge":
        session.run("library", "merge", name, "genuine.db", "-o", "taken.db", codes=codes)
    elif kind == "select":
        nothing = "nothing|no schedule|has no|no algorithm|not complete|is not in"
        order = rng.choice([[], [], ["--order", "agreed"], ["--order", "fixed"]])
        code, _, errors = session.run("library", "select", *words, "--bytes", rng.choice(["1K", "1,4K,1M"]), *order, "--json", "taken.json",
                                      codes=codes, refusals=nothing)
        require_true(session, place, code, "library select", full=True)
    elif kind == "frontier":
        arguments = ["frontier", *words[1:]]
        for key, option in [("max_chunks", "--max-chunks"), ("k", "--k"), ("max_steps", "--max-steps"), ("conflicts", "--conflicts"), ("order", "--order")]:
            if key in spec and (key != "order" or place["collective"] in ("reduce", "reducescatter", "allreduce")):
                arguments += [option, spec[key]]
        shutil.copy(session.folder / name, session.folder / "taken.db")
        code, _, _ = session.run(*arguments, "--library", "taken.db", "--json", "taken.json", codes=codes | {20}, seconds=10)
        require_true(session, place, code, "frontier --library", full=True)
    else:
        target = rng.choice(["preload", "preload", "mscclpp", "msccl-xml", "nccl-tuner"])
        ranks = words[3:] if "--ranks" in words else [*words[3:], "--group", place["grp"]]
        code, _, _ = session.run("library", "export", *words[:3], *ranks, "--as", target, "-o", "taken", "--bytes", "1K:1M:32", codes=codes | {2}, lines_of_refusal=50)
        if code == 0 and target == "preload":
            for path in sorted((session.folder / "taken").rglob("*.json")):
                verify_result(session, json.loads(path.read_text()), "library export")


def require_true(session, place, code, what, full):
    path = session.folder / "taken.json"
    if not path.exists() or code not in (0, 3, 20):
        return
    result = json.loads(path.read_text())
    session.counts["results of libraries judged"] += 1
    verify_result(session, result, what)
    asked = result["collective"]
    if asked["collective"] != place["collective"] or asked["collective"] in verifier.ROOTED and asked["root"] != place["root"]:
        session.fault(f"{what}: does something else", json.dumps(asked))
    machine = machine_of(session, place["machine"])
    if machine and place["grp"] == "all":
        if [plain(link) for link in machine["links"]] != [plain(link) for link in result["topology"]["links"]]:
            session.fault(f"{what}: is of another machine", json.dumps(result["topology"]))


def plain(link):
    return link["src"], link["dst"], link.get("bandwidth", 1)


# -- forgery -------------------------------------------------------------------------------------------------

def forge(session, rng, spec, answers_, places):
    """One field of one row. What the verifier calls false `verify` refuses; nothing that is taken is false;
    no file ends a process."""
    shutil.copy(session.folder / "genuine.db", session.folder / "forged.db")
    table = rng.choice(["answers"] * 5 + ["places"] * 4 + ["predicted"] * 2 + ["about"])
    file = sqlite3.connect(session.folder / "forged.db")
    rows = file.execute(f"SELECT rowid, {', '.join(COLUMNS[table])} FROM {table}").fetchall() if table != "about" else [(1, "", "3")]
    if not rows:
        file.close()
        return
    rowid, *row = rng.choice(rows)
    row = dict(zip(COLUMNS[table], row))
    column = "value" if table == "about" else rng.choice(("answer",) * 4 + COLUMNS[table] if table == "answers" else COLUMNS[table])
    old = library_file.unpacked(row[column]) if column in PACKED else row[column]
    new, where = altered(rng, old, column)
    try:
        file.execute(f"UPDATE {table} SET {column} = ?" + ("" if table == "about" else f" WHERE rowid = {rowid}"),
                     (library_file.packed(new) if column in PACKED and isinstance(new, str) else new,))
        file.commit()
    except sqlite3.IntegrityError:
        return
    finally:
        file.close()
    verdict = judged(answers_, row, table, column, old, new)
    session.counts["libraries forged"] += 1
    session.counts[f"libraries forged, {verdict}"] += 1
    what = f"{table}.{column} {where}".strip()
    code, text, errors = session.run("library", "verify", "forged.db", "--time-limit", "10s", codes={0, 2, 3}, seconds=10, lines_of_refusal=1000)
    forged = {"forged": {"table": table, "column": column, "row": {key: value for key, value in row.items() if key not in PACKED},
                         "from": old if len(str(old)) < 2000 else where, "to": new if isinstance(new, (str, int, float)) and len(str(new)) < 2000 else repr(new)[:200]}}
    if verdict == "false" and code != 2:
        session.fault(f"library verify: accepts a forged {table}.{column}", f"{what}: exit code {code}: {text[-300:]}")
        session.faults[-1] |= forged
    elif verdict == "true" and code == 2:
        session.fault(f"library verify: refuses a true {table}.{column}", f"{what}: {errors[:300]}")
        session.faults[-1] |= forged
    before = len(session.faults)
    for _ in range(2):
        place = rng.choice(places) if places else None
        if place:
            take(session, rng, spec, place, "forged.db", genuine=False)
    for fault in session.faults[before:]:
        fault |= forged


def altered(rng, old, column):
    """Another value for a field, and where in it."""
    if column in ("answer", "numbering"):
        value = json.loads(old)
        path = rng.choice(list(library_file.leaves(value)))
        holder = functools.reduce(operator.getitem, path[:-1], value)
        if flip(rng, 0.1):
            del holder[path[-1]]
        else:
            holder[path[-1]] = rng.choice(library_file.others(holder[path[-1]]))
        where = ".".join("[]" if isinstance(key, int) else key for key in path)
        if flip(rng, 0.07):
            return rng.choice([b"", b"\xff" * 12, None, 7, "text", (2 ** 40).to_bytes(8, "little") + b"x"]), "not packed"
        return json.dumps(value), where
    if column == "question":
        at = rng.choice([i for i, c in enumerate(old) if c.isdigit()])
        return old[:at] + str((int(old[at]) + rng.randint(1, 9)) % 10) + old[at + 1:], f"at {at}"
    if isinstance(old, str):
        return rng.choice([old + "x", old[:-1], "", "allgather", "all", "../x", "0 1 2 3 4", "\x1b[31m", None, 7]), ""
    return rng.choice([old + 1, old - 1, -old - 1, 10 ** 12, 0, "x", None, 1e999, old + 0.5]), ""


def judged(answers_, row, table, column, old, new):
    """"false", "true", or "unclear", where the verifier cannot tell or it is information only."""
    if new == old:
        return "true"
    if table == "answers" and column == "question":
        return "false"  # its key is another one
    if table == "answers" and column in ("answer", "numbering"):
        if not isinstance(new, str) or new == "text":
            return "false"
        if str(10 ** 12) in new:
            return "unclear"  # the verifier counts up to it
        now = {**answers_[row["key"]], column: new}
        try:
            if not answers(now):
                return "false"
            return "false" if verifier.verify(json.loads(now["answer"])).faults else "unclear"
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, verifier.Fault):
            return "false"
    if table == "predicted" and column in ("us", "point"):
        return "false" if not isinstance(new, (int, float)) or new != old else "true"
    if table == "places" and column in ("ranks", "collective"):
        return "false"
    return "unclear"
