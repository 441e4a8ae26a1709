"""The AllReduce of a directory that `chorale emit --target cuda` or `chorale optimize --target cuda -o DIR` has written, in
the place of the custom AllReduce of vLLM and SGLang:

    chorale optimize pcie:2x4 allreduce --sizes 4K:1M:2 --target cuda -o box
    make -C box/*.cuda -f all_sizes.mk hook ARCH=sm_120
    CHORALE_ALLREDUCE=$(echo box/*.cuda) python -c 'import custom_allreduce; custom_allreduce.register(); ...'

A call is one launch in the current stream, in a CUDA graph or not. Peers access regions of memory of their own, never a
tensor of the engine: nothing has to be registered, and register_buffer() and register_graph_buffers() do nothing.
"""
import contextlib
import ctypes
import os
import pathlib

TYPES = {"float32": 0, "float16": 1, "bfloat16": 2}


class Torch:
    """What is asked of the engine's tensors and streams."""

    def __init__(self, device):
        import torch
        self.torch, self.device = torch, device

    def empty_like(self, tensor):
        return self.torch.empty_like(tensor)

    def stream(self):
        return self.torch.cuda.current_stream().cuda_stream

    def is_capturing(self):
        return self.torch.cuda.is_current_stream_capturing()

    def gather(self, group, value):
        """The values of all ranks, by rank; over a group of the host, as engines have one for this."""
        values = [None] * self.torch.distributed.get_world_size(group)
        self.torch.distributed.all_gather_object(values, value, group)
        return values

    def rank(self, group):
        return self.torch.distributed.get_rank(group)


class Algorithm:
    """One library (custom_allreduce.cu), with a region of memory of each rank."""

    def __init__(self, path, group, runtime, most_bytes, slices, order=None):
        """order: the ranks whose parts its ranks 0, 1, ... have; None: as they are."""
        self.library = library = ctypes.CDLL(str(path))
        for name in ("region", "map", "create"):
            getattr(library, f"chorale_{name}").restype = ctypes.c_void_p
        library.chorale_last_error.restype = ctypes.c_char_p
        rank, handle = runtime.rank(group), ctypes.create_string_buffer(library.chorale_handle_bytes())
        self.region = library.chorale_region(ctypes.c_long(most_bytes), slices, handle)
        handles = runtime.gather(group, (handle.raw if self.region else None, library.chorale_ranks()))
        if any(ranks != len(handles) for _, ranks in handles):
            raise ValueError(f"{path} is for {library.chorale_ranks()} ranks, and the group has {len(handles)}")
        regions = [self.region if n == rank else self._mapped(its) for n, (its, _) in enumerate(handles)]
        if not all(runtime.gather(group, all(regions))):  # nobody calls before all have mapped all
            raise RuntimeError(f"{path}: {library.chorale_last_error().decode() or 'another rank has no region'}")
        order = order or list(range(len(regions)))
        self.state = ctypes.c_void_p(library.chorale_create(order.index(rank), (ctypes.c_void_p * len(regions))(*(regions[n] for n in order)),
                                                            ctypes.c_long(most_bytes), slices))

    def _mapped(self, handle):
        return self.library.chorale_map(handle) if handle else None

    def __call__(self, source, result, size, kind, stream):
        if self.library.chorale_all_reduce(self.state, ctypes.c_void_p(source), ctypes.c_void_p(result), ctypes.c_long(size), kind,
                                           ctypes.c_void_p(stream)):
            raise RuntimeError(self.library.chorale_last_error().decode())


