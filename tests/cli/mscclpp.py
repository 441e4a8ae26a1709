"""A simulator of MSCCL++ execution plans, written from the executor's rules and sharing nothing with the
printer: puts land at once, signals are counted, operations of a thread block see each other's writes only
after `nop`. Used by emit.py.
"""
import collections
import random

LIMITS = {"ops": 64, "channels": 16, "per_op": 8}


def contributions(collective, ranks, chunks_per_block):
    """(rank, output slot) -> Counter of (rank, input slot) for the collectives by name; root 0."""
    k, wanted = chunks_per_block, {}
    for r in range(ranks):
        for c in range(k):
            for b in range(ranks):
                one = collections.Counter
                if collective == "allgather":
                    wanted[r, b * k + c] = one({(b, c): 1})
                elif collective == "alltoall":
                    wanted[r, b * k + c] = one({(b, r * k + c): 1})
                elif collective == "reducescatter":
                    wanted[r, c] = one({(q, r * k + c): 1 for q in range(ranks)})
                elif collective == "allreduce":
                    wanted[r, c] = one({(q, c): 1 for q in range(ranks)})
                elif collective == "broadcast":
                    wanted[r, c] = one({(0, c): 1})
                elif collective == "reduce" and r == 0:
                    wanted[r, c] = one({(q, c): 1 for q in range(ranks)})
                elif collective == "gather" and r == 0:
                    wanted[r, b * k + c] = one({(b, c): 1})
                elif collective == "scatter":
                    wanted[r, c] = one({(0, r * k + c): 1})
    return wanted


