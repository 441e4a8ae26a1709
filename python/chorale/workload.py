"""Tensor programs (docs/workloads.md) as operators of PyTorch.

    adam = chorale.workload.load("adam.chorale", machine="ring:4", apply="split(avg, rs); ...")
    adam(g=gradients, p=parameters, m=m, v=v, lr=1e-3)           # or torch.ops.chorale.adam(...)

`chorale compile` writes the program as C++ with a C interface, and the compiler makes a library of it. What
it sends lies in memory that the ranks share, or goes over torch.distributed (chorale.shared). With
device="cuda" tensors are on the current GPU, nvcc compiles, and what is sent goes over NCCL, by a
communicator of the library's own. Nothing of PyTorch's own C++ is needed, so a library fits every version
from 1.13 on.
"""

import ctypes
import fcntl
import functools
import hashlib
import importlib.util
import json
import math
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import torch
import torch.distributed as dist

from chorale import cache, operators, shared
from chorale.agreement import Wait, together, watch
from chorale.exchanges import carries, global_rank, part
from chorale.logs import log
from chorale.statements import TYPES

FORM = 8  # of what `chorale compile` writes: older libraries are made again
MEANING = "program.chorale"  # the program before its transformations, one statement a line


class Message(ctypes.Structure):
    """As the emitted NAME_c.cpp has it."""

    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_int64), ("peer", ctypes.c_int),
                ("tag", ctypes.c_int), ("sends", ctypes.c_int)]


EXCHANGE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Message), ctypes.c_int)


def exchange_over(group):
    """What the library calls to have messages moved: all at once, back when all are there."""
    failure = []

    def exchange(_, messages, count):
        try:
            work = []
            for message in messages[:count]:
                bytes_ = torch.frombuffer((ctypes.c_uint8 * message.bytes).from_address(message.data),
                                          dtype=torch.uint8)
                peer = global_rank(group, message.peer)
                move = dist.isend if message.sends else dist.irecv
                work.append(move(bytes_, peer, group=group, tag=message.tag))
            for each in work:
                each.wait()
            return 0
        except BaseException as error:  # must not pass through C++; raised again by the caller
            failure.append(error)
            return 1

    return EXCHANGE(exchange), failure


def program():
    """The chorale program: $CHORALE, that of the package or its build tree, or the one on the path."""
    from chorale.program import program as found_program

    found = found_program()
    if not found:
        raise FileNotFoundError(
            "there is no program 'chorale': install it, or name it in the environment variable CHORALE")
    return found


@functools.lru_cache
def process_blas():
    """sgemm_ and dgemm_ of the BLAS that PyTorch has in the process, so that products take as long as its
    own; null where it has that of reference, which is slower than the built-in loops."""
    config = torch.__config__.show()
    try:
        within = ctypes.CDLL(
            "libtorch_cpu.so",
            mode=os.RTLD_NOLOAD) if "BLAS_INFO=mkl" in config or "BLAS_INFO=open" in config else None
        return tuple(ctypes.cast(getattr(within, name), ctypes.c_void_p)
                     for name in ("sgemm_", "dgemm_")) if within else (None, None)
    except (OSError, AttributeError):
        return None, None


def require_device(device):
    if device not in ("cpu", "cuda"):
        raise ValueError(f"device is 'cpu' or 'cuda', not {device!r}")
    if device == "cuda" and not torch.cuda.is_available():
        why = "was built without CUDA" if torch.version.cuda is None else "sees no GPU"
        raise RuntimeError(f"device='cuda': this PyTorch {why}; take device='cpu'")


def nccl_of_pip():
    """The folder of the NCCL that PyTorch's wheels have beside them, with its header: that is the one in the
    process. None where there is no such package."""
    found = importlib.util.find_spec("nvidia.nccl") if importlib.util.find_spec("nvidia") else None
    for place in (found.submodule_search_locations or ()) if found else ():
        folder = pathlib.Path(place)
        if (folder / "include/nccl.h").exists() and (folder / "lib/libnccl.so.2").exists():
            return folder
    return None