class CustomAllreduce:
    """The surface of vllm.distributed.device_communicators.custom_all_reduce.CustomAllreduce.

    folder: of libraries (CHORALE_ALLREDUCE); what it is ready for (`chorale library export --as cuda` of a library that was
    built with --failures), and further folders `after` a failure, by its name ("link 0-1"), are taken from the next AllReduce
    on when all ranks have called failed().
    """

    def __init__(self, group, device=None, max_size=1 << 20, folder=None, after=None, runtime=None, slices=8, **_):
        self.runtime, self.group, self.max_size, self.slices = runtime or Torch(device), group, max_size, slices
        self.disabled, self._capturing = False, False
        folder = folder or os.environ["CHORALE_ALLREDUCE"]
        self.ready = {name: self._of_folder(pathlib.Path(path)) for name, path in {"": folder, **(after or {})}.items()}
        failures = pathlib.Path(folder) / "failures.txt"
        for line in failures.read_text().splitlines() if failures.exists() else []:
            name, order, numbers = ([*part.split()] for part in line.split("|"))
            self.ready[" ".join(name)] = self._algorithms(pathlib.Path(folder), list(zip(numbers[::2], numbers[1::2])), [int(n) for n in order])
        self.current = self.ready[""]

    def _of_folder(self, folder):
        sizes = folder / "sizes.txt"
        return self._algorithms(folder, [line.split() for line in sizes.read_text().splitlines()] if sizes.exists() else [("", "-1")])

    def _algorithms(self, folder, rows, order=None):
        """Libraries with the largest size that each is for, in the order in which they are asked."""
        made = []
        for number, up_to in rows:
            most = self.max_size if up_to == "-1" else min(int(up_to), self.max_size)
            name = f"custom_allreduce_{number}.so" if number else "custom_allreduce.so"
            made.append((most, Algorithm(folder / name, self.group, self.runtime, most, self.slices, order)))
            if most == self.max_size:
                break
        return made

    def should_custom_ar(self, tensor):
        size = tensor.numel() * tensor.element_size()
        return (not self.disabled and str(tensor.dtype).rpartition(".")[2] in TYPES and tensor.is_contiguous() and size % 16 == 0
                and size <= self.max_size)

    def all_reduce(self, tensor, *, out=None, registered=False):
        out = self.runtime.empty_like(tensor) if out is None else out
        size = tensor.numel() * tensor.element_size()
        algorithm = next(each for most, each in self.current if size <= most)
        algorithm(tensor.data_ptr(), out.data_ptr(), size, TYPES[str(tensor.dtype).rpartition(".")[2]], self.runtime.stream())
        return out

    def custom_all_reduce(self, tensor):
        """None: the engine's other methods are for this tensor. In a capture context and not captured: a warm-up, of which
        engines want the memory alone."""
        if not self.should_custom_ar(tensor):
            return None
        if self._capturing and not self.runtime.is_capturing():
            return self.runtime.empty_like(tensor)
        return self.all_reduce(tensor)

    @contextlib.contextmanager
    def capture(self):
        self._capturing = True
        try:
            yield
        finally:
            self._capturing = False
            self.register_graph_buffers()

    def register_buffer(self, tensor):
        pass

    def register_graph_buffers(self):
        pass

    def failed(self, what):
        """What has failed of the machine ("link 0-1"; "": nothing), for the next calls. Each rank calls it between the
        same two AllReduces."""
        if what not in self.ready:
            raise ValueError(f"no algorithm is ready for the failure of '{what}'; there are some for: {', '.join(filter(None, self.ready)) or 'none'}")
        if self._capturing or self.runtime.is_capturing():
            raise RuntimeError("calls that a graph has captured keep their algorithm: capture the graph again after failed()")
        idle = self.current[0][1].library.chorale_is_idle(ctypes.c_void_p(self.runtime.stream()))
        if idle != 1:
            raise RuntimeError("an AllReduce is running, and does not change its algorithm: over a lost link it waits until "
                               "its time limit, its result is then of no use, and the region has to be made again; "
                               "synchronize the stream, then call failed()")
        self.current = self.ready[what]

    def is_stuck(self):
        """Whether a wait for a peer has timed out; waits for the device."""
        return any(each.library.chorale_is_stuck(each.state) for _, each in self.current)

    def close(self):
        self.disabled = True


def register():
    """Before the engine makes its groups, in each of its processes (a vLLM plugin, or a wrapper around its start)."""
    import importlib
    found = []
    for module in ("vllm.distributed.device_communicators.custom_all_reduce", "sglang.srt.distributed.device_communicators.custom_all_reduce"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module).CustomAllreduce = CustomAllreduce
            found.append(module)
    if not found:
        raise ImportError("neither vLLM nor SGLang is here")
    return found
