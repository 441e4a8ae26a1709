"""What the ranks of a process group agree on before they go on together. A rank's word lies in the store of
the processes, so those that wait name the ranks that are missing within seconds; what fails on one rank is
raised on all, with its number."""

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
    """The words of all ranks of a group, by rank; called by all. `doing` is what a rank is missed for.
    ConnectionError names ranks that have ended or do not come."""
    numbers = [global_rank(group, each) for each in range(dist.get_world_size(group))]
    own, store = numbers[dist.get_rank(group)], dist.distributed_c10d._get_default_store()
    place = id(store), "-".join(map(str, numbers))

    def key(number, back=0):
        return f"chorale/{place[1]}/{_met[place] - back}/{number}"

    _say(store, f"chorale/process/{own}", _process())
    _say(store, key(own), mine)
    begin, told, missing = time.monotonic(), 0.0, numbers
    while missing:
        missing = [each for each in missing if not _is_there(store, key(each))]
        waited = time.monotonic() - begin
        if missing and waited > told + PATIENCE:
            late = _ranks(missing)
            log.warning("rank %d waits for %s since %.0f s, %s", own, late, waited, doing)
            told = waited
            if waited > LIMIT:
                raise ConnectionError(f"{late} did not come in {waited:.0f} s, {doing}")
            for each in missing:
                if _has_ended(store, f"chorale/process/{each}"):
                    raise ConnectionError(f"rank {each} has ended, and others wait for it {doing}")
        time.sleep(min(0.02, waited / 10))
    result = [_word(store, key(each)) for each in numbers]
    for each in (key(own, 1), _said(key(own, 1))):  # all have read it
        store.delete_key(each)
    _met[place] += 1
    return result


def _said(key):
    return f"{key}/said"


def _say(store, key, word):
    store.set(key, pickle.dumps(word).hex())
    store.add(_said(key), 1)


def _is_there(store, key):
    """Asked of a counter: before PyTorch 2.3 a store has no check(), and after a wait() that was in vain an
    answer comes late, which the next question takes for its own."""
    return store.add(_said(key), 0) > 0


def _word(store, key):
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
    there, here = _word(store, key), _process()
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
    """From now on, what ranks wait in for longer than PATIENCE is named on all ranks of their group, with those
    that are missing there."""
    store = dist.distributed_c10d._get_default_store()
    if store in _watched:
        return
    _watched.append(store)
    ended = threading.Event()
    looks = threading.Thread(target=_looks, args=(store, dist.get_rank(), dist.get_world_size(), ended), daemon=True)
    atexit.register(lambda: (ended.set(), looks.join(PATIENCE)))
    looks.start()


def _looks(store, own, ranks, ended):
    shown, before, told = None, None, None
    try:
        while not ended.wait(PATIENCE / 4):
            late = [each for each in list(_waits.values()) if time.monotonic() - each.since > PATIENCE]
            mine = (late[0].ranks, late[0].doing) if late else None
            if mine != shown:
                _say(store, f"chorale/wait/{own}", mine)
                store.add("chorale/waits", bool(mine) - bool(shown))
                shown = mine
            if store.add("chorale/waits", 0) <= 0:
                before = told = None
                continue
            words = _waiting(store, own, range(ranks))
            if words == before != told:  # twice in a row: all have given their word
                log.warning("%s", words)
                told = words
            before = words
    except RuntimeError:  # the store is gone
        pass


def _waiting(store, own, ranks):
    """Where ranks of groups that have the rank `own` wait."""
    at = collections.defaultdict(list)
    for rank in ranks:
        word = _word(store, f"chorale/wait/{rank}")
        if word is not None and own in word[0]:
            at[word].append(rank)
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
    """What `act` gives on each rank of a group, by rank. An error on one rank is raised on all: its own there,
    a Disagreement elsewhere."""
    made = fault = error = None
    try:
        made = act()
    except Exception as caught:
        error, fault = caught, str(caught) or type(caught).__name__
    words = everyone((made, fault), group, doing)
    if error is not None:
        raise error
    for rank, (_, fault) in enumerate(words):
        if fault is not None:
            raise Disagreement(f"rank {global_rank(group, rank)}: {fault}")
    return [made for made, _ in words]
