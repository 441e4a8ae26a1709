"""Launches of MSCCL++'s executor: blocks that store into memory of peers, signals, packets, proxies of ports.

Threads of a block meet at `nop` alone: what was done since the last one is known to nobody of the block. The
user of a rank writes the input before a launch and reads the output after it.
"""
import collections

from machine import Found, Memory, added

# From which operand on sources and destinations are packets, which take twice the room and carry a flag.
PACKETS = {"ppkt": (9, 0), "rppkt": (0, 0), "upkt": (0, 9), "cpkt": (9, 0), "repkt": (1, 9), "respkt": (1, 1),
           "recpkt": (1, 1), "recspkt": (1, 1), "gstorepkt": (0, 0)}
PAIRS = ("put", "get", "ppkt", "pws", "pwsf")
MOVES = (*PACKETS, *PAIRS, "copy", "re", "res", "rre", "rres", "glres", "gstore")


class Launches:
    """A plan that runs several times."""

    def __init__(self, plan, same, strict, number):
        self.plan, self.same, self.strict, self.number = plan, same, strict, number
        self.memory, self.values = Memory(), [{} for _ in range(number)]
        self.start = [[] for _ in plan.gpus]  # what is known when a launch begins
        self.done = collections.defaultdict(list)
        self.signals, self.waits = collections.defaultdict(list), collections.Counter()
        self.asked, self.answers = collections.defaultdict(collections.deque), collections.Counter()
        self.requests, self.served = collections.Counter(), collections.defaultdict(int)
        self.flags = {}  # of packets: launch and what is known
        self.running = len(plan.gpus)
        self.ends = [{kind: self.ends_of(gpu, kind) for kind in ("memory", "port")} for gpu in plan.gpus]
        self.groups = [[(group["ranks"], entry.get("buffer_type", entry.get("buff")))
                        for entry in gpu["channels"] for group in entry.get("rank_groups", [])]
                       for gpu in plan.gpus]

    @staticmethod
    def ends_of(gpu, kind):
        """Peer and how many channels to it there are before, by channel."""
        peers = [peer for entry in gpu["channels"] if entry["channel_type"] == kind
                 for peer in entry["connected_to"]]
        return [(peer, peers[:i].count(peer)) for i, peer in enumerate(peers)]

    def blocks(self):
        for rank, gpu in enumerate(self.plan.gpus):
            yield self.user(rank, gpu)
            yield from (self.block(rank, gpu, block) for block in gpu["threadblocks"])
            yield from (self.proxy(rank, i) for i in range(len(self.ends[rank]["port"])))

    def user(self, rank, gpu):
        known, promise = 0, self.plan.promise
        for launch in range(self.number):
            event = self.memory.event()
            promise.fill(self.memory, self.same, rank, event, known, launch)
            known |= 1 << event
            self.start[rank].append(known)
            done = self.done[rank, launch]
            yield lambda done=done: len(done) == len(gpu["threadblocks"])
            for mask in done:
                known |= mask
            if not self.strict:
                for port in range(len(self.ends[rank]["port"])):
                    yield lambda port=port: self.answers[rank, port] == self.requests[rank, port]
                    known |= self.served[rank, port]
            event = self.memory.event()
            for j in range(promise.outputs[rank]):
                slot = promise.place(self.same, rank, "o", j)
                parts, tree = self.memory.read(slot, event, known)
                self.values[launch][rank, j] = tuple((r, at - (launch << 20)) for r, at in parts), tree
            known |= 1 << event
            yield None
        self.running -= 1

    def balance(self):
        for end, times in self.waits.items():
            if times and times != len(self.signals[end]) and end[1] != "semaphore":
                raise Found("wrong", "launches drift apart")

    def proxy(self, rank, port):
        """Does one request after the other; what it knows grows."""
        queue, known = self.asked[rank, port], 0
        while True:
            yield lambda: queue or not self.running
            if not queue:
                return
            mask, moves, signal = queue.popleft()
            known |= mask
            for source, target, packets in moves:
                event = self.memory.event()
                carried = [self.memory.read(slot, event, known) for slot in source]
                for slot, value, old in zip(target, carried, source):
                    self.memory.write(slot, value, event, known)
                    if packets and old in self.flags:
                        self.flags[slot] = self.flags[old][0], known | 1 << event
                known |= 1 << event
            if signal:
                self.signals[signal].append(known)
            self.served[rank, port] = known
            self.answers[rank, port] += 1

    def block(self, rank, gpu, block):
        for launch in range(self.number):
            yield lambda launch=launch: len(self.start[rank]) > launch
            state = Threads(self, rank, gpu, block, launch)
            for op in block["ops"]:
                units = self.plan.pieces if self.plan.room else 2
                for unit in range(units) if op["name"] == "pipeline" else (None,):
                    for inner in op["ops"] if op["name"] == "pipeline" else (op,):
                        yield from state.operation(inner, unit, units)
                        yield None
            self.done[rank, launch].append(state.later)


