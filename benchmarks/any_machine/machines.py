"""200 machines without names, of 8 to 64 ranks, in families as real ones look, and questions about parts of
machines.

    made()        {name: (family, machine as its file says it)}
    questions()   {name: (family, name of a machine, collective as its file says it)}
    write(folder) both as files: NAME.json, and questions/NAME.json

Everything is drawn from random.Random of a string, so that the same names are the same machines
everywhere. A draw that is not strongly connected, or too small or large, is drawn again.
"""

import json
import pathlib
import random

LEAST, MOST = 8, 64
COUNTS = {
    "regular": 26, "irregular": 22, "oneway": 8, "cluster": 51, "failed": 26, "twisted": 8, "dragonfly": 8,
    "kautz": 13, "slimfly": 2, "tree": 13, "chords": 8, "mixed": 15
}
WIDTHS = ([1], [1, 1, 2], [1, 2, 4], [2, 3, 5], [1, 1, 1, 8])


class Machine:
    def __init__(self, ranks, switches=0):
        self.ranks, self.switches, self.links, self.limits = ranks, switches, [], []

    def link(self, a, b, bandwidth, both_ways=True):
        one = {"src": a, "dst": b, "bandwidth": bandwidth}
        self.links.append(dict(one, both_ways=True) if both_ways else one)

    def limit(self, name, links, bandwidth):
        self.limits.append({"name": name, "links": links, "bandwidth": bandwidth})

    def text(self, name):
        return {
            "topology": name,
            "ranks": self.ranks,
            **({"switches": self.switches} if self.switches else {}),
            "links": self.links,
            **({"limits": self.limits} if self.limits else {}),
        }


def pairs_linked(rng, ranks, pairs):
    machine, widths = Machine(ranks), rng.choice(WIDTHS)
    for a, b in pairs:
        machine.link(a, b, rng.choice(widths))
    return machine


