"""One value of a JSON document changed: where, and into what."""
import copy
import functools
import operator

REMOVED = object()
NAMES = ["allgather", "frontier", "synthesis", "algorithm", "direct", "dual", "reduce_scatter+allgather", "gather+local_reduce", "ring", "time limit",
         "conflict limit", "memory limit", "data", "node", "partition", "reduce", "divine revelation"]
# Members that are known somewhere, for what has them not.
KNOWN = {"multicast": [0], "reduce": [0], "alpha_us": 2, "beta_us_per_byte": 1e-5, "both_ways": True, "switches": 1, "limits": [], "name": "x", "root": 1,
         "combining": True, "chunks_per_block": 2, "prices": [], "group": [0], "rank": 0, "chunk": 0, "formula_sha256": "x", "ways": [], "from_us": 1,
         "to_us": 1, "one_by_one_us": 1, "own": {"fault": "x"}, "choices": 1, "sizes": [], "fitting": 1, "exchange": {"us": 1, "latency_us": 1, "binding": "x"},
         "ancestor": "node", "ports": 2, "rails": True, "detour": {"bandwidth_gbs": 1}, "after": [], "input": 1, "output": 1, "any_chunks": True}


def places(value, path=()):
    """The paths of all values in one."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def words_of(path):
    return ".".join("[]" if isinstance(key, int) else key for key in path)


def at(document, path):
    return functools.reduce(operator.getitem, path, document)


def alterations(value, rng):
    """What a value becomes, by name."""
    if isinstance(value, bool):
        new = {"turned": not value, "another kind": 1}
    elif isinstance(value, (int, float)):
        new = {"+1": value + 1, "-1": value - 1, "sign": -value if value else -1, "zero": 0, "huge": 10 ** 12, "part": value + 0.5}
        new = {name: each for name, each in new.items() if each != value} | {"another kind": str(value), "null": None}
    elif isinstance(value, str):
        new = {"longer": value + "x", "empty": "", "a name": rng.choice(NAMES), "another kind": 0}
    elif value is None:
        new = {"number": rng.choice([0, 1, 1, 2, 8]), "text": ""}
    elif isinstance(value, list):
        new = {"empty": []}
        if value:
            new |= {"without its last": value[:-1], "its last twice": [*value, value[-1]], "turned round": value[::-1]}
        new["another kind"] = {}
    else:
        new = {"a member more": {**value, "more": 1}}
        for key in sorted(KNOWN.keys() - value.keys()):
            new[f"{key} more"] = {**value, key: KNOWN[key]}
            if key in ("multicast", "reduce"):
                new[f"{key} more, of a limit"] = {**value, key: True}
        new["another kind"] = []
    return {"removed": REMOVED, **new}


def change(document, path, new):
    """In place."""
    holder = at(document, path[:-1])
    if new is REMOVED:
        del holder[path[-1]]
    else:
        holder[path[-1]] = new


def changed(document, path, new):
    document = copy.deepcopy(document)
    change(document, path, new)
    return document


def _members(value, field):
    """(key, member, its field) of each member of a value with that field, as words_of() has it."""
    before = field and field + "."
    if isinstance(value, dict):
        for key, each in value.items():
            yield key, each, before + key
    elif isinstance(value, list):
        for key, each in enumerate(value):
            yield key, each, before + "[]"


def fields(value, field="", counts=None):
    """How often each field is there, by words_of(); "" is the value itself. Documents have millions of places."""
    counts = {} if counts is None else counts
    counts[field] = counts.get(field, 0) + 1
    for _, each, inner in _members(value, field):
        if isinstance(each, (dict, list)):
            fields(each, inner, counts)
        else:
            counts[inner] = counts.get(inner, 0) + 1
    return counts


def how_often(value, field, wanted):
    """How often one of these fields is there."""
    if field == wanted:
        return 1
    if not isinstance(value, (dict, list)) or not wanted.startswith(field and field + "."):
        return 0
    if isinstance(value, list) and (field and field + ".") + "[]" == wanted:
        return len(value)
    return sum(how_often(each, inner, wanted) for _, each, inner in _members(value, field) if wanted.startswith(inner))


def place(value, wanted, number, field=""):
    """The path of the field that is this one of those of its name, in the order of places()."""
    if field == wanted:
        return ()
    for key, each, inner in _members(value, field):
        there = how_often(each, inner, wanted)
        if number < there:
            return (key, *place(each, wanted, number, inner))
        number -= there
    raise IndexError(wanted)


def one(document, rng):
    """(path, name, value) of a change; each field as often as any other, whether it is there once or often."""
    counts = fields(document)
    del counts[""]
    field = rng.choice(sorted(counts))
    path = place(document, field, rng.randrange(counts[field]))
    name, new = rng.choice(list(alterations(at(document, path), rng).items()))
    return path, name, new