def compiling(goal, folder, compiler):
    """What make is given to build a goal in a folder. The linker needs libnccl.so; in wheels it has its
    version in its name."""
    if goal == "library":
        return [f"CXX={compiler}"] if compiler else []
    nccl = nccl_of_pip()
    if nccl is None:
        return [f"NVCC={compiler}"] if compiler else []
    (folder / "libnccl.so").symlink_to(nccl / "lib/libnccl.so.2")
    return [f"NVCC={compiler or 'nvcc'} -I'{nccl}/include' -L."]


def built(file,
          machine,
          ranks,
          groups=1,
          apply="",
          sizes=None,
          directory=None,
          compiler=None,
          device="cpu",
          order="agreed"):
    """The folder with the library, made if it is not there, in `directory` or the cache (chorale.cache).
    Ranks that share the folder may call this at the same time. `order` is that of sums, as of `chorale compile --order`: "fixed" gives the same bits in
    each run and for each size."""
    require_device(device)
    text = pathlib.Path(file).read_text()
    asked = json.dumps(
        [text, machine, ranks, groups, apply,
         sorted((sizes or {}).items()), compiler, device, order, FORM])
    kept = cache.cache(directory)
    folder = kept / hashlib.sha256(asked.encode()).hexdigest()[:24]
    if not folder.exists():
        make(folder, file, machine, ranks, groups, apply, sizes, compiler, device, order)
    cache.require_all_own(folder)
    return folder


def make(folder, file, machine, ranks, groups, apply, sizes, compiler, device, order):
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ranks of a machine: the first makes it, the others wait
        if folder.exists():
            return
        making, begin = pathlib.Path(tempfile.mkdtemp(dir=folder.parent)), time.perf_counter()
        try:
            command = [
                program(), "compile",
                str(file), "--machine", machine, "--ranks",
                str(ranks), "--groups",
                str(groups), "-o",
                str(making), "--quiet", "--order", order
            ]
            command += ["--apply", apply] if apply else []
            command += ["--set", *(f"{name}={value}" for name, value in sizes.items())] if sizes else []
            goal = "library" if device == "cpu" else "nccl_library"
            meaning = [
                program(), "transform",
                str(file), "--ranks",
                str(ranks), "--groups",
                str(groups), "-o",
                str(making / MEANING), "--quiet"
            ]
            for line in (command, meaning, [
                    "make", "-s", "-C",
                    str(making), *compiling(goal, making, compiler), goal
            ]):
                done = subprocess.run(line, capture_output=True, text=True)
                if done.returncode != 0:
                    raise RuntimeError(f"{' '.join(line[:2])} failed: {(done.stderr or done.stdout).strip()}")
            (making / "libnccl.so").unlink(missing_ok=True)
            cache.close_to_others(making)
            making.rename(folder)
            log.info("%s for %d ranks compiled in %.1f s, kept in %s",
                     pathlib.Path(file).name, ranks * groups,
                     time.perf_counter() - begin, folder.parent)
        finally:
            shutil.rmtree(making, ignore_errors=True)


def order_of(order="agreed", sum=None):
    """What `chorale compile --order` is given."""
    if sum not in (None, "once") or (sum and order != "agreed"):
        raise ValueError(f"sum={sum!r}, order={order!r}: give sum='once', or an order")
    return sum or order


def loaded(text, script, group, machine=None, directory=None, order="agreed"):
    """The program of a text, by the script of a schedule, for the ranks of a process group."""
    ranks = dist.get_world_size(group)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / f"{text.split()[1]}.chorale"
        file.write_text(text)
        return load(file,
                    machine or (f"full:{ranks}" if ranks > 1 else "dgx-h100:1x1"),
                    group,
                    apply=script,
                    directory=directory,
                    order=order)


