"""Tensors from one layout to another: which bytes move from which ranks to which, in which chunks; and the
plan of what the program finds for them (api/reshard.h). `chorale reshard` and chorale.reshard() use both.

Tensors are cut along the borders of all their parts, old and new, into cells: all bytes of a cell are held
by the same ranks and wanted by the same ranks. Cells of any tensors with the same holders and the same
receivers are one part, so there are as many kinds of chunks as there are such pairs, not as there are
tensors.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import math
import pathlib
import re
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from chorale.command import Outcome, Report, counted, format_bytes, format_us, read, report, table
from chorale.errors import InputError
from chorale.values import Value, parsed

MOST_RANKS = 4096
MOST_DIMENSIONS, MOST_TENSORS = 8, 10_000
MOST_BYTES = 1e15  # of all tensors
# Chunks before the engine cuts them further: with 1,024 of 20 parts its schedules are 1.12 of the bound,
# since fewer copies of a packing follow each other; with 168 they are 1.001. Of each part so many, since
# those of stages of 16 and of 15 layers need 16 and 15; of some thousand parts fewer.
ENOUGH_CHUNKS, CHUNKS_OF_PART, MANY_CHUNKS = 256, 16, 8192
MOST_SIZES_TRIED, MOST_CUTS_TRIED = 64, 32
LITTLE_WASTE = 0.002  # of all bytes: fewer chunks are worth it

Ranks = Tuple[int, ...]  # rising
Box = Tuple[Tuple[int, int], ...]  # by dimension: from, to


@dataclasses.dataclass
class Layout:
    """Ranks as a mesh, the last axis the fastest (PyTorch's DeviceMesh), and DTensor's placements by axis:
    the dimension that it shards, or -1: replicated."""

    ranks: List[int]
    sizes: List[int]
    placements: List[int]

    def boxes(self, shape: Sequence[int]) -> List[Box]:
        """By rank of the mesh. An axis cuts a dimension into pieces of ceil(size / ranks), of which the
        last ones are shorter or empty; axes on one dimension cut one after the other, the first axis
        outermost."""
        boxes = []
        for i in range(len(self.ranks)):
            box = [(0, size) for size in shape]
            stride = len(self.ranks)
            for size, dimension in zip(self.sizes, self.placements):
                stride //= size
                if dimension < 0:
                    continue
                first, last = box[dimension]
                piece = -(-(last - first) // size)
                begin = min(last, first + i // stride % size * piece)
                box[dimension] = (begin, min(last, begin + piece))
            boxes.append(tuple(box))
        return boxes


@dataclasses.dataclass
class Tensor:
    name: str
    shape: List[int]
    element_bytes: int
    count: int  # of tensors that are alike: layers
    before: Layout
    after: Layout

    def bytes_of(self, box: Box) -> int:
        return self.element_bytes * self.count * math.prod(last - first for first, last in box)


@dataclasses.dataclass
class Part:
    """All that the same ranks hold and the same ranks need, of all tensors: boxes by number of the tensor.
    As a bundle it has chunks, too; none if all that need it hold it."""

    holders: Ranks
    wanted: Ranks
    regions: List[Tuple[int, Box]] = dataclasses.field(default_factory=list)
    bytes: int = 0
    first_chunk: int = 0
    chunks: int = 0

    @property
    def lacking(self) -> Ranks:
        return tuple(rank for rank in self.wanted if rank not in set(self.holders))


# The question -----------------------------------------------------------------------------------------------


def question_of(text: str, file: str) -> Tuple[str, List[Tensor]]:
    """The name and the tensors of a question (docs/formats.md)."""
    given = parsed(text, file)
    given.only("reshard", "from", "to", "tensors")
    meshes = []
    for side in ("from", "to"):
        given[side].only("ranks", "mesh")
        meshes.append(_mesh(given[side]))
    tensors, total = [], 0
    for each in given["tensors"].items(MOST_TENSORS):
        tensors.append(_tensor(each, *meshes))
        total += tensors[-1].bytes_of(tuple((0, size) for size in tensors[-1].shape))
        if total > MOST_BYTES:
            raise each.fail("brings the tensors to more than 1e15 bytes", "give smaller tensors, or fewer")
    if not tensors:
        raise given["tensors"].fail("is empty", "give at least one tensor")
    return given["reshard"].text(), tensors


def _mesh(given: Value) -> Layout:
    sizes = [each.whole(1, MOST_RANKS) for each in given["mesh"].items(MOST_DIMENSIONS)]
    ranks: List[int] = []
    for each in given["ranks"].items(MOST_RANKS):
        ranks.append(each.whole(0, MOST_RANKS - 1))
    for each, count in collections.Counter(ranks).items():
        if count > 1:
            raise given["ranks"].fail(f"rank {each} is there twice", "list each rank once")
    if math.prod(sizes) != len(ranks):
        raise given["mesh"].fail(f"has {math.prod(sizes)} places, and there are {len(ranks)} ranks",
                                 "let the sizes multiply to the number of ranks")
    return Layout(ranks, sizes, [])


def _layout(given: Value, usual: Layout, dimensions: int) -> Layout:
    """On the mesh of all tensors, or one of its own."""
    mesh, listed = usual, given
    if isinstance(given.value, dict):
        given.only("ranks", "mesh", "placements")
        mesh, listed = _mesh(given), given["placements"]
    placements = [_placement(each, dimensions) for each in listed.items(MOST_DIMENSIONS)]
    if len(placements) != len(mesh.sizes):
        raise listed.fail(f"has {len(placements)} placements, and the mesh {len(mesh.sizes)} axes",
                          "give one for each axis")
    return Layout(mesh.ranks, mesh.sizes, placements)


def _placement(given: Value, dimensions: int) -> int:
    """ "replicate", "Shard(0)", "R", "S(0)"."""
    text = given.text()[:20].lower()
    if text in ("replicate", "replicate()", "r"):
        return -1
    found = re.fullmatch(r"s(?:hard)?\((\d)\)", text)
    if found and int(found[1]) < dimensions:
        return int(found[1])
    raise given.fail(f"'{text}' is not a placement of this tensor",
                     f'use "replicate", or "shard(0)" with a dimension below {dimensions}')


def _tensor(given: Value, before: Layout, after: Layout) -> Tensor:
    given.only("name", "shape", "element_bytes", "count", "from", "to")
    shape = [each.whole(1, 1 << 40) for each in given["shape"].items(MOST_DIMENSIONS)]
    if not shape:
        raise given["shape"].fail("is empty", "give the sizes of its dimensions")
    return Tensor(given["name"].text(), shape,
                  given["element_bytes"].whole(1, 64) if given.has("element_bytes") else 2,
                  given["count"].whole(1, 1_000_000) if given.has("count") else 1,
                  _layout(given["from"], before, len(shape)), _layout(given["to"], after, len(shape)))


# What moves -------------------------------------------------------------------------------------------------


def parts_of(tensors: Sequence[Tensor]) -> List[Part]:
    """In the order of holders and receivers, so the same question gives the same plan."""
    parts: Dict[Tuple[Ranks, Ranks], Part] = {}
    for number, tensor in enumerate(tensors):
        before, after = tensor.before.boxes(tensor.shape), tensor.after.boxes(tensor.shape)
        for cell in _cells(before + after):
            holders, wanted = _ranks_with(tensor.before, before, cell), _ranks_with(tensor.after, after, cell)
            if not wanted:
                continue
            part = parts.setdefault((holders, wanted), Part(holders, wanted))
            part.regions.append((number, cell))
            part.bytes += tensor.bytes_of(cell)
    return [parts[key] for key in sorted(parts)]


def _cells(boxes: Sequence[Box]) -> Iterator[Box]:
    """The boxes between all borders of the given ones: a product over dimensions, since boxes are."""
    borders = [sorted({border for side in sides for border in side}) for sides in zip(*boxes)]
    return itertools.product(*(list(zip(each, each[1:])) for each in borders))


def _ranks_with(layout: Layout, boxes: Sequence[Box], cell: Box) -> Ranks:
    """Ranks that have this cell. Cells cross no border, so a box has all of a cell or nothing."""
    return tuple(
        sorted(rank for rank, box in zip(layout.ranks, boxes)
               if all(a <= c and d <= b for (a, b), (c, d) in zip(box, cell))))


@dataclasses.dataclass
class Demand:
    """`parts`: each piece once. `bundles`, what moves: parts, and with them pieces of small ones, which
    are held by all their holders; a rank may get some that it does not need. At the end what stays where
    it is. `bytes`: that ranks lack, each once for every rank."""

    parts: List[Part]
    bundles: List[Part]
    bytes: int

    @property
    def chunk_bytes(self) -> float:
        return max(each.bytes / each.chunks for each in self.bundles if each.chunks)


def demand_of(tensors: Sequence[Tensor], ranks: int) -> Demand:
    """What the ranks of the machine lack."""
    for rank in sorted(
        {rank
         for each in tensors
         for side in (each.before, each.after)
         for rank in side.ranks}):
        if rank >= ranks:
            raise InputError(
                f"reshard: rank {rank}: the machine has {ranks} ranks; give ranks of the machine")
    parts = parts_of(tensors)
    moved, kept = [each for each in parts if each.lacking], [each for each in parts if not each.lacking]
    if not moved:
        raise InputError("reshard: nothing has to move: every rank holds what it needs; give other layouts")
    # Where the greatest common divisor makes few chunks of all parts, nothing is padded.
    unit = math.gcd(*(each.bytes for each in moved))
    whole = sum(each.bytes for each in moved) <= unit * ENOUGH_CHUNKS
    bundles = Bundling(tensors, unit if whole else
                       _chunk_size(moved)).run(moved) + [dataclasses.replace(each) for each in kept]
    return Demand(parts, _numbered(bundles), sum(each.bytes * len(each.lacking) for each in moved))


def whole_parts(demand: Demand) -> Demand:
    """The same demand, in which each part that some rank lacks is one chunk."""
    bundles = [dataclasses.replace(each, chunks=int(bool(each.lacking))) for each in demand.parts]
    return Demand(demand.parts, _numbered(bundles), demand.bytes)


def _numbered(bundles: List[Part]) -> List[Part]:
    """Chunks of each, one after the other."""
    chunks = 0
    for each in bundles:
        each.first_chunk = chunks if each.chunks else 0
        chunks += each.chunks
    return bundles


def _is_little(size: float, chunk_bytes: float) -> bool:
    """A chunk of it would be padding for more than half."""
    return size < chunk_bytes / 2


def _chunks_of(size: float, chunk_bytes: float) -> int:
    """Rounded up, but not by a rounding error of a part that is a multiple."""
    return math.ceil(size / chunk_bytes * (1 - 1e-9))


def _chunk_size(moved: Sequence[Part]) -> float:
    """A whole fraction of some part, that leaves little unused: bytes of padding, and of what travels with
    others. The largest parts are cut into 1 to MOST_CUTS_TRIED; a size below the best so far must save
    LITTLE_WASTE of all bytes, since more chunks make schedules worse."""
    counts = collections.Counter(each.bytes for each in moved)
    sizes = sorted(counts, reverse=True)
    total, best, least = sum(each.bytes for each in moved), float(sizes[0]), -1.0
    most = max(ENOUGH_CHUNKS, min(CHUNKS_OF_PART * len(moved), MANY_CHUNKS), len(moved))
    for size in sizes[:MOST_SIZES_TRIED]:
        for cuts in range(1, MOST_CUTS_TRIED + 1):
            chunk = size / cuts
            own = {each: 0 if _is_little(each, chunk) else _chunks_of(each, chunk) for each in counts}
            if sum(own[each] * count for each, count in counts.items()) > most:
                break
            waste = sum(abs(own[each] * chunk - each) * count for each, count in counts.items())
            if least >= 0 and waste >= least - (LITTLE_WASTE * total if chunk < best else 0):
                continue
            least, best = waste, chunk
    return best


class Bundling:
    """Parts in chunks of about `chunk_bytes`. A part far smaller than a chunk (norms, biases, scales
    beside experts) would take a whole one, or make all of them small; it travels with larger parts that
    only ranks with it hold, and that go to the ranks that lack it."""

    def __init__(self, tensors: Sequence[Tensor], chunk_bytes: float) -> None:
        self.tensors, self.chunk_bytes = tensors, chunk_bytes
        self.bundles: List[Part] = []
        self.by_wanted: Dict[Ranks, List[Part]] = {}  # that lack it

    def run(self, moved: Sequence[Part]) -> List[Part]:
        for part in moved:
            if not _is_little(part.bytes, self.chunk_bytes):
                self.bundles.append(
                    dataclasses.replace(part,
                                        regions=list(part.regions),
                                        chunks=_chunks_of(part.bytes, self.chunk_bytes)))
                self.by_wanted.setdefault(part.lacking, []).append(self.bundles[-1])
        self.by_wanted = dict(sorted(self.by_wanted.items()))
        for part in moved:
            if _is_little(part.bytes, self.chunk_bytes):
                self.share_out(part)
        return self.bundles

    def share_out(self, part: Part) -> None:
        """Among the bundles that go to most of the ranks that lack it, until none does; what is left goes
        by itself."""
        left = set(part.lacking)
        while left:
            found = self.carriers(part, left)
            if not found:
                break
            self.put_on(found[1], part)
            left -= set(found[0])
        stay = tuple(rank for rank in part.wanted if rank in set(part.holders))
        if left:
            self.bundles.append(dataclasses.replace(part, chunks=1))
        elif stay:
            self.bundles.append(dataclasses.replace(part, wanted=stay, chunks=0))

    def carriers(self, part: Part, left: Set[int]) -> Optional[Tuple[Ranks, List[Part]]]:
        best: Optional[Tuple[Ranks, List[Part]]] = None
        for ranks, bundles in self.by_wanted.items():
            if len(left & set(ranks)) > (len(left & set(best[0])) if best else 0):
                able = [each for each in bundles if set(each.holders) <= set(part.holders)]
                best = (ranks, able) if able else best
        return best

    def put_on(self, carriers: Sequence[Part], part: Part) -> None:
        """Each region is cut evenly over the carriers. Their numbers of chunks stay, so their chunks become
        longer."""
        for number, box in part.regions:
            for j, carrier in enumerate(carriers):
                own = _piece(box, j, len(carriers))
                size = self.tensors[number].bytes_of(own)
                if size:
                    carrier.regions.append((number, own))
                    carrier.bytes += size


def _piece(box: Box, j: int, n: int) -> Box:
    """The j-th of n pieces, along the longest dimension."""
    d = max(range(len(box)), key=lambda d: (box[d][1] - box[d][0], -d))
    first, last = box[d]
    return box[:d] + ((first + (last - first) * j // n, first + (last - first) *
                       (j + 1) // n), ) + box[d + 1:]


# What is asked, and what is found ---------------------------------------------------------------------------


def asked(text: str, file: str, ranks: int) -> str:
    """What the program is asked to find: parts and bundles as [holders, wanted, bytes, chunks]."""
    name, tensors = question_of(text, file)
    demand = demand_of(tensors, ranks)
    roots = [
        min(rank for each in tensors for rank in each.before.ranks),
        sorted({rank
                for each in tensors
                for rank in each.after.ranks})
    ]
    rows = lambda parts: [[each.holders, each.wanted, each.bytes, each.chunks]
                          for each in parts]  # noqa: E731
    return json.dumps({
        "root": roots[0],
        "receivers": roots[1],
        "parts": rows(demand.parts),
        "bundles": rows(demand.bundles)
    })


class Resharding:
    """A question with what the program found: {"topology", "methods", "plan", "point", "bound_us",
    "of_nodes", "links", "pieces", "steps"}."""

    def __init__(self, text: str, file: str, found: Mapping[str, Any]) -> None:
        self.name, self.tensors = question_of(text, file)
        self.found = found
        demand = demand_of(self.tensors, found["ranks"])
        self.demand = demand if found["plan"] in ("packing", "") else whole_parts(demand)
        self.asked_chunks = sum(each.chunks for each in self.demand.bundles)

    def report(self) -> Report:
        """For people. The bound is a row among the methods, so that its time is read in the same column."""
        found, bound = self.found, self.found["bound_us"]
        ranks = [{rank
                  for each in self.tensors
                  for rank in side(each).ranks} for side in (lambda t: t.before, lambda t: t.after)]
        rows = [[
            "how", "time", "x bound", "NIC seconds" if found["of_nodes"] else "link seconds",
            "bytes over links"
        ]]
        for each in found["methods"]:
            rows.append([
                each["name"],
                format_us(each["us"]), f"{each['us'] / bound:.3f}" if bound else "-",
                f"{each['link_seconds']:.4g}",
                format_bytes(each["bytes"])
            ])
        rows.append(["bound", format_us(bound), f"{1:.3f}" if bound else "-", "-", "-"]
                    if bound is not None else ["bound", "not known", "-", "-", "-"])
        first = (
            f"{self.name}: {counted(len(ranks[0]), 'rank')} to {len(ranks[1])}, "
            f"{format_bytes(self.demand.bytes)} that ranks lack, in {counted(self.asked_chunks, 'chunk')} of "
            f"{counted(len(self.demand.parts), 'part')} with the same holders and targets"
        )
        last = [] if found["plan"] in ("packing", "") else [f"this plan is the fastest method: {found['plan']}"]
        return report(self.name, last, [table(rows, "lrrrr", first)])

    def json(self) -> str:
        found = self.found
        return json.dumps({
            "chorale_reshard": 1,
            "name": self.name,
            "topology": found["topology"],
            "bytes": self.demand.bytes,
            "chunk_bytes": self.demand.chunk_bytes,
            "parts": len(self.demand.parts),
            **{
                key: found[key]
                for key in ("bound_us", "of_nodes", "plan", "point", "methods", "links")
            }
        }) + "\n"

    def files(self) -> Dict[str, str]:
        """The plan, and a program for torchrun (gloo or another backend) that does it and checks every
        byte. Parts are the bundles that travel together; chunk numbers of the schedule are by bundle. A
        step is a list of [chunk, src, dst], and its sends start together."""
        layout = lambda side, tensor: list(zip(side.ranks, side.boxes(tensor.shape)))  # noqa: E731
        plan = {
            "ranks":
            self.found["ranks"],
            "pieces":
            self.found["pieces"],
            "tensors": [{
                "name": each.name,
                "element_bytes": each.element_bytes,
                "count": each.count,
                "from": layout(each.before, each),
                "to": layout(each.after, each)
            } for each in self.tensors],
            "parts": [{
                key: getattr(each, key)
                for key in ("holders", "wanted", "bytes", "first_chunk", "chunks", "regions")
            } for each in self.demand.bundles],
            "steps":
            self.found["steps"]
        }
        program = pathlib.Path(__file__).with_name("reshard_torch.py").read_text(encoding="utf-8")
        return {"plan.json": json.dumps(plan) + "\n", "reshard_torch.py": program}


def perform(question: Mapping[str, Any]) -> Outcome:
    """`chorale reshard`: first what is to be found, then, with that, all that is printed and written."""
    file = question["file"]
    text = read(file).decode("utf-8", "surrogateescape")
    outcome = Outcome()
    if "found" not in question:
        outcome.files.append(("-", asked(text, file, question["ranks"])))
        return outcome
    answer = Resharding(text, file, question["found"])
    outcome.report = answer.report()
    if question["json"]:
        outcome.files.append((question["json"], answer.json()))
    if question["emit"] and question["found"]["steps"] is not None:
        outcome.files += [(f"{question['emit']}/{name}", contents)
                          for name, contents in answer.files().items()]
    return outcome
