"""What the ranks of a process group agree on before they go on together. A rank's word lies in the store of
the processes, so those that wait name the ranks that are missing within seconds; what fails on one rank is
raised on all, with its number."""

import collections
import os
import pathlib
import pickle
import time

import torch.distributed as dist

from chorale.exchanges import global_rank
from chorale.logs import log

PATIENCE = 5.0                # seconds after which those that wait name the ranks that are missing
LIMIT = 1800.0                # seconds after which they give up
_met = collections.Counter()  # how often the ranks of a group have met


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

    store.set(f"chorale/process/{own}", pickle.dumps(_process()).hex())
    store.set(key(own), pickle.dumps(mine).hex())
    begin, told, missing = time.monotonic(), 0.0, numbers
    while missing:
        missing, waited = [each for each in missing if not store.check([key(each)])], time.monotonic() - begin
        if missing and waited > told + PATIENCE:
            late = ("rank " if len(missing) == 1 else "ranks ") + ", ".join(map(str, missing))
            log.warning("rank %d waits for %s since %.0f s, %s", own, late, waited, doing)
            told = waited
            if waited > LIMIT:
                raise ConnectionError(f"{late} did not come in {waited:.0f} s, {doing}")
            for each in missing:
                if _has_ended(store, f"chorale/process/{each}"):
                    raise ConnectionError(f"rank {each} has ended, and others wait for it {doing}")
        time.sleep(min(0.02, waited / 10))
    result = [pickle.loads(bytes.fromhex(store.get(key(each)).decode())) for each in numbers]
    store.delete_key(key(own, 1))  # all have read it
    _met[place] += 1
    return result


def _process():
    """The machine, as processes see it, and this process."""
    try:
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text()
        return boot, os.stat("/proc/self/ns/pid").st_ino, os.getpid()
    except OSError:
        return None


def _has_ended(store, key):
    """Whether a process of this machine has; False of others."""
    there, here = pickle.loads(bytes.fromhex(store.get(key).decode())) if store.check([key]) else None, _process()
    if there is None or here is None or there[:2] != here[:2]:
        return False
    try:
        return pathlib.Path(f"/proc/{there[2]}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


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