def load(file, machine, group=None, sizes=None, **options):
    """The program of a file for the ranks of a process group, which all call this: what one of them cannot
    make is raised on all. Options: those of built()."""
    if options.get("device", "cpu") == "cpu" and not carries(group, "cpu"):
        raise ValueError(
            f"device='cpu': the group's backend, {dist.get_backend(group)}, moves no tensors of the CPU; take "
            "device='cuda', or init_process_group('cpu:gloo,cuda:nccl')")
    ranks = dist.get_world_size(group) // options.get("groups", 1)

    def ready():  # what fails at once is known before others compile
        program(), cache.cache(options.get("directory"))
        if shutil.which("make") is None:
            raise FileNotFoundError("there is no program 'make' on the path, which compiles programs")

    def made():
        folder = built(file, machine, ranks, sizes=sizes, **options)
        ctypes.CDLL(library_in(folder))
        return str(folder)

    doing = f"to compile {pathlib.Path(file).name}"
    together(ready, group, doing)
    folders = together(made, group, doing)
    return Workload(folders[dist.get_rank(group)], group, sizes, options.get("device", "cpu"))


def library_in(folder):
    return str(next(pathlib.Path(folder).glob("*.so")))


class Workload:
    """One program on this rank. Called with tensors by name, of this rank's parts; updates those that the
    program updates, in place, and returns what it returns, in its order."""

    def __init__(self, folder, group=None, sizes=None, device="cpu"):
        require_device(device)
        self.description = json.loads(next(pathlib.Path(folder).glob("*.json")).read_text())
        self.name = self.description["name"]
        self.rows = [row for row in self.description["tensors"] if row["address"]]
        self.updated = {row["name"] for row in self.description["tensors"] if row["updated"]}
        self.group = group
        self.sizes = dict(sizes or {})
        self.library = ctypes.CDLL(library_in(folder))
        if device == "cpu":
            self.library.chorale_use_blas(*process_blas())
        self.library.chorale_make.restype = ctypes.c_void_p
        self.library.chorale_error.restype = ctypes.c_char_p
        self.library.chorale_elements.restype = ctypes.c_int64
        self.meaning = (pathlib.Path(folder) / MEANING).read_text()
        self.rank, ranks = dist.get_rank(group), dist.get_world_size(group)
        self.members = tuple(global_rank(group, each) for each in range(ranks))
        watch()
        wanted = self.description["ranks"] * self.description["groups"]
        if ranks != wanted:
            raise ValueError(f"{self.name} is for {wanted} ranks, and the group has {ranks}")
        self.library.chorale_join.restype = ctypes.c_void_p
        self.device, self.failure, self.room = device if device == "cpu" else torch.device(
            "cuda", torch.cuda.current_device()), [], None
        self.joined = self.on_gpus(ranks) if device == "cuda" else self.on_hosts(
            ranks)  # this rank of those that all programs are for
        self.made = {}  # by sizes: programs keep their plans and their memory
        self.warm = set()  # sizes for which one has run, and has all of its memory

    def on_hosts(self, ranks):
        self.room = shared.room(self.group)
        if self.room is None:
            self.exchange, self.failure = exchange_over(self.group)
            return self.library.chorale_join(self.rank, ranks, self.exchange, None)
        self.library.chorale_line_bytes.restype = ctypes.c_int64
        self.library.chorale_join_shared.restype = ctypes.c_void_p
        places = [torch.zeros(1, dtype=torch.int64) for _ in range(ranks)]
        dist.all_gather(places,
                        torch.tensor([self.room.take(self.library.chorale_line_bytes(ranks))]),
                        group=self.group)
        return self.library.chorale_join_shared(
            ctypes.byref(self.room.described([each.item() for each in places])))

    def on_gpus(self, ranks):
        number, given = (ctypes.c_uint8 * 128)(), [None]
        if self.rank == 0:  # what fails there is raised on all ranks, so that none waits
            failed = self.library.chorale_id(number) != 0
            given = [self.library.chorale_error().decode() if failed else bytes(number)]
        dist.broadcast_object_list(given, src=global_rank(self.group, 0), group=self.group)
        if isinstance(given[0], str):
            raise RuntimeError(given[0])
        joined = self.library.chorale_join(self.rank, ranks, given[0], self.device.index)
        if not joined:
            raise RuntimeError(self.library.chorale_error().decode())
        return joined

    def zeros(self, count, dtype):
        """A tensor that other ranks read where it lies, where ranks share memory."""
        return self.room.tensor(count, dtype).zero_() if self.room else torch.zeros(
            count, dtype=dtype, device=self.device)

    def empty(self, count, dtype):
        """The same, for what is made and dropped often."""
        return self.room.tensor(count, dtype, keeps=True) if self.room else torch.empty(
            count, dtype=dtype, device=self.device)

    def __del__(self):
        for handle in getattr(self, "made", {}).values():
            self.library.chorale_free(ctypes.c_void_p(handle))
        if getattr(self, "joined", None):
            self.library.chorale_leave(ctypes.c_void_p(self.joined))

    def solved(self, tensors):
        """Sizes, from the shapes of tensors, but for the sides that are cut."""
        sizes = dict(self.sizes)
        for row in self.description["tensors"]:
            tensor, layout = tensors.get(row["name"]), row["layout"]
            if tensor is None or not layout.startswith(("Replicated", "Local", "Sliced(")):
                continue
            flat, cut = len(
                row["shape"]) == 1 and not layout.startswith("Sliced"), layout[len("Sliced("):].partition(
                    ")")[0]
            if flat and tensor.dim() != 1:  # a list of elements, however they are arranged
                tensor = tensor.reshape(-1)
            if layout.startswith("Sliced") and (cut == "flat" or tensor.dim() != len(row["shape"])):
                continue
            if tensor.dim() != len(row["shape"]):
                raise ValueError(
                    f"{row['name']} has {tensor.dim()} dimensions, and {len(row['shape'])} in {self.name}")
            for dim, (side, have) in enumerate(zip(row["shape"], tensor.shape)):
                if layout.startswith("Sliced") and dim == int(cut):
                    continue
                unknown = [name for name in side["sizes"] if name not in sizes]
                known = side["factor"]
                for name in side["sizes"]:
                    known *= sizes.get(name, 1)
                scaled = have * side["divisor"]
                if len(unknown) == 1 and scaled % known == 0:
                    sizes[unknown[0]] = scaled // known
                elif unknown or scaled != known:
                    raise ValueError(
                        f"{row['name']} has a side of {have}, which {self.name} does not have there")
        missing = [name for name in self.description["sizes"] if name not in sizes]
        if missing:
            raise ValueError(
                f"the sizes {', '.join(missing)} of {self.name} follow from no tensor: give them to load()")
        return tuple(sizes[name] for name in self.description["sizes"])

    def handle(self, sizes):
        if sizes not in self.made:
            made = self.library.chorale_make(ctypes.c_void_p(self.joined),
                                             (ctypes.c_int64 * len(sizes))(*sizes))
            if not made:
                raise ValueError(self.library.chorale_error().decode())
            self.made[sizes] = made
        return self.made[sizes]

    def shape(self, row, sizes):
        """That of this rank's part of a tensor; slices of all elements have one dimension."""
        whole, layout = [self.side(side, sizes) for side in row["shape"]], row["layout"]
        if layout in ("Replicated", "Local"):
            return whole
        if self.description["groups"] > 1 or not layout.startswith("Sliced"):
            have = self.elements(row["name"], sizes)
            return whole if math.prod(whole) == have else [have]
        if layout == "Sliced(flat)":
            return [part(math.prod(whole), self.description["ranks"], self.rank)[1]]
        dim = int(layout[len("Sliced("):-1])
        return [*whole[:dim], part(whole[dim], self.description["ranks"], self.rank)[1], *whole[dim + 1:]]

    def elements(self, name, sizes):
        """How many elements of a tensor this rank has."""
        index = [row["name"] for row in self.rows].index(name)
        return self.library.chorale_elements(ctypes.c_void_p(self.handle(sizes)), index)

    def __call__(self, seed=0, **given):
        places = {row["name"]: row["in"] or row["name"] for row in self.description["tensors"]}
        tensors = {
            **given,
            **operators.differentiable(self, self.name, list(given), list(given.values()), seed)
        }
        results = tuple(tensors[places[name]] for name in self.description["outputs"])
        return results[0] if len(results) == 1 else results

    def done(self, seed, given):
        """Runs it: all tensors by name, as they are afterwards. What is new is stored where it is given."""
        if self.device == "cpu":
            return self.run(seed, given)
        with torch.cuda.device(self.device):  # the library makes it the current one
            return self.run(seed, given, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    @torch.no_grad()
    def run(self, seed, given, *stream):
        tensors = {
            row["name"]: self.given(row, given)
            for row in self.rows if row["input"] or row["name"] in given
        }
        if given:
            raise TypeError(f"{self.name} has no {', '.join(given)}")
        sizes = self.solved(tensors)
        if stream and sizes not in self.warm and torch.cuda.is_current_stream_capturing():
            raise RuntimeError(
                f"{self.name} has not run with these sizes, and its first run allocates memory: call it once "
                "before the graph is captured")
        for row in self.rows:
            shape = self.shape(row, sizes)
            if row["name"] not in tensors:
                tensors[row["name"]] = torch.empty(shape, dtype=TYPES[row["type"]], device=self.device)
            elif tensors[row["name"]].numel() != math.prod(shape):
                raise ValueError(
                    f"{row['name']} has {tensors[row['name']].numel()} elements, and rank {self.rank}'s part "
                    f"of it {math.prod(shape)}"
                )
        addresses = (ctypes.c_void_p * len(self.rows))(*(tensors[row["name"]].data_ptr()
                                                         for row in self.rows))
        handle = ctypes.c_void_p(self.handle(sizes))
        with Wait(self.name, self.members):
            code = self.library.chorale_run(handle, addresses, ctypes.c_uint64(seed), *stream)
        self.checked(code)
        self.warm.add(sizes)
        return tensors

    def checked(self, code):
        if self.failure:
            raise self.failure.pop()
        if code != 0:
            raise RuntimeError(self.library.chorale_error().decode())

    def gathered(self, mine):
        """A small tensor of the host of each rank, by rank; called by all. Of programs on the CPU."""
        mine = mine.contiguous()
        everyone = mine.new_empty([dist.get_world_size(self.group), *mine.shape])
        with Wait(f"step() of {self.name}", self.members):
            code = self.library.chorale_gather(ctypes.c_void_p(self.joined), ctypes.c_void_p(mine.data_ptr()),
                                               ctypes.c_void_p(everyone.data_ptr()),
                                               ctypes.c_int64(mine.numel() * mine.element_size()))
        self.checked(code)
        return everyone

    def register(self, name=None):
        """As an operator, torch.ops.chorale.NAME (chorale.operators)."""
        return operators.register(self, name or self.name)

    def given(self, row, given):
        name, dtype = row["name"], TYPES[row["type"]]
        if name not in given:
            raise TypeError(f"{self.name} needs {name}")
        value = given.pop(name)
        # Scalars that the program does not change are values of the host's.
        by_value = not row["shape"] and name not in self.updated
        wanted = torch.device("cpu") if by_value else torch.device(self.device)
        if not row["shape"] and not torch.is_tensor(value):
            value = torch.tensor(value, dtype=dtype, device=wanted)
        elif not torch.is_tensor(value):
            raise TypeError(f"{name} is {value!r}, and a tensor in {self.name}")
        elif by_value:
            if value.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
                raise ValueError(
                    f"{name} is on {value.device}, and a graph that is captured has numbers of the host")
            value = value.cpu()
        if value.dtype != dtype:
            raise TypeError(f"{name} is {value.dtype}, and {dtype} in {self.name}")
        if not value.is_contiguous():
            if name in self.updated or not row["input"]:
                raise ValueError(f"{name} is not contiguous, and {self.name} changes it in place")
            value = value.contiguous()
        if value.device != wanted:
            raise ValueError(
                f"{name} is on {value.device}, and {self.name} on {wanted}: load() takes a device")
        return value

    def side(self, side, sizes):
        return side["factor"] * math.prod(sizes[self.description["sizes"].index(name)]
                                          for name in side["sizes"]) // side["divisor"]
