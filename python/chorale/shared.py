"""Memory that the ranks of a process group share where all are on one machine: each makes a heap, a file of
memory, and maps those of the others. Programs then read what other ranks send where it lies
(tensor/exchange/shared.h), and torch.distributed only carries what is agreed. Ranks of several machines, a
system without what this needs (Linux, Python 3.9) and CHORALE_SHM_DISABLE=1 on any rank leave all messages to
torch.distributed."""

import ctypes
import mmap
import os
import secrets
import select
import threading
import weakref

import torch
import torch.distributed as dist

from chorale.exchanges import carries

BYTES = 1 << 40  # of a heap; what is not used takes no memory. The second half is the library's
PAGE = 4096
TOKEN = 16       # bytes at the end of the first half, by which a heap is recognized
_rooms = {}      # by the ranks of a group


class Shared(ctypes.Structure):
    """As tensor/exchange/shared.h has it."""

    _fields_ = [("rank", ctypes.c_int), ("ranks", ctypes.c_int), ("bytes", ctypes.c_int64),
                ("heaps", ctypes.POINTER(ctypes.c_void_p)), ("places", ctypes.POINTER(ctypes.c_int64)),
                ("processes", ctypes.POINTER(ctypes.c_int))]


class Room:
    """The heaps of the ranks of a group, mapped here, and what of the own one is in use."""

    def __init__(self, rank, heaps, processes):
        self.rank, self.heaps, self.processes = rank, heaps, processes
        self.used, self.free, self.lock = PAGE, {}, threading.RLock()
        self.owner = os.getpid()  # what a fork of it drops is still in use
        self.addresses = [ctypes.addressof(ctypes.c_char.from_buffer(heap)) for heap in heaps]

    def take(self, count, again=False):
        """The place in the own heap of `count` bytes, which are zero, or, if they may have been used before,
        whatever."""
        size = -(-count // PAGE) * PAGE
        with self.lock:
            if again and self.free.get(size):
                return self.free[size].pop()
            place = self.used
            if place + size > BYTES // 2 - PAGE:
                raise MemoryError("the shared memory of a rank is used up")
            self.used += size
        return place

    def drop(self, place, count, keeps):
        if os.getpid() != self.owner:
            return
        if not keeps:
            self.heaps[self.rank].madvise(mmap.MADV_REMOVE, place, count)
        with self.lock:
            self.free.setdefault(-(-count // PAGE) * PAGE, []).append(place)

    def tensor(self, count, dtype, keeps=False):
        """A tensor in the own heap, of any numbers. Its memory is given back with it, or kept for the next
        one of this size."""
        size = count * torch.empty(0, dtype=dtype).element_size()
        if size == 0:
            return torch.zeros(count, dtype=dtype)
        place = self.take(size, again=True)
        bytes_ = memoryview(self.heaps[self.rank])[place:place + size]
        weakref.finalize(bytes_, self.drop, place, size, keeps).atexit = False
        return torch.frombuffer(bytes_, dtype=dtype)

    def is_whole(self):
        """Whether all processes are there."""
        ended = select.poll()
        for process in self.processes:
            if process >= 0:
                ended.register(process, select.POLLIN)
        return not ended.poll(0)

    def described(self, places):
        """For a library, with a line of each rank at these places; the arrays live as long as it does."""
        ranks = len(self.heaps)
        return Shared(self.rank, ranks, BYTES, (ctypes.c_void_p * ranks)(*self.addresses),
                      (ctypes.c_int64 * ranks)(*places), (ctypes.c_int * ranks)(*self.processes))


def room(group):
    """The room of a group, whose ranks all call this; None: messages go over torch.distributed."""
    if not carries(group, "cpu"):
        return None
    ranks = dist.get_world_size(group)
    key = tuple(dist.get_process_group_ranks(group or dist.group.WORLD)) if hasattr(
        dist, "get_process_group_ranks") else (id(group), ranks)
    if key not in _rooms or not _rooms[key].is_whole():
        made = _made(group, ranks)
        if made is None:
            return None
        _rooms[key] = made
    return _rooms[key]


def _made(group, ranks):
    rank = dist.get_rank(group)
    token, descriptor, heap_of_mine = secrets.token_bytes(TOKEN), -1, None
    try:
        if os.environ.get("CHORALE_SHM_DISABLE", "0") != "1":
            descriptor = os.memfd_create("chorale")
            os.ftruncate(descriptor, BYTES)
            own = mmap.mmap(descriptor, BYTES)
            own[BYTES // 2 - TOKEN:BYTES // 2] = token
            heap_of_mine = (os.getpid(), descriptor, token)
    except (OSError, AttributeError):
        pass
    everyone = [None] * ranks
    dist.all_gather_object(everyone, heap_of_mine, group=group)
    heaps, processes = [], []
    try:
        for other, (process, number, its_token) in enumerate(everyone if None not in everyone else ()):
            processes.append(os.pidfd_open(process) if other != rank else -1)
            with open(f"/proc/{process}/fd/{number}", "r+b", buffering=0) as file:
                heaps.append(own if other == rank else mmap.mmap(file.fileno(), BYTES))
            if heaps[-1][BYTES // 2 - TOKEN:BYTES // 2] != its_token:
                raise OSError("another machine's process")
    except (OSError, AttributeError, ValueError):
        heaps = []
    has = torch.tensor(float(len(heaps) == ranks))
    dist.all_reduce(has, dist.ReduceOp.MIN, group=group)  # all have mapped all, or none uses it
    if descriptor >= 0:
        os.close(descriptor)
    if has > 0:
        return Room(rank, heaps, processes)
    for process in processes:
        if process >= 0:
            os.close(process)
    return None
