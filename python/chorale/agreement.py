"""What the ranks of a process group agree on before they go on together. A rank's message lies in the store
of the processes, so those that wait name the ranks that are missing within seconds; what fails on one rank
is raised on all, with its number."""

import atexit
import collections
import os
import pathlib
import pickle
import threading
import time

import torch.distributed as dist

from chorale.exchanges import global_rank
from chorale.logs import log

PATIENCE = 5.0                # seconds after which those that wait name the ranks that are missing
LIMIT = 1800.0                # seconds after which they give up
_met = collections.Counter()  # how often the ranks of a group have met
_waits, _watched = {}, []     # what each thread waits in; the stores that are watched


class Disagreement(RuntimeError):
    """What another rank could not do, with its number."""


def everyone(mine, group, doing):
    """The messages of all ranks of a group, by rank; called by all. `doing` is what a rank is missed for.
    ConnectionError names ranks that have ended or do not come."""
    numbers = [global_rank(group, each) for each in range(dist.get_world_size(group))]
    own, store = numbers[dist.get_rank(group)], dist.distributed_c10d._get_default_store()
    place = id(store), "-".join(map(str, numbers))

    def key(number, back=0):
        return f"chorale/{place[1]}/{_met[place] - back}/{number}"

    _publish(store, f"chorale/process/{own}", _process())
    _publish(store, key(own), mine)
    begin, warned, missing = time.monotonic(), 0.0, numbers
    while missing:
        missing = [each for each in missing if not _is_there(store, key(each))]
        waited = time.monotonic() - begin
        if missing and waited > warned + PATIENCE:
            late = _ranks(missing)
            log.warning("rank %d waits for %s since %.0f s, %s", own, late, waited, doing)
            warned = waited
            if waited > LIMIT:
                raise ConnectionError(f"{late} did not come in {waited:.0f} s, {doing}")
            for each in missing:
                if _has_ended(store, f"chorale/process/{each}"):
                    raise ConnectionError(f"rank {each} has ended, and others wait for it {doing}")
        time.sleep(min(0.02, waited / 10))
    result = [_message(store, key(each)) for each in numbers]
    for each in (key(own, 1), _count_key(key(own, 1))):  # all have read it
        store.delete_key(each)
    _met[place] += 1
    return result


def _count_key(key):
    return f"{key}/count"


def _publish(store, key, message):
    store.set(key, pickle.dumps(message).hex())
    store.add(_count_key(key), 1)


def _is_there(store, key):
    """Asked of a counter: before PyTorch 2.3 a store has no check(), and after a wait() that was in vain an
    answer comes late, which the next question takes for its own."""
    return store.add(_count_key(key), 0) > 0


def _message(store, key):
    return pickle.loads(bytes.fromhex(store.get(key).decode())) if _is_there(store, key) else None


def _process():
    """The machine, as processes see it, and this process."""
    try:
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text()
        return boot, os.stat("/proc/self/ns/pid").st_ino, os.getpid()
    except OSError:
        return None


def _has_ended(store, key):
    """Whether a process of this machine has; False of others."""
    there, here = _message(store, key), _process()
    if there is None or here is None or there[:2] != here[:2]:
        return False
    try:
        return pathlib.Path(f"/proc/{there[2]}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


class Wait:
    """A call in which this rank may wait for others of its group, whose numbers in the world are `ranks`."""

    def __init__(self, doing, ranks):
        self.doing, self.ranks = doing, ranks

    def __enter__(self):
        self.since = time.monotonic()
        _waits[threading.get_ident()] = self

    def __exit__(self, *_):
        del _waits[threading.get_ident()]


def watch():
    """From now on, what ranks wait in for longer than PATIENCE is named on all ranks of their group, with
    those that are missing there."""
    store = dist.distributed_c10d._get_default_store()
    if store in _watched:
        return
    _watched.append(store)
    ended = threading.Event()
    watcher = threading.Thread(target=_report_waits,
                               args=(store, dist.get_rank(), dist.get_world_size(), ended),
                               daemon=True)
    atexit.register(lambda: (ended.set(), watcher.join(PATIENCE)))
    watcher.start()


def _report_waits(store, own, ranks, ended):
    published, before, reported = None, None, None
    try:
        while not ended.wait(PATIENCE / 4):
            late = [each for each in list(_waits.values()) if time.monotonic() - each.since > PATIENCE]
            mine = (late[0].ranks, late[0].doing) if late else None
            if mine != published:
                _publish(store, f"chorale/wait/{own}", mine)
                store.add("chorale/waits", bool(mine) - bool(published))
                published = mine
            if store.add("chorale/waits", 0) <= 0:
                before = reported = None
                continue
            waits = _waiting(store, own, range(ranks))
            if waits == before != reported:  # twice in a row: all have published
                log.warning("%s", waits)
                reported = waits
            before = waits
    except RuntimeError:  # the store is gone
        pass


def _waiting(store, own, ranks):
    """Where ranks of groups that have the rank `own` wait."""
    at = collections.defaultdict(list)
    for rank in ranks:
        message = _message(store, f"chorale/wait/{rank}")
        if message is not None and own in message[0]:
            at[message].append(rank)
    there = {rank for found in at.values() for rank in found}
    lines = []
    for (group, doing), found in at.items():
        missing = [rank for rank in group if rank not in there]
        lines.append(f"{_ranks(found)} waited {PATIENCE:g} s in {doing}" +
                     (f" for {_ranks(missing)}" if missing else ""))
    return "; ".join(lines)


def _ranks(numbers):
    return ("rank " if len(numbers) == 1 else "ranks ") + ", ".join(map(str, numbers))


def together(act, group, doing):
    """What `act` gives on each rank of a group, by rank. An error on one rank is raised on all: its own
    there, a Disagreement elsewhere."""
    made = fault = error = None
    try:
        made = act()
    except Exception as caught:
        error, fault = caught, str(caught) or type(caught).__name__
    messages = everyone((made, fault), group, doing)
    if error is not None:
        raise error
    for rank, (_, fault) in enumerate(messages):
        if fault is not None:
            raise Disagreement(f"rank {global_rank(group, rank)}: {fault}")
    return [made for made, _ in messages]
