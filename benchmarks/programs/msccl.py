"""Algorithms of MSCCL (XML): blocks with queues between ranks."""
import collections
import xml.etree.ElementTree as ElementTree

from machine import GARBAGE, Found, Memory, Promise, added, run

DEPTH = 2  # messages that a queue of the executor holds at least
RECEIVES, SENDS = ("r", "rcs", "rrc", "rrs", "rrcs"), ("s", "rcs", "rrs", "rrcs")
READS, STORES = ("s", "rrc", "rrs", "rrcs", "cpy", "re"), ("r", "rcs", "rrc", "rrcs", "cpy", "re")


def numbers(element, *keys):
    return [int(element.get(key, "0")) for key in keys]


class Xml:
    """The first algorithm of a file. A step waits for a step of another block, or the next one there that
    raises its flag (hasdep): the others tell nobody that they are done."""

    faults = ("offsets", "dependence", "send", "receive", "flag")

    def __init__(self, text):
        self.algo = ElementTree.fromstring(text[:text.index("</algo>") + len("</algo>")])
        ranks, chunks, root = numbers(self.algo, "ngpus", "nchunksperloop", "root")
        self.gpus = sorted(self.algo.iter("gpu"), key=lambda gpu: int(gpu.get("id")))
        kind = self.algo.get("coll")
        whole = kind in ("allgather", "alltoall", "reducescatter", "gather", "scatter")
        same = self.algo.get("inplace", "0") != "0"
        sizes = [[numbers(gpu, key)[0] or (max(numbers(gpu, "i_chunks", "o_chunks")) if same else 0)
                  for gpu in self.gpus] for key in ("i_chunks", "o_chunks")]
        self.promise = Promise(kind, ranks, chunks // ranks if whole else chunks, root, sizes)
        outside = self.algo.get("outofplace", "0" if same else "1") != "0"
        self.modes = [mode for mode, there in ((False, outside), (True, same)) if there]

    def text(self):
        return ElementTree.tostring(self.algo, encoding="unicode")

    def mutate(self, fault, chance):
        """Whether there is anything of the kind."""
        steps = [(r, b, step) for r, gpu in enumerate(self.gpus) for b, tb in enumerate(gpu.iter("tb"))
                 for step in tb.iter("step")]
        if fault == "offsets":
            key, types = chance.choice((("srcoff", READS), ("dstoff", STORES)))
            places = [(r, step.get(key[:3] + "buf"), step) for r, _, step in steps
                      if step.get("type") in types]
            pairs = [(a, b) for r, buffer, a in chance.sample(places, min(len(places), 40))
                     for q, other, b in places if (r, buffer) == (q, other) and a.get(key) != b.get(key)]
            if pairs:
                a, b = chance.choice(pairs)
                first, second = a.get(key), b.get(key)
                a.set(key, second), b.set(key, first)
            return bool(pairs)
        waiting = [(r, step) for r, _, step in steps if numbers(step, "depid")[0] >= 0]
        awaited = {(r, *numbers(step, "depid", "deps")) for r, step in waiting}
        fits, change = {
            "dependence": ([step for _, step in waiting], {"depid": "-1", "deps": "-1"}),
            "send": ([step for _, _, step in steps if step.get("type") == "s"], {"type": "nop"}),
            "receive": ([step for _, _, step in steps if step.get("type") == "r"], {"type": "nop"}),
            "flag": ([step for r, b, step in steps if (r, b, numbers(step, "s")[0]) in awaited],
                     {"hasdep": "0"})}[fault]
        if fits:
            chance.choice(fits).attrib.update(change)
        return bool(fits)

    def outcome(self, same, chance):
        """Values of outputs after a run, the slot of a race, and that of one if signals are strict: none."""
        memory, queues = Memory(), collections.defaultdict(collections.deque)
        flags, blocks, start = collections.defaultdict(list), [], memory.event()
        for rank, gpu in enumerate(self.gpus):
            self.promise.fill(memory, same, rank, start, 0)
            most = {"i": self.promise.inputs[rank], "o": self.promise.outputs[rank],
                    "s": numbers(gpu, "s_chunks")[0]}
            for number, tb in enumerate(gpu.iter("tb")):
                blocks.append(self.block(memory, queues, flags, rank, number, tb, same, most, 1 << start))
        run(blocks, chance)
        if any(queues.values()):
            raise Found("wrong", "a message is not received")
        values = {(r, j): memory.values.get(self.promise.place(same, r, "o", j), GARBAGE)
                  for r, size in enumerate(self.promise.outputs) for j in range(size)}
        return values, memory.race, None

    def block(self, memory, queues, flags, rank, number, tb, same, most, known):
        send, receive, channel = numbers(tb, "send", "recv", "chan")
        source, target = queues[receive, rank, channel], queues[rank, send, channel]

        def slots(step, key, count):
            buffer, first = step.get(key + "buf"), int(step.get(key + "off"))
            if first < 0 or first + count > most[buffer]:
                raise Found("wrong", "beyond a buffer")
            return [self.promise.place(same, rank, buffer, first + n) for n in range(count)]

        for step in tb.iter("step"):
            count, other, awaited, raises = numbers(step, "cnt", "depid", "deps", "hasdep")
            kind, event = step.get("type"), memory.event()
            if other >= 0:
                raised = flags[rank, other]
                yield lambda raised=raised, awaited=awaited: raised and raised[-1][0] >= awaited
                known |= next(mask for at, mask in raised if at >= awaited)
            takes, gives = kind in RECEIVES, kind in SENDS
            if not (takes or gives or kind in ("cpy", "re", "nop")):
                raise Found("unknown", kind)
            if takes and receive < 0 or gives and send < 0:
                raise Found("wrong", "a block without the peer")
            room = DEPTH if gives else 1 << 30
            yield lambda takes=takes, room=room: (source or not takes) and len(target) < room
            result = None
            if takes:
                result, mask = source.popleft()
                known |= mask
                if len(result) != count:
                    raise Found("wrong", "a message of another length")
            for key in ["src"] * (kind in READS) + ["dst"] * (kind == "re"):
                own = [memory.read(slot, event, known) for slot in slots(step, key, count)]
                result = [added(a, b) for a, b in zip(result, own)] if result else own
            if kind in STORES:
                for slot, value in zip(slots(step, "dst", count), result):
                    memory.write(slot, value, event, known)
            known |= 1 << event
            if gives:
                target.append((result, known))
            if raises:
                flags[rank, number].append((numbers(step, "s")[0], known))
            yield None