class Threads:
    """Those of a block in a launch. `base` is known to all of them, `later` to one or another."""

    def __init__(self, launches, rank, gpu, block, launch):
        self.all, self.rank, self.gpu, self.launch = launches, rank, gpu, launch
        self.base = self.later = launches.start[rank][launch]
        self.ids = {kind: [i for each in block["channels"] if each["channel_type"] == kind
                           for i in each["channel_ids"]] for kind in ("memory", "port", "switch")}
        self.remotes = {each["access_channel_type"]: each["remote_buffer_ids"]
                        for each in block.get("remote_buffer_refs", [])}

    def end(self, kind, channel, mine):
        """Of a channel: here, or at the peer."""
        peer, before = self.all.ends[self.rank][kind][self.ids[kind][channel]]
        return (self.rank, kind, peer, before) if mine else (peer, kind, self.rank, before)

    def operation(self, op, unit, units):
        name, kind = op["name"], op.get("channel_type")
        if name == "nop":
            self.base = self.later
        elif name in ("signal", "rlxsignal"):
            for channel in op["channel_ids"]:
                if kind == "port":
                    self.ask(channel, [], self.end(kind, channel, False))
                else:
                    data = name == "signal" or not self.all.strict
                    known = self.base if data else self.all.start[self.rank][self.launch]
                    self.all.signals[self.end(kind, channel, False)].append(known)
        elif name in ("wait", "rlxwait"):
            for channel in op["channel_ids"]:
                yield from self.wait(self.end(kind, channel, True), 0)
        elif name == "flush":
            for channel in op["channel_ids"]:
                yield from self.flush(channel)
        elif name == "sem_release":
            for i in op["semaphore_ids"]:
                self.all.signals[self.rank, "semaphore", i].append(self.base)
        elif name == "sem_acquire":
            for i in op["semaphore_ids"]:
                yield from self.wait((self.rank, "semaphore", i), self.gpu["semaphores"][i]["init_value"])
        elif name == "barrier":
            arrived, count = self.all.signals[self.rank, "barrier", op["barrier_id"]], op["num_threadblocks"]
            first = len(arrived) // count * count
            arrived.append(self.later)
            yield lambda: len(arrived) >= first + count
            for mask in arrived[first:first + count]:
                self.later |= mask
            self.base = self.later
        elif name in MOVES:
            yield from self.move(op, unit, units)
        else:
            raise Found("unknown", name)

    def wait(self, end, free):
        turn = self.all.waits[end] - free
        self.all.waits[end] += 1
        signals = self.all.signals[end]
        yield lambda: len(signals) > turn
        if turn >= 0:
            self.later |= signals[turn]

    def ask(self, channel, moves, signal):
        port = self.rank, self.ids["port"][channel]
        self.all.asked[port].append((self.base, moves, signal))
        self.all.requests[port] += 1

    def flush(self, channel):
        port = self.rank, self.ids["port"][channel]
        turn = self.all.requests[port]
        yield lambda: self.all.answers[port] >= turn
        self.later |= self.all.served[port]

    @staticmethod
    def by_proxy(op):
        return op.get("channel_type") == "port" and op["name"] in (*PAIRS, "rppkt")

    def places(self, op, key, unit, units):
        """By operand: lists of slots, one for each rank that has it; whether they are packets."""
        plan, first = self.all.plan, PACKETS.get(op["name"], (9, 9))[key == "dst_buff"]
        for i, place in enumerate(op[key]):
            ranks, buffer = [self.rank], place.get("type")
            if "buffer_id" in place:
                numbers = self.remotes.get("port" if self.by_proxy(op) else "memory", [])
                if place["buffer_id"] >= len(numbers):
                    raise Found("wrong", op["name"] + " without such a buffer")
                remote = self.gpu["remote_buffers"][numbers[place["buffer_id"]]]
                ranks, buffer = [remote["rank"]], remote["type"]
            elif "switch_channel_id" in place:
                ranks, buffer = self.all.groups[self.rank][self.ids["switch"][place["switch_channel_id"]]]
            whole, group = place["size"] * plan.pieces, op.get("tbg_info", {"tbg_size": 1, "tb_id": 0})
            start, count = place["index"] * plan.pieces, whole // group["tbg_size"]
            start += group["tb_id"] * count
            if unit is not None:
                count = 1 if plan.room else whole // units
                start += unit * count
                if plan.room and buffer == "s":
                    start = place["index"] * plan.room + unit % plan.room
            packets = i >= first
            if op["name"] == "ppkt" and self.by_proxy(op) and not packets:
                if buffer != "s":
                    raise Found("wrong", "ppkt over a port takes its source for packets")
                packets = True
            yield [self.slots(rank, buffer, start, count, packets) for rank in ranks], i >= first

    def slots(self, rank, buffer, start, count, packets):
        plan = self.all.plan
        most = plan.gpus[rank]["scratch_chunks"] * (plan.room or plan.pieces) if buffer == "s" else (
            plan.promise.inputs if buffer == "i" else plan.promise.outputs)[rank]
        if start + count > most:
            raise Found("wrong", "beyond a buffer")
        if buffer != "s":
            return [plan.promise.place(self.all.same, rank, buffer, start + n) for n in range(count)]
        half = self.launch % 2 if plan.double else 0
        return [(rank, f"s{half}", (start + n) * (2 if packets else 1)) for n in range(count)]

    def move(self, op, unit, units):
        name, memory, flags = op["name"], self.all.memory, self.all.flags
        sources = list(self.places(op, "src_buff", unit, units))
        targets = list(self.places(op, "dst_buff", unit, units))
        if name == "get" and [a["index"] for a in op["src_buff"]] != [b["index"] for b in op["dst_buff"]]:
            raise Found("wrong", "get exchanges offsets")
        awaited = [slot for lists, packets in sources if packets for slots in lists for slot in slots]
        yield lambda: all(flags.get(slot, (-1, 0))[0] == self.launch for slot in awaited)
        known = self.base
        for slot in awaited:
            known |= flags[slot][1]
        if self.by_proxy(op):
            self.later |= known
            if name == "rppkt":
                self.base = self.later
            channels = op.get("channel_ids", [0] * len(targets))
            for i, (lists, packets) in enumerate(targets):
                source = sources[i if name in PAIRS else 0][0][0]
                signal = self.end("port", channels[i], False) if name in ("pws", "pwsf") else None
                self.ask(channels[i], [(source, lists[0], packets)], signal)
            for channel in channels if name == "pwsf" else []:
                yield from self.flush(channel)
            return
        event = memory.event()
        read = [[[memory.read(slot, event, known) for slot in slots] for slots in lists]
                for lists, _ in sources]
        for i, (lists, packets) in enumerate(targets):
            result = read[i][0] if name in PAIRS else self.total(name, read)
            for slots in lists:
                for slot, value in zip(slots, result):
                    if name == "gstorepkt" and slot in awaited:
                        continue
                    memory.write(slot, value, event, known)
                    if packets:
                        flags[slot] = self.launch, known | 1 << event
        self.later |= known | 1 << event

    @staticmethod
    def total(name, read):
        """Of packets, what is local comes last; of a switch, in no order."""
        lists = [values for each in read for values in each]
        lists = lists[1:] + lists[:1] if name in PACKETS else lists
        result = lists[0]
        for values in lists[1:]:
            result = [added(a, b) for a, b in zip(result, values)]
        if name == "glres":
            result = [(parts, hash(parts)) for parts, _ in result]
        return result
