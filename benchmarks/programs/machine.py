"""What both interpreters run on: slots with the sums that they hold, blocks in a random order, and what a
collective promises."""
import collections

GARBAGE = (((-1, -1),), 0)


class Found(Exception):
    """The verdict, and why."""


def added(a, b):
    return tuple(sorted(a[0] + b[0])), hash(tuple(sorted((a[1], b[1]))))


class Memory:
    """Values by slot. A race is an access that does not know an earlier one of the slot. What is known is a
    set of events: the bits of an integer."""

    def __init__(self):
        self.values, self.writer, self.readers = {}, {}, collections.defaultdict(list)
        self.events, self.race = 0, None

    def event(self):
        self.events += 1
        return self.events

    def ordered(self, slot, other, event, known):
        if other not in (None, event) and not known >> other & 1:
            self.race = self.race or slot

    def read(self, slot, event, known):
        self.ordered(slot, self.writer.get(slot), event, known)
        self.readers[slot].append(event)
        return self.values.get(slot, GARBAGE)

    def write(self, slot, value, event, known):
        for other in self.readers.pop(slot, []) + [self.writer.get(slot)]:
            self.ordered(slot, other, event, known)
        self.writer[slot], self.values[slot] = event, value


def run(blocks, chance):
    """Blocks are generators of conditions that they wait for, or None."""
    waiting = dict.fromkeys(range(len(blocks)))
    while waiting:
        moved = False
        for i in chance.sample(list(waiting), len(waiting)):
            if moved and chance.random() < 0.3:
                continue
            for _ in range(chance.choice((1, 1, 3, 50))):
                if waiting[i] and not waiting[i]():
                    break
                moved = True
                try:
                    waiting[i] = next(blocks[i])
                except StopIteration:
                    del waiting[i]
                    break
        if not moved:
            raise Found("deadlock", f"{len(waiting)} blocks wait")


class Promise:
    """Numbers of slots by rank, what they hold at the end, and where they lie if the buffers are the same."""

    def __init__(self, kind, ranks, k, root, sizes, step=1):
        every = range(ranks)
        whole, block = [ranks * k] * ranks, [k] * ranks
        at_root = lambda sizes: [sizes[r] if r == root else 0 for r in every]  # noqa: E731
        lengths = {"allgather": (block, whole), "alltoall": (whole, whole), "allreduce": (block, block),
                   "reducescatter": (whole, block), "broadcast": (at_root(block), block),
                   "reduce": (block, at_root(block)), "gather": (block, at_root(whole)),
                   "scatter": (at_root(whole), block), "sendrecv": sizes}
        self.inputs, self.outputs = lengths.get(kind, sizes)
        self.shift = [{"allgather": ("i", r * k), "gather": ("i", root * k), "reducescatter": ("o", r * k),
                       "scatter": ("o", root * k)}.get(kind, ("i", 0)) for r in every]
        self.wanted, self.unit = {}, 1  # unit: slots in a chunk of the file
        for r, j in [(r, j) for r in every for j in range(self.outputs[r]) if kind in lengths]:
            self.wanted[r, j] = tuple({
                "allgather": [(j // k, j % k)], "gather": [(j // k, j % k)],
                "alltoall": [(j // k, r * k + j % k)], "scatter": [(root, r * k + j)],
                "reducescatter": [(q, r * k + j) for q in every], "broadcast": [(root, j)],
                "sendrecv": [((r - step) % ranks, j)]}.get(kind, [(q, j) for q in every]))

    def place(self, same, rank, buffer, index):
        if buffer == "s" or not same:
            return rank, buffer, index
        return rank, "b", index + (self.shift[rank][1] if buffer == self.shift[rank][0] else 0)

    def fill(self, memory, same, rank, event, known, launch=0):
        for j in range(self.inputs[rank]):
            value = ((rank, j + (launch << 20)),), hash((rank, j))
            memory.write(self.place(same, rank, "i", j), value, event, known)

    def compare(self, values):
        """`values` by rank and output slot."""
        trees = {}
        for (rank, j), wanted in self.wanted.items():
            if values[rank, j][0] != wanted:
                raise Found("wrong", f"output {j} of rank {rank}")
        for (rank, j), wanted in self.wanted.items():
            if trees.setdefault(wanted, values[rank, j][1]) != values[rank, j][1]:
                raise Found("order", f"output {j} of rank {rank}")

    def learn(self, values):
        """Promises what is there. Returns that as a collective in JSON."""
        chunks = collections.defaultdict(list)
        for (rank, j), (parts, _) in values.items():
            if parts != GARBAGE[0] and len({at for _, at in parts}) == 1:
                self.wanted[rank, j] = parts
                if j % self.unit == 0:
                    chunks[tuple(r for r, _ in parts), parts[0][1] // self.unit, j // self.unit].append(rank)
        if not chunks:
            raise Found("unknown", "promises nothing")
        return {"collective": "promised", "combining": any(len(pre) > 1 for pre, _, _ in chunks),
                "chunks": [{"pre": list(pre), "post": post, "input": at, "output": j}
                           for (pre, at, j), post in chunks.items()]}
