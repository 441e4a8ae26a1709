#!/usr/bin/env python3
"""The library of emitted directories for serving engines (custom_allreduce.cu) as examples/custom_allreduce.py loads it, on the
stand-in for CUDA: 2 to 8 ranks, which are threads, by stores and by loads; all types; sizes that take several segments and
such as change the algorithm; in graphs that are replayed between other calls; after a failure. Every element is checked.

Usage: custom_allreduce.py CHORALE CXX SHIMS FLAGS, as tests/nccl/peers.py.
"""
import ctypes
import json
import pathlib
import re
import shutil
import struct
import sys
import threading

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1]), str(pathlib.Path(__file__).resolve().parents[2] / "examples")]
import custom_allreduce  # noqa: E402
from kit.program import refused, run, run_chorale, work  # noqa: E402

cxx, shims, ready = sys.argv[2], *(pathlib.Path(each).absolute() for each in sys.argv[3:5])
run(cxx, f"@{ready}/quick20", f"-I{shims / 'shim'}", f"-I{shims.parents[1]}", "-shared", shims / "shim/shim.cpp", "-o", "libshim.so")
shim = ctypes.CDLL(str(work / "libshim.so"), mode=ctypes.RTLD_GLOBAL)


def built(folder, *tables):
    """tables: the folder of an algorithm of several, and its number."""
    name = f"custom_allreduce{''.join(f'_{n}' for _, n in tables[:1])}.so"
    run(cxx, "-x", "c++", f"@{ready}/quick20", "-Wall", "-Wextra", "-Werror", "-DPATIENCE=5", f"-I{shims / 'shim'}", *(f"-I{folder / each}" for each, _ in tables), f"-I{folder}",
        "-shared", folder / "custom_allreduce.cu", "-o", folder / name)
    return folder


def emitted(name, *command, access="rates"):
    run_chorale(*command, "--json", f"{name}.json")
    return work / run_chorale("emit", f"{name}.json", "--target", "cuda", "--peer-access", access, "-o", name).splitlines()[-1]


FORMS = {"float32": ("f", 4), "float16": ("e", 2), "bfloat16": ("H", 2)}


class Tensor:
    def __init__(self, kind, values):
        self.width, self.dtype, self.count = FORMS[kind][1], kind, len(values)
        self.memory = ctypes.create_string_buffer(self.count * self.width + 64)
        self.at = (ctypes.addressof(self.memory) + 63) // 64 * 64
        self.put(values)

    def put(self, values):
        bits = [struct.unpack("<I", struct.pack("<f", v))[0] >> 16 for v in values] if self.dtype == "bfloat16" else values
        data = struct.pack(f"<{self.count}{FORMS[self.dtype][0]}", *bits)
        ctypes.memmove(self.at, data, len(data))

    def values(self):
        data = ctypes.string_at(self.at, self.count * self.width)
        values = struct.unpack(f"<{self.count}{FORMS[self.dtype][0]}", data)
        return [struct.unpack("<f", struct.pack("<I", v << 16))[0] for v in values] if self.dtype == "bfloat16" else list(values)

    def numel(self):
        return self.count

    def element_size(self):
        return self.width

    def is_contiguous(self):
        return True

    def data_ptr(self):
        return self.at