def regular(rng):
    """Every rank has as many neighbours: pairs of stubs, drawn until no pair is twice there."""
    degree, ranks = rng.choice([3, 4, 4, 5, 6]), 2 * rng.randint(4, 25)
    while True:
        stubs = [n for n in range(ranks) for _ in range(degree)]
        rng.shuffle(stubs)
        pairs = {tuple(sorted(each)) for each in zip(stubs[::2], stubs[1::2])}
        if 2 * len(pairs) == ranks * degree and all(a != b for a, b in pairs):
            return pairs_linked(rng, ranks, sorted(pairs))
        if degree > 4:  # pairs of stubs are seldom simple then: permutations instead
            pairs = set()
            for _ in range(degree // 2):
                order = rng.sample(range(ranks), ranks)
                pairs |= {tuple(sorted(each)) for each in zip(order, order[1:] + order[:1])}
            return pairs_linked(rng, ranks, sorted(pairs))


def irregular(rng):
    """A random tree with more links, of which some ranks have many; two of three are without leaves."""
    ranks = rng.randint(8, 50)
    pairs = {(rng.randrange(n), n) for n in range(1, ranks)}
    hubs = rng.sample(range(ranks), max(2, ranks // 5))
    for _ in range(rng.randint(ranks // 2, 2 * ranks)):
        a, b = rng.choice([rng.choice(hubs), rng.randrange(ranks)]), rng.randrange(ranks)
        if a != b:
            pairs.add((min(a, b), max(a, b)))
    for n in range(ranks) if rng.random() < 2 / 3 else []:
        while sum(n in pair for pair in pairs) < 2:
            a = rng.randrange(ranks)
            pairs |= {(min(a, n), max(a, n))} if a != n else set()
    return pairs_linked(rng, ranks, sorted(pairs))


def oneway(rng):
    ranks, widths = rng.randint(8, 40), rng.choice(WIDTHS)
    machine = Machine(ranks)
    order = rng.sample(range(ranks), ranks)
    pairs = set(zip(order, order[1:] + order[:1]))
    for _ in range(rng.randint(ranks // 2, 2 * ranks)):
        pairs.add(tuple(rng.sample(range(ranks), 2)))
    for a, b in sorted(pairs):
        machine.link(a, b, rng.choice(widths), both_ways=False)
    return machine


DGX1 = [
    (0, 1, 1), (0, 2, 1), (0, 3, 2), (0, 4, 2), (1, 2, 2), (1, 3, 1), (1, 5, 2), (2, 3, 2),
    (2, 6, 1), (3, 7, 1), (4, 5, 1), (4, 6, 1), (4, 7, 2), (5, 6, 2), (5, 7, 1), (6, 7, 2),
]


def inside_box(rng, machine, first, gpus, kind, width):
    """Links of ranks first .. first + gpus - 1; a switch is made where there is one."""
    at = range(first, first + gpus)
    if kind == "switch":
        hub = machine.ranks + machine.switches
        machine.switches += 1
        for n in at:
            machine.link(n, hub, width)
    elif kind == "full" or gpus <= 3:
        for a in at:
            for b in range(a + 1, first + gpus):
                machine.link(a, b, width)
    elif kind == "mesh" and gpus == 8:
        for a, b, links in DGX1:
            machine.link(first + a, first + b, width * links)
    else:
        for i in range(gpus):
            machine.link(first + i, first + (i + 1) % gpus, width)
        if kind == "mesh":
            for i in range(gpus // 2):
                machine.link(first + i, first + i + gpus // 2, 2 * width)


def attach(machine, ranks, switch, width, nics, words):
    """Each rank has a link to the switch, as wide as a NIC; those that share one also share its bandwidth,
    in each direction."""
    share = len(ranks) // nics
    for k in range(nics):
        some = ranks[k * share : (k + 1) * share]
        for n in some:
            machine.link(n, switch, width)
        if len(some) > 1:
            machine.limit(f"NIC {k} of {words} out", [[n, switch] for n in some], width)
            machine.limit(f"NIC {k} of {words} in", [[switch, n] for n in some], width)


def cluster(rng):
    boxes, gpus = rng.randint(2, 6), rng.choice([2, 4, 4, 6, 8, 8])
    nics = rng.choice([k for k in (1, 2, 3, 4) if gpus % k == 0])
    inside, outside = rng.choice(["ring", "mesh", "full", "switch"]), rng.choice(
        ["core", "fat tree", "rails", "rails and spine"]
    )
    machine = Machine(boxes * gpus)
    width, nic = rng.choice([1, 2, 4, 6, 12]), rng.choice([1, 1, 2, 4])
    for box in range(boxes):
        inside_box(rng, machine, box * gpus, gpus, inside, width)
    box_ranks = [list(range(box * gpus, (box + 1) * gpus)) for box in range(boxes)]
    first = machine.ranks + machine.switches
    if outside == "core":
        machine.switches += 1
        for box, ranks in enumerate(box_ranks):
            attach(machine, ranks, first, nic, nics, f"box {box}")
    elif outside == "fat tree":  # up from a leaf half of what comes up to it, over two spines
        nic *= 4
        machine.switches += boxes + 2
        for box, ranks in enumerate(box_ranks):
            attach(machine, ranks, first + box, nic, nics, f"box {box}")
            for spine in (first + boxes, first + boxes + 1):
                machine.link(first + box, spine, nics * nic // 4)
    else:  # a switch for each NIC of a box
        machine.switches += nics + (outside == "rails and spine")
        for box, ranks in enumerate(box_ranks):
            for k in range(nics):
                attach(machine, ranks[k::nics], first + k, nic, 1, f"box {box} on rail {k}")
        if outside == "rails and spine":
            for k in range(nics):
                machine.link(first + k, first + nics, max(1, boxes * nic // 2))
    return machine


def mixed(rng):
    """Half of the boxes are like A100 ones (12 links, a narrow NIC), half like H100 ones (18 links, a NIC
    twice as wide)."""
    half, gpus = rng.randint(1, 3), rng.choice([4, 8])
    machine = Machine(2 * half * gpus)
    nics = rng.choice([gpus, gpus // 2, gpus // 4])
    kind = rng.choice(["switch", "switch", "full"])
    for box in range(2 * half):
        new = box % 2
        inside_box(
            rng,
            machine,
            box * gpus,
            gpus,
            kind,
            (18 if new else 12) if kind == "switch" else (3 if new else 2),
        )
    core = machine.ranks + machine.switches
    machine.switches += 1
    for box in range(2 * half):
        attach(
            machine, list(range(box * gpus, (box + 1) * gpus)), core, 2 if box % 2 else 1, nics, f"box {box}"
        )
    return machine


def grid(sizes, wraps):
    """Pairs of neighbours; ranks by the coordinates, the last one fastest."""
    ranks = 1
    for size in sizes:
        ranks *= size
    pairs, stride = [], 1
    for size in reversed(sizes):
        for n in range(ranks):
            at = n // stride % size
            if at + 1 < size:
                pairs.append((n, n + stride))
            elif wraps and size > 2:
                pairs.append((n - at * stride, n))
        stride *= size
    return ranks, pairs


def failed(rng):
    planes = [(3, 4), (4, 4), (4, 5), (5, 5), (4, 6), (6, 6), (5, 8), (7, 7), (8, 8)]
    sizes = rng.choice(planes + [(3, 3, 3), (2, 3, 4), (4, 4, 3)])
    ranks, pairs = grid(sizes, rng.random() < 0.5)
    kind = rng.choice(["links", "links", "ranks", "both"])
    if kind != "ranks":
        rng.shuffle(pairs)
        pairs = pairs[rng.randint(1, 4) :]
    gone = rng.sample(range(ranks), rng.randint(1, 2)) if kind != "links" else []
    left = [n for n in range(ranks) if n not in gone]
    number = {n: i for i, n in enumerate(left)}
    machine, width = Machine(len(left)), rng.choice([1, 1, 1, 2])
    for a, b in sorted(pairs):
        if a in number and b in number:
            machine.link(number[a], number[b], width)
    return machine


def twisted(rng):
    rows, columns = rng.choice([(3, 4), (4, 4), (4, 6), (4, 8), (5, 5), (5, 8), (6, 8), (8, 8)])
    twist, across, down = rng.randint(1, columns - 1), rng.choice([1, 1, 2]), rng.choice([1, 1, 2])
    machine = Machine(rows * columns)
    for i in range(rows):
        for j in range(columns):
            machine.link(i * columns + j, i * columns + (j + 1) % columns, across)
            below = (i + 1) * columns + j if i + 1 < rows else (j + twist) % columns
            machine.link(i * columns + j, below, down)
    return machine


def dragonfly(rng):
    """Groups of `a` ranks, all linked; each rank has h links to other groups, and each two groups one."""
    a, h = rng.choice([(2, 2), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3), (5, 1), (6, 1)])
    groups, local, far = a * h + 1, rng.choice([1, 2, 3]), rng.choice([1, 1, 2])
    machine = Machine(groups * a)
    for g in range(groups):
        for i in range(a):
            for j in range(i + 1, a):
                machine.link(g * a + i, g * a + j, local)
        for port in range(a * h):
            other = (g + port + 1) % groups
            if g < other:
                machine.link(g * a + port // h, other * a + (groups - 2 - port) // h, far)
    return machine


def kautz(rng):
    """Words over some letters, each linked to those that shift it by a letter: Kautz's have no letter
    twice in a row, de Bruijn's may."""
    some = [("kautz", *each) for each in ((3, 3), (3, 4), (3, 5), (4, 2), (4, 3), (5, 2), (6, 2))]
    some += [("bruijn", *each) for each in ((2, 3), (2, 4), (2, 5), (2, 6), (3, 2), (3, 3), (5, 2), (7, 2))]
    kind, letters, length = rng.choice(some)
    words = [()]
    for _ in range(length):
        words = [
            word + (x,)
            for word in words
            for x in range(letters)
            if kind == "bruijn" or not word or word[-1] != x
        ]
    number = {word: i for i, word in enumerate(words)}
    machine, widths, both = Machine(len(words)), rng.choice(WIDTHS[:3]), rng.random() < 0.25
    for word in words:
        for x in range(letters):
            other = word[1:] + (x,)
            if other in number and other != word:
                machine.link(number[word], number[other], rng.choice(widths), both_ways=both)
    return machine


def slimfly(rng):
    """McKay, Miller and Siran's graph for q = 5: 50 ranks of 7 neighbours, two hops wide."""
    pairs = [
        (block * 25 + x * 5 + y, block * 25 + x * 5 + z)
        for block, apart in ((0, (1, 4)), (1, (2, 3)))
        for x in range(5)
        for y in range(5)
        for z in range(y + 1, 5)
        if z - y in apart
    ]
    pairs += [(x * 5 + (m * x + c) % 5, 25 + m * 5 + c) for x in range(5) for m in range(5) for c in range(5)]
    return pairs_linked(rng, 50, pairs)


def tree(rng):
    """A star of rings, or a row of ranks with legs."""
    if rng.random() < 0.5:
        rings, size = rng.randint(2, 6), rng.randint(3, 8)
        pairs = [(0, 1 + r * size) for r in range(rings)]
        pairs += [
            (1 + r * size + i, 1 + r * size + (i + 1) % size) for r in range(rings) for i in range(size)
        ]
        return pairs_linked(rng, 1 + rings * size, pairs)
    row = rng.randint(4, 12)
    pairs, ranks = [(n, n + 1) for n in range(row - 1)], row
    for n in range(row):
        for _ in range(rng.randint(0, 3)):
            pairs.append((n, ranks))
            ranks += 1
    return pairs_linked(rng, ranks, pairs)


def chords(rng):
    """A one-way ring with one-way chords of a few lengths."""
    ranks, widths = rng.randint(8, 40), rng.choice(WIDTHS)
    machine = Machine(ranks)
    for length in [1] + rng.sample(range(2, ranks - 1), rng.randint(1, 3)):
        width = rng.choice(widths)
        for n in range(ranks):
            machine.link(n, (n + length) % ranks, width, both_ways=False)
    return machine


FAMILIES = {
    "regular": regular, "irregular": irregular, "oneway": oneway, "cluster": cluster, "failed": failed,
    "twisted": twisted, "dragonfly": dragonfly, "kautz": kautz, "slimfly": slimfly, "tree": tree, "chords":
    chords, "mixed": mixed
}


def is_connected(text):
    """From rank 0 to all nodes, and back?"""
    nodes = text["ranks"] + text.get("switches", 0)
    pairs = [(link["src"], link["dst"]) for link in text["links"]]
    pairs += [(link["dst"], link["src"]) for link in text["links"] if link.get("both_ways")]
    for directed in (pairs, [(b, a) for a, b in pairs]):
        onward = [[] for _ in range(nodes)]
        for a, b in directed:
            onward[a].append(b)
        seen, front = {0}, [0]
        for a in front:
            for b in onward[a]:
                if b not in seen:
                    seen.add(b)
                    front.append(b)
        if len(seen) < nodes:
            return False
    return True


def made():
    machines = {}
    for family, count in COUNTS.items():
        for number in range(count):
            name, text, draw = f"{family}{number}", None, 0
            while text is None or not is_connected(text) or not LEAST <= text["ranks"] <= MOST:
                text = FAMILIES[family](random.Random(f"{name} draw {draw}")).text(name)
                draw += 1
            machines[name] = (family, text)
    return machines


def asked(words, sums, chunks):
    return {
        "collective": words,
        "combining": sums,
        "chunks": [{"pre": sorted(pre), "post": sorted(post)} for pre, post in chunks],
    }


def within(kind, group, counts=None):
    """(ranks before, ranks after) of each block of a collective inside a group; counts: blocks of each
    rank, or of each pair."""
    counts = counts or {}
    if kind in ("allgather", "reducescatter"):
        some = [([n], group) for n in group for _ in range(counts.get(n, 1))]
        return some if kind == "allgather" else [(post, pre) for pre, post in some]
    if kind == "alltoall":
        return [([a], [b]) for a in group for b in group if a != b for _ in range(counts.get((a, b), 1))]
    return [(group, group)] if kind == "allreduce" else [([group[0]], group)]


KINDS = ["allreduce", "allgather", "alltoall", "broadcast", "reducescatter"]


def questions():
    machines, found = made(), {}
    torus, mesh = Machine(16), Machine(64)
    for machine, (_, pairs) in ((torus, grid((4, 4), True)), (mesh, grid((8, 8), False))):
        for a, b in pairs:
            machine.link(a, b, 1)
    machines["torus4x4"], machines["mesh8x8"] = ("grid", torus.text("torus4x4")), (
        "grid",
        mesh.text("mesh8x8"),
    )
    some = [name for name, (_, text) in machines.items() if 12 <= text["ranks"] <= 40]

    def add(family, machine, words, sums, chunks):
        found[f"{family}{sum(f == family for f, _, _ in found.values())}"] = (
            family,
            machine,
            asked(words, sums, chunks),
        )

    for number in range(20):
        rng = random.Random(f"group {number}")
        name, kind = ("mesh8x8" if number < 4 else rng.choice(some)), KINDS[number % 5]
        ranks = machines[name][1]["ranks"]
        group = (
            list(range(16, 24))
            if number == 1
            else sorted(rng.sample(range(ranks), ranks // rng.choice([2, 4])))
        )
        add("groups", name, f"group {kind}", kind in ("allreduce", "reducescatter"), within(kind, group))
    for number in range(15):
        rng = random.Random(f"counts {number}")
        name, kind = rng.choice(some), ["allgather", "reducescatter", "alltoall"][number % 3]
        every = list(range(machines[name][1]["ranks"]))
        keys = [(a, b) for a in every for b in every if a != b] if kind == "alltoall" else every
        counts = {key: rng.choice([0, 1, 1, 2] if kind == "alltoall" else [0, 1, 1, 2, 4]) for key in keys}
        add("counts", name, f"{kind}v", kind == "reducescatter", within(kind, every, counts))
    for number in range(15):
        rng = random.Random(f"several {number}")
        name, kind = ("torus4x4" if number == 0 else rng.choice(some)), [
            "allgather",
            "allreduce",
            "alltoall",
        ][number % 3]
        ranks = machines[name][1]["ranks"]
        size = next(size for size in (4, 5, 3, 6, 7, 2, 1) if ranks % size == 0)
        order = (
            list(range(ranks)) if number % 2 else [n * size % ranks + n * size // ranks for n in range(ranks)]
        )
        groups = (
            [order[i : i + size] for i in range(0, ranks, size)] if size > 1 else [order[::2], order[1::2]]
        )
        if number == 0:
            groups = [list(range(column, 16, 4)) for column in range(4)]
        add(
            "several",
            name,
            f"{kind}s at once",
            kind == "allreduce",
            [chunk for group in groups for chunk in within(kind, sorted(group))],
        )
    return found, machines


def write(folder):
    folder = pathlib.Path(folder)
    (folder / "questions").mkdir(parents=True, exist_ok=True)
    found, machines = questions()
    for name, (_, text) in machines.items():
        (folder / f"{name}.json").write_text(json.dumps(text, indent=1) + "\n")
    for name, (_, _, text) in found.items():
        (folder / "questions" / f"{name}.json").write_text(json.dumps(text, indent=1) + "\n")
    return machines, found
