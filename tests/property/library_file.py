"""What a library file holds, by docs/formats.md, for tests that read and forge one: packed texts, keys,
questions, numberings."""
import json

import verifier


def key_of(question):
    """FNV-1a, twice, as library/plugins/sqlite.cpp has it: a forger can do that, too."""
    a, b, most = 0xcbf29ce484222325, 0x84222325cbf29ce4, 2 ** 64
    for c in question.encode():
        a = ((a ^ c) * 0x100000001b3) % most
        b = ((b ^ c) * 0x100000001b3 + 1) % most
    return f"{a:016x}{b:016x}"


def question_of(text):
    """Machine, collective and what follows, of a question."""
    decoder = json.JSONDecoder()
    machine, at = decoder.raw_decode(text)
    collective, at = decoder.raw_decode(text, at + 1)
    return machine, collective, text[at:].strip().splitlines()


LEFT_OUT = {"bandwidth": 1, "alpha_us": 1, "beta_us_per_byte": 4e-5}  # what a link has that does not say


def renumbered(machine, numbering):
    """Links and limits as multisets: links by their numbers, limits by their links, with what they count
    once."""
    if sorted(numbering["ranks"]) != list(range(machine["ranks"])) or sorted(numbering["links"]) != list(range(len(machine["links"]))):
        return None
    links = {numbering["links"][l]: {**LEFT_OUT, **link, "src": numbering["ranks"][link["src"]], "dst": numbering["ranks"][link["dst"]]}
             for l, link in enumerate(machine["links"])}
    limits = sorted((sorted(numbering["links"][l] for l in limit["links"]), limit["bandwidth"], limit.get("multicast", False), limit.get("reduce", False))
                    for limit in machine["limits"])
    return machine["ranks"], sorted(links.items(), key=lambda item: item[0]), limits


def renamed(machine, numbering):
    """The machine that a numbering makes this one of."""
    back = {what: [numbering[what].index(i) for i in range(len(numbering[what]))] for what in numbering}
    links = [machine["links"][l] for l in numbering["links"]]
    return {"ranks": machine["ranks"], "limits": [{**limit, "links": [back["links"][l] for l in limit["links"]]} for limit in machine["limits"]],
            "links": [{**link, "src": back["ranks"][link["src"]], "dst": back["ranks"][link["dst"]]} for link in links]}


def identity(machine):
    return {"ranks": list(range(machine["ranks"])), "links": list(range(len(machine["links"])))}


def order_of(asked, ranks):
    """A word, or the sums that a tree makes, of ranks numbered so."""
    order = asked.get("order", "agreed")
    return order if order in ("agreed", "free") else {frozenset(ranks[n] for n in node) for node in verifier.nodes_of(order)}


def answers(question, answer, numbering):
    """Is that result one to the question, by its own words?"""
    machine, asked, (space, effort) = question_of(question)
    same = renumbered(answer["topology"], numbering) == renumbered(machine, identity(machine))
    root = numbering["ranks"][answer["collective"]["root"]] if answer["collective"]["collective"] in verifier.ROOTED else 0
    words = dict(zip(space.split()[0:1] + ["max"] + space.split()[3::2], space.split()[1:3] + space.split()[4::2]))
    infinite = lambda value: 2147483647 if value is None else value
    mine = [infinite(answer["space"][key]) for key in ("min_chunks", "max_chunks", "max_steps", "max_rounds", "extra_rounds")]
    limits = effort[effort.index("conflicts"):].split()
    return (same and answer["kind"] == "frontier" and (answer["collective"]["collective"], root) == (asked["collective"], asked["root"]) and
            order_of(answer["collective"], numbering["ranks"]) == order_of(asked, range(machine["ranks"])) and
            list(map(int, words.values())) == mine and
            [int(limits[1]), int(limits[3])] == [-1 if answer["limits"][key] is None else answer["limits"][key] for key in ("conflicts", "time_ms")])