class Ranks:
    """Of a group: threads that meet."""

    def __init__(self, ranks):
        self.size, self.barrier, self.values = ranks, threading.Barrier(ranks), [None] * ranks

    def run(self, work_of):
        errors = []

        def one(rank):
            try:
                shim.cudaSetDevice(rank)
                work_of(rank, Stream(self, rank))
            except BaseException as error:
                errors.append(error)
                self.barrier.abort()
        threads = [threading.Thread(target=one, args=(n,)) for n in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise next((e for e in errors if not isinstance(e, threading.BrokenBarrierError)), errors[0])


class Stream:
    """What the hook asks of the engine, of one rank; and what engines do with graphs."""

    def __init__(self, ranks, rank):
        self.ranks, self.number, self.capturing = ranks, rank, False
        self.pointer = ctypes.c_void_p()
        assert shim.cudaStreamCreate(ctypes.byref(self.pointer)) == 0

    def empty_like(self, tensor):
        return Tensor(tensor.dtype, [99.0] * tensor.count)

    def stream(self):
        return self.pointer.value

    def is_capturing(self):
        return self.capturing

    def rank(self, group):
        return self.number

    def gather(self, group, value):
        self.ranks.values[self.number] = value
        self.ranks.barrier.wait()
        values = list(self.ranks.values)
        self.ranks.barrier.wait()
        return values

    def wait(self):
        assert shim.cudaStreamSynchronize(self.pointer) == 0

    def captured(self, calls):
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        assert shim.cudaStreamBeginCapture(self.pointer, 0) == 0
        self.capturing = True
        results = calls()
        self.capturing = False
        assert shim.cudaStreamEndCapture(self.pointer, ctypes.byref(graph)) == 0
        assert shim.cudaGraphInstantiate(ctypes.byref(executable), graph, ctypes.c_ulonglong(0)) == 0
        return executable, results


def inputs(rank, count, seed):
    return [float((e * (rank + 1) + seed) % 7 + rank) for e in range(count)]


def sums(ranks, count, seed):
    return [sum(each) for each in zip(*(inputs(n, count, seed) for n in range(ranks)))]


def right(ranks, tensor, seed):
    assert tensor.values() == sums(ranks, tensor.count, seed), (ranks, tensor.dtype, tensor.count, seed)
    return 1


def checked(ranks, folder, sizes, after=None):
    """Calls that were checked, of all ranks."""
    checks = []

    def work_of(rank, stream):
        hook = custom_allreduce.CustomAllreduce(None, folder=folder, after=after, runtime=stream, max_size=1 << 18, slices=2)
        done = 0
        for seed, (kind, count) in enumerate((kind, count) for count in sizes for kind in FORMS):
            source = Tensor(kind, inputs(rank, count, seed))
            out = hook.custom_all_reduce(source)
            stream.wait()
            done += right(ranks, out, seed)
        # A graph of three calls, of other types and sizes; other inputs each time, and calls between.
        kinds = list(FORMS)
        sources = [Tensor(kinds[i], inputs(rank, 8 * (i + 1), i)) for i in range(3)]
        with hook.capture():
            warm = hook.custom_all_reduce(sources[0])
            assert warm.values() == [99.0] * 8  # of a warm-up nothing is launched
            graph, outs = stream.captured(lambda: [hook.custom_all_reduce(each) for each in sources])
            try:
                hook.failed("")
                raise AssertionError("it has changed in a capture")
            except RuntimeError as error:
                assert "capture the graph again" in str(error)
        for turn in range(3):
            for i, source in enumerate(sources):
                source.put(inputs(rank, source.count, 10 * turn + i))
            assert shim.cudaGraphLaunch(graph, stream.pointer) == 0
            stream.wait()
            done += sum(right(ranks, out, 10 * turn + i) for i, out in enumerate(outs))
            source = Tensor("float32", inputs(rank, 12, turn))
            out = hook.all_reduce(source)
            stream.wait()
            done += right(ranks, out, turn)
        for what in [*(after or {}), *(name for name in hook.ready if name and name not in (after or {}))]:
            before = hook.current
            hook.failed(what)
            assert hook.current is not before
            out = hook.all_reduce(source)
            stream.wait()
            done += right(ranks, out, 2)
        try:
            hook.failed("rank 77")
            raise AssertionError("nothing is ready for it")
        except ValueError as error:
            assert "no algorithm is ready for the failure of 'rank 77'" in str(error)
        # What it leaves to the engine, and what it refuses.
        assert hook.custom_all_reduce(Tensor("float32", [0.0] * 3)) is None and hook.custom_all_reduce(Tensor("float32", [0.0] * (1 << 17))) is None
        try:
            hook.all_reduce(source, out=source)
            raise AssertionError("in place")
        except RuntimeError as error:
            assert "the output is the input" in str(error)
        assert not hook.is_stuck()
        checks.append(done)
    Ranks(ranks).run(work_of)
    return sum(checks)


done = 0
for ranks, machine, access in [(2, "full:2", "loads"), (3, "full:3", "stores"), (4, "rtx-pro-6000:1x4", "rates"), (8, "full:8", "loads")]:
    folder = built(emitted(f"direct{ranks}", "classic", "direct_allreduce", machine, access=access))
    pulls = "kLoadsFromPeers = true" in (folder / "out_of_place.h").read_text()
    assert pulls == (access != "stores"), machine  # loads are faster where PCI is of generation 5
    done += checked(ranks, folder, [8, 1024, 40000] if ranks < 8 else [8, 1024])

# A directory of several sizes, and one for the machine without a link.
run_chorale("optimize", "pcie:2x2", "allreduce", "--sizes", "4K,256K", "--effort", 2, "--target", "cuda", "-o", "box", "-q", code=(0, 3))
(sized,) = (work / "box").glob("*.cuda")
rows = [line.split() for line in (sized / "sizes.txt").read_text().splitlines()]
assert len(rows) >= 2 and rows[-1][1] == "-1", rows
for number, _ in rows:
    built(sized, (f"algorithm_{number}", number))
lost = built(emitted("lost", "frontier", "ring:4 without link 0-1", "allreduce", "--max-chunks", "1", access="stores"))
done += checked(4, sized, [8, 1024, 32768], {"link 0-1": lost})

# One that is ready for each link: those of an orbit share libraries, with their ranks renumbered.
(work / "spec.json").write_text(json.dumps({"machines": ["ring:4"], "collectives": ["allreduce"], "max_chunks": 2, "conflicts": 500}))
run_chorale("library", "build", "spec.json", "--failures", 1, "-o", "ready.db", "-q", code=(0, 3))
run_chorale("library", "export", "ready.db", "ring:4", "allreduce", "--as", "cuda", "--bytes", "64,64K", "-o", "ready")
(ready_folder,) = (work / "ready").glob("*.cuda")
lines = [line.split(" | ") for line in (ready_folder / "failures.txt").read_text().splitlines()]
assert [line[0] for line in lines] == ["link 0-1", "link 0-3", "link 1-2", "link 2-3"], lines
for number in {n for line in lines for n in line[2].split()[::2]} | {line.split()[0] for line in (ready_folder / "sizes.txt").read_text().splitlines()}:
    built(ready_folder, (f"algorithm_{number}", number))
done += checked(4, ready_folder, [8, 1024])
# After a failure no rank loads or stores over the link: its table names no other ranks.
for name, order, numbers in lines:
    a, b = (int(n) for n in name.split()[1].split("-"))
    order = [int(n) for n in order.split()] or [0, 1, 2, 3]
    for number in numbers.split()[::2]:
        table = (ready_folder / f"algorithm_{number}/out_of_place.h").read_text()
        rows, places, blocks = ([[int(n) for n in row.split(",")] for row in re.findall(r"\{([-\d, ]+)\}", re.search(rf"{what}\[\] = \{{(.*?)\n\}};", table, re.S)[1])]
                                for what in ("kRows", "kPlaces", "kBlockRows"))
        for rank, first, count in blocks:
            for row in rows[first:first + count]:
                peers = {places[row[3] + k][0] for k in range(row[4] + row[5])} | ({row[6]} if row[0] == 1 else set())
                assert all({order[rank], order[peer]} != {a, b} for peer in peers), (name, number, rank, row)

# It can fail: without a wait elements are wrong, or a peer is not awaited. Not always the first time.
shutil.copytree(work / "direct4", work / "changed")  # of another path: what is loaded stays
(table,) = (work / "changed").glob("*.cuda/out_of_place.h")
text = table.read_text()
for wait in re.findall(r"\{2, (?:-?\d+, ){9}0, -1\}", text):
    text = text.replace(wait, wait.replace("{2,", "{3,"))
table.write_text(text)
built(table.parent)


def fails():
    try:
        checked(4, table.parent, [40000])
    except AssertionError:
        return True
    return False


assert any(fails() for _ in range(8))
assert "--target cuda" in refused("emit", "lost.json", "--target", "mpi", "--peer-access", "loads", says="--peer-access")
print(f"2 to 8 ranks, {done} AllReduces of all ranks right, by loads and by stores, in graphs and after a failure; without waits they are not")