def simulate(plan, seed):
    """Runs the plan twice, as two launches; raises AssertionError at the first broken rule."""
    generator = random.Random(seed)
    for key in ["name", "collective", "protocol", "inplace", "gpus"]:
        assert key in plan, key
    gpus = plan["gpus"]
    ranks = len(gpus)
    memory = [collections.defaultdict(lambda: None) for _ in gpus]
    chunks = {"i": "input_chunks", "o": "output_chunks", "s": "scratch_chunks"}
    # The k-th channel to a peer meets the peer's k-th channel to us.
    channel_ends = []
    for gpu in gpus:
        for key in ["id", "input_chunks", "output_chunks", "scratch_chunks", "threadblocks", "channels", "remote_buffers"]:
            assert key in gpu, key
        seen, ends = collections.Counter(), []
        for group in gpu["channels"]:
            assert group["channel_type"] == "memory"
            for peer in group["connected_to"]:
                ends.append((peer, seen[peer]))
                seen[peer] += 1
        channel_ends.append(ends)
    arrived = collections.Counter()  # (rank, peer, occurrence): signals that the rank may still wait for
    users = collections.defaultdict(set)  # (rank, buffer, slot) -> thread blocks that touch it

    def slots(rank, place):
        buffer = place["type"]
        assert 0 <= place["index"] and place["index"] + place["size"] <= gpus[rank][chunks[buffer]], (rank, place)
        return [(buffer, place["index"] + i) for i in range(place["size"])]

    class Block:
        def __init__(self, rank, tb):
            self.rank, self.tb, self.next = rank, tb, 0
            self.fresh, self.put, self.waited = set(), False, False
            ids = [i for group in tb["channels"] for i in group["channel_ids"]]
            self.ends = [channel_ends[rank][i] for i in ids]
            self.remote = [gpus[rank]["remote_buffers"][i] for group in tb["remote_buffer_refs"] for i in group["remote_buffer_ids"]]
            assert len(tb["ops"]) <= LIMITS["ops"] and len(ids) <= LIMITS["channels"] and len(self.remote) <= LIMITS["channels"]

        def read(self, place):
            result = []
            for slot in slots(self.rank, place):
                assert slot not in self.fresh and not self.waited, (self.rank, self.tb["id"], self.next, "no nop before", slot)
                value = memory[self.rank][slot]
                assert value is not None, (self.rank, slot, "never written")
                if slot[0] != "i":
                    users[self.rank, slot].add(self.tb["id"])
                result.append(value)
            return result

        def write(self, place, values):
            for slot, value in zip(slots(self.rank, place), values, strict=True):
                assert slot[0] != "i" and slot not in self.fresh, (self.rank, slot, "written again without nop")
                users[self.rank, slot].add(self.tb["id"])
                memory[self.rank][slot] = value
                self.fresh.add(slot)

        def write_far(self, place, values):
            target = self.remote[place["buffer_id"]]
            place = {"type": target["type"], "index": place["index"], "size": place["size"]}
            for slot, value in zip(slots(target["rank"], place), values, strict=True):
                memory[target["rank"]][slot] = value
            self.put = True

        def step(self):
            """Does the next operation, if it can."""
            op = self.tb["ops"][self.next]
            name, channels = op["name"], [self.ends[i] for i in op.get("channel_ids", [])]
            assert len(channels) <= LIMITS["per_op"]
            if name in ("wait", "rlxwait"):
                if any(arrived[self.rank, peer, k] == 0 for peer, k in channels):
                    return False
                for peer, k in channels:
                    arrived[self.rank, peer, k] -= 1
                self.waited = True
            elif name in ("signal", "rlxsignal"):
                assert not self.put, (self.rank, self.tb["id"], "signals before its threads have met")
                for peer, k in channels:
                    arrived[peer, self.rank, k] += 1
            elif name == "nop":
                self.fresh, self.put, self.waited = set(), False, False
            elif name == "put":
                assert self.remote[op["dst_buff"][0]["buffer_id"]]["rank"] == channels[0][0], "the buffer is another rank's than the channel"
                self.write_far(op["dst_buff"][0], self.read(op["src_buff"][0]))
            elif name in ("copy", "re", "res"):
                assert name != "copy" or len(op["src_buff"]) == 1
                assert name == "res" or len(op["dst_buff"]) == 1
                columns = [self.read(place) for place in op["src_buff"]]
                values = [sum(parts, collections.Counter()) for parts in zip(*columns, strict=True)]
                self.write(op["dst_buff"][0], values)
                for place in op["dst_buff"][1:]:
                    self.write_far(place, values)
            else:
                raise AssertionError(f"unknown operation {name}")
            self.next += 1
            return True

    per_block = {"allgather": "input_chunks", "reducescatter": "output_chunks", "allreduce": "input_chunks", "broadcast": "output_chunks",
                 "reduce": "input_chunks", "gather": "input_chunks", "scatter": "output_chunks"}
    k = gpus[0]["input_chunks"] // ranks if plan["collective"] == "alltoall" else gpus[0][per_block[plan["collective"]]]
    wanted = contributions(plan["collective"], ranks, k)
    same = plan["collective"] in ("broadcast",)
    for launch in range(2):
        for rank, gpu in enumerate(gpus):
            for slot in range(gpu["input_chunks"]):
                memory[rank]["i", slot] = collections.Counter({(0 if same else rank, slot): 1})
        blocks = [Block(rank, tb) for rank, gpu in enumerate(gpus) for tb in gpu["threadblocks"]]
        running = list(blocks)
        while running:
            generator.shuffle(running)
            # Each runs for a while, some much longer than others.
            moved = False
            for block in running:
                for _ in range(generator.choice([1, 2, 8, 64])):
                    if block.next == len(block.tb["ops"]) or not block.step():
                        break
                    moved = True
            running = [b for b in running if b.next < len(b.tb["ops"])]
            assert moved or not running, f"hangs: {[(b.rank, b.tb['id'], b.tb['ops'][b.next]['name']) for b in running[:3]]}"
        assert not +arrived, f"signals left over: {+arrived}"
        for (rank, slot), sums in wanted.items():
            assert memory[rank]["o", slot] == sums, (rank, slot, memory[rank]["o", slot], sums)
    for where, who in users.items():
        assert len(who) == 1, (where, "is touched by thread blocks", who)
