"""The calls of the package. A machine is a Topology or a name ("dgx1") or a JSON file; a collective is a
Collective or a name or a file. None of them prints, and all that take long leave other Python threads
running."""

from __future__ import annotations

import inspect
import json
import os
import sys
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple,
                    TypeVar, Union)

from chorale import _chorale, jobs
from chorale._chorale import Bounds, CheckReport, Collective, Hierarchy, Ranking, Result, Topology
from chorale.answers import Compared, Compiled, Document, Imported, Optimized, Synthesis, VerifiedProgram
from chorale.errors import InputError
from chorale.given import File, Listener, Sizes, changes, job_of, listening, lists, numbers, sizes_of, text_of, with_folder

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from chorale._chorale import (_CompileOptions as CompileOptions, _FrontierOptions as FrontierOptions,
                                  _ImportOptions as ImportOptions, _PlaceOptions as PlaceOptions, _RunOptions
                                  as RunOptions, _SynthesisOptions as SynthesisOptions)

Machine = Union[Topology, str, "os.PathLike[str]"]
Asked = Union[Collective, str, "os.PathLike[str]"]


Call = TypeVar("Call", bound=Callable[..., Any])


def _with_options(call: str) -> Callable[[Call], Call]:
    """Shows the options of a call in its signature and in its help: names, defaults and sentences are those
    of the search."""

    def shown(function: Call) -> Call:
        known = _chorale.options(call)
        signature = inspect.signature(function)
        kept = [
            each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        further = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
            for name, default, _ in known
        ]
        function.__signature__ = signature.replace(parameters=kept + further)  # type: ignore[attr-defined]
        function.__doc__ = f"{function.__doc__}\n\n" + "\n".join(f"    {name}: {help}"
                                                                 for name, _, help in known)
        return function

    return shown


@_with_options("machine")
def machine(name: File, *, without_links: Iterable[str] = (), without_ranks: Iterable[str] = (),
            degraded: Iterable[str] = (), call_us: Optional[float] = None,
            **options: Unpack[ImportOptions]) -> Topology:
    """A machine by name (machines() lists them) or from a file, its switches removed: each route through
    them becomes a link. Changes are as the command line has them: without_links=["0-1"],
    without_ranks=["5"], degraded=["0-1=0.5"]; call_us is what a call costs beside its messages. Options are of files of other tools."""
    return _chorale.machine(os.fspath(name), **changes(without_links, without_ranks, degraded, call_us), **options)


def machines() -> Dict[str, str]:
    """The machines that are built in, by the pattern of their names."""
    return dict(_chorale.catalogue())


def collectives() -> List[str]:
    """The collectives that have names."""
    return _chorale.collectives()


def collective(name: File, machine: Machine, root: Optional[int] = None, order: str = "", *,
                  group: Optional[Iterable[int]] = None, groups: Union[str, Iterable[Iterable[int]]] = "",
                  counts: Union[File, Iterable[int], Iterable[Iterable[int]]] = "") -> Collective:
    """A collective of a machine's ranks, by name (collectives() lists them) or from a JSON file; `root` for
    those that have one.

    Of those with names, `group` is between these ranks only, numbered as they come, and `groups` are several
    at once: lists of ranks, or a name ("row", "column", "boxes", "rails", a level of the machine).
    "allgatherv", "reducescatterv", "gatherv" and "scatterv" take `counts`, the chunks of each rank, and
    "alltoallv" a list for each source. `root` counts within its group."""
    return _chorale.collective(os.fspath(name), _machine(machine), root, order, lists("group", group),
                                  lists("groups", groups), lists("counts", counts))


@_with_options("import_topology")
def import_topology(*files: File, **options: Unpack[ImportOptions]) -> Imported:
    """A machine from files of NCCL, RCCL, nvidia-smi, hwloc, msccl-tools, TACCL, TE-CCL, ASTRA-sim
    (docs/topologies.md). Several files are nodes."""
    from chorale.import_research import converted

    texts = [(os.fspath(file), text_of(file)) for file in files]
    if len(texts) == 1:
        name, text = texts[0]
        texts = [(name, converted(text, name, options.get("nodes", 1)) or text)]
    read, report, details = _chorale.import_machine(texts, **options)
    return Imported(read, report, json.loads(details))


@_with_options("discover")
def discover(**options: Unpack[ImportOptions]) -> Imported:
    """The machine that this process is on: by files of NCCL, if the environment names one, by nvidia-smi, or
    by hwloc. Options as of import_topology."""
    named = [
        os.environ.get("NCCL_TOPO_DUMP_FILE", ""),
        os.environ.get("NCCL_TOPO_FILE", ""), "/var/run/nvidia-topologyd/virtualTopology.xml"
    ]
    files = [file for file in named if os.path.isfile(file)]
    found, report, details = _chorale.discover_machine(files, **options)
    return Imported(found, report, json.loads(details))


def verify_program(program: File) -> VerifiedProgram:
    """Verifies a lowered program, Chorale's or another's: a file of MSCCL's XML, an execution plan of
    MSCCL++, or a block program in JSON (docs/formats.md)."""
    name, collective, ranks, instructions, modes = _chorale.verify_program(text_of(program),
                                                                           os.fspath(program))
    return VerifiedProgram(name, collective, ranks, instructions, {
        mode: fault
        for mode, (fault, _) in modes.items()
    }, {
        mode: depth
        for mode, (_, depth) in modes.items()
    })


@_with_options("frontier")
def frontier(machine: Machine, collective: Asked, *, root: Optional[int] = None, progress: Listener = None,
             **options: Unpack[FrontierOptions]) -> Result:
    """Every schedule that no other beats in steps and in rounds per chunk, with the claims that prove it.

    A block is cut into min_chunks to max_chunks chunks (as many as pay, if max_chunks is not given). `k`: at
    most steps + k rounds. `effort` ends the search after that many millions of steps of work, the same on every
    machine; `time_limit` is in seconds, `conflicts` of each question to a solver. `proofs`: a folder for formulas
    and proofs. `progress`: True for a line on standard error, or a function that is called, in
    this thread, with what the search does (`doing`, `points`, `seconds`), at most twenty times a second and
    at least once; what it raises ends the search and is raised here.

    A limit leaves what was found, marked unproven, and `Result.stopped` has the reason. Ctrl-C raises
    chorale.Interrupted, a KeyboardInterrupt that has what was found in its `result` (in a notebook:
    sys.last_value.result)."""
    there = _machine(machine)
    with listening(progress) as listener:
        return _chorale.frontier(there, _collective(collective, there, root), listener,
                                 **with_folder(options))


def optimize(machine: Machine,
             collective: Asked,
             *,
             sizes: Optional[Sizes] = None,
             root: Optional[int] = None,
             search_time: Optional[float] = None,
             effort: Optional[int] = None,
             baselines: str = "auto",
             time: str = "steps",
             progress: Listener = None) -> Optimized:
    """What `chorale optimize` prints. `sizes` are bytes of messages as nccl-tests counts them, the larger
    buffer of a rank: [1024, "1M"] or "1K:1G:4" (the default); `search_time` in seconds is used up, and without it the
    search ends by itself, at the latest after an `effort` in millions of steps of work (1000, and 30 s of processor
    time), however busy the machine is; `baselines` are "nccl", "mpi" (all that are known), or
    "auto": NCCL's where the machine has the links for one; times are of programs that wait for "steps", or of
    those that messages drive ("events": a message waits for its data and its links alone)."""
    there = _machine(machine)
    wanted = [4**k << 10 for k in range(11)] if sizes is None else sizes_of("sizes", sizes)
    if any(not 0 <= each < 2**50 for each in wanted):
        raise InputError("sizes: are negative, or too many; use 0 to 2^50 - 1 bytes")
    with listening(progress) as listener:
        result, table, report = _chorale.optimize(there, _collective(collective, there, root), listener, wanted,
                                               search_time, effort, baselines, time)
    document = json.loads(table)
    baselines_us = {each["name"]: each["us"] for each in document["baselines"]}
    return Optimized(result, document["rows"], baselines_us, document["conclusion"],
                     json.loads(report), document["binding"], document["complete"], document["search"])


@_with_options("machine")
def compare(first: File,
            second: File,
            collectives: Union[str, Sequence[str]] = (),
            *,
            sizes: Sizes = (),
            search_time: float = 10.0,
            **options: Unpack[ImportOptions]) -> Compared:
    """Two machines, by name or file, or two files of results side by side: what `chorale compare` prints.
    `collectives` are of machines (the five usual ones by default); with `sizes`, bytes of messages, each is
    searched for `search_time` seconds on each machine. Results have sizes of 1 KiB to 1 GiB by default.
    Options are of files of other tools."""
    names = [collectives] if isinstance(collectives, str) else list(collectives)
    wanted = sorted(set(sizes_of("sizes", sizes)))
    if any(not 0 <= each < 2**50 for each in wanted):
        raise InputError("sizes: are negative, or too many; use 0 to 2^50 - 1 bytes")
    text, report = _chorale.compare(os.fspath(first), os.fspath(second), names, wanted, search_time,
                                 **changes((), (), ()), **options)
    read = json.loads(text)
    return Compared(read["sides"], read["limits"], read["sizes"], read["conclusions"], read["notes"],
                    json.loads(report))


def alltoallv(counts: Iterable[Iterable[int]], nodes: int = 1, *, rates: str = "") -> Document:
    """What `chorale alltoallv` plans for counts[src][dst] bytes on that many equal nodes of successive ranks,
    as docs/formats.md has it: "us", "bound_us", "direct_us", "pieces" and more. rates="nic=50,node=450":
    GB/s."""
    text, report = _chorale.alltoallv([[int(count) for count in row] for row in counts], nodes, rates)
    return Document(json.loads(text), report)


def job(*traces: Union[str, "os.PathLike[str]"],
        machine: Optional[str] = None,
        library: Optional[Union[str, "os.PathLike[str]"]] = None,
        search_time: float = 2,
        baselines: str = "auto") -> Dict[str, Any]:
    """What `chorale job` prints of traces of PyTorch, NCCL or a PMPI wrapper: "calls", a list of rows with
    collective, group, ranks, message_bytes, calls and us. With a `machine` also "gain", a sentence, and
    "rows" with predicted times: by a `library`, or by a search of `search_time` seconds for each
    collective."""
    return jobs.job({
        "traces": [os.fspath(trace) for trace in traces],
        "machine": machine or "",
        "library": os.fspath(library) if library else "",
        "search_ms": round(1000 * search_time),
        "baselines": baselines
    })


@_with_options("synthesize")
def synthesize(machine: Machine, collective: Asked, *, root: Optional[int] = None, progress: Listener = None,
               **options: Unpack[SynthesisOptions]) -> Synthesis:
    """One question instead of all: a schedule within a budget, or the proof that there is none. What is not
    given is taken as low as possible, first the steps, then the rounds. The rest is as in frontier()."""
    there = _machine(machine)
    with listening(progress) as listener:
        return Synthesis(*_chorale.synthesize(there, _collective(collective, there, root), listener,
                                              **with_folder(options)))


def classic(name: str, machine: Machine, *, chunks: int = 0, root: Optional[int] = None) -> Result:
    """A baseline (ring, tree, ...; classics() lists them) as a result of one point, with the bounds of its
    collective. `chunks`: pieces of a block; 0: the fewest that use all links which it needs at once."""
    return _chorale.classic(name, _machine(machine), chunks, root)


def classics() -> Dict[str, str]:
    """The baselines by name."""
    return dict(_chorale.classics())


def bounds(machine: Machine,
           collective: Asked,
           *,
           root: Optional[int] = None,
           chunks: int = 1,
           steps: Optional[int] = None) -> Bounds:
    """What no schedule can beat, with a certificate for each claim; `rounds_within` is about at most `steps`
    steps."""
    there = _machine(machine)
    known, report = _chorale.bounds(there, _collective(collective, there, root), chunks, steps)
    setattr(known, "_report", report)  # Bounds.report
    return known


def check(result: Union[Result, File], *, proofs: File = "", lrat: File = "", pb: File = "",
          conflicts: Optional[int] = None, time_limit: Optional[float] = None) -> CheckReport:
    """Verifies a result, or a file of one, from nothing: every schedule, certificate and refutation. Nothing
    in it is believed. Proofs for other checkers are written to the folders `lrat` (refutations) and `pb`
    (bounds), if they are given."""
    folders = [os.fspath(lrat), os.fspath(pb)]
    for folder in filter(None, folders):
        os.makedirs(folder, exist_ok=True)
    if isinstance(result, Result):
        return _chorale.check(result, os.fspath(proofs), *folders, conflicts, time_limit)
    return _chorale.check_file(os.fspath(result), os.fspath(proofs), *folders, conflicts, time_limit)


def read_result(file: File) -> Result:
    """A result from a file. Every schedule in it is verified, claims are believed; check() believes
    nothing."""
    return _chorale.read_result(os.fspath(file))


def run(result: Result, arrays: Sequence[Any], *, point: int = 0, op: str = "sum") -> List[Any]:
    """Runs a point on numpy arrays, the ranks as threads: the inputs of all ranks in, the outputs of all
    ranks out.

    Elements lie in an array block after block: of Allgather a rank gives its block and gets all of them, of
    ReduceScatter it gives a block for each rank and gets its own, of AllReduce it gives and gets the vector.
    Ranks without an input give None (or nothing), ranks without an output get an empty array. An output of
    the size of its rank's input has its shape."""
    from chorale import arrays as with_numpy

    return with_numpy.run(result, arrays, point, op)


@_with_options("measure")
def measure(result: Result, bytes: Sizes, *, point: int = 0, type: str = "float32", op: str = "sum",
            **options: Unpack[RunOptions]) -> List[_chorale.RunRow]:
    """Times of a point on test data, the ranks as threads: a row for each message size (the largest buffer of
    a rank). Every element is checked (`wrong` is 0)."""
    sizes = sizes_of("bytes", bytes)
    if any(each < 0 for each in sizes):
        raise InputError("bytes: are negative; use 0 or more")
    return _chorale.measure(result, point, sizes, type, op, **options)


@_with_options("compile")
def compile(result: Result, target: str, *, point: int = 0, **options: Unpack[CompileOptions]) -> Compiled:
    """A point as a program of a target (targets() lists them); nothing is written before Compiled.write()."""
    path, files = _chorale.compile(result, point, target, **options)
    if target in ("goal", "chakra", "simgrid"):
        from chorale.simulators import written
        files = written(target, path, files[path])
    return Compiled(path, files)


def simulate(result: Result, message_bytes: Sizes = (1 << 10, 1 << 20, 1 << 30), *,
             points: Optional[Iterable[int]] = None) -> List[_chorale.SimulatedRow]:
    """Times of points (those on the frontier) by SimGrid, a simulator of others, beside what is predicted: a
    row for each point and message size. Needs its smpirun (Debian: libsimgrid-dev)."""
    return _chorale.simulate(result, sizes_of("message_bytes", message_bytes), None if points is None else list(points))


def targets() -> Dict[str, str]:
    """What compile() can write, by name."""
    return dict(_chorale.targets())


@_with_options("machine")
def hierarchy(name: File, *, without_links: Iterable[str] = (), without_ranks: Iterable[str] = (),
              degraded: Iterable[str] = (), call_us: Optional[float] = None,
              **options: Unpack[ImportOptions]) -> Hierarchy:
    """A machine with levels by name or from a file; options are of files of other tools."""
    return _chorale.hierarchy(os.fspath(name), **changes(without_links, without_ranks, degraded, call_us), **options)


@_with_options("place")
def place(hierarchy: Union[Hierarchy, File],
          job: Union[Mapping[str, Any], File, None] = None,
          *,
          axes: Optional[Mapping[str, int]] = None,
          reduce: Union[str, Sequence[str]] = (),
          bytes: Union[float, str] = 0,
          goal: str = "allreduce",
          element: int = 4,
          inside: Iterable[Tuple[str, str]] = (),
          order: Iterable[Tuple[str, str]] = (),
          memory: Iterable[Tuple[str, Sequence[str], float, float]] = (),
          present: Union[str, Sequence[int]] = "",
          **options: Unpack[PlaceOptions]) -> Ranking:
    """Where the parallel axes of a job go, best first, and how to reduce over them.

    Either a job or a job template (a mapping or a file as docs/formats.md has it; of a template
    axes={"tensor": 8} fixes sizes, and the others are chosen), or axes={"data": 4, "tensor": 8}, what is
    reduced over, and how many bytes each device contributes (of an allgather: has in the end, all parts
    together). Conditions: inside=[("tensor", "node")], order=[("inner", "outer")], memory=[("node",
    ["tensor"], bytes of a shard, room)] (docs/placement.md).
    `present`: the placement of today, as the order of the axes ("data,tensor", the first the slowest;
    Megatron's "tensor-data") or the device of each rank. Ctrl-C raises chorale.Interrupted with what was
    priced."""
    levels = hierarchy if isinstance(hierarchy, Hierarchy) else _chorale.hierarchy(
        os.fspath(hierarchy), **changes((), (), ()))
    asked = job_of(job, axes, [reduce] if isinstance(reduce, str) else list(reduce), bytes, goal, element)
    axis = numbers("axis", [row["name"] for row in asked.get("axes", [])])
    level = numbers("level", [name for name, _ in levels.levels])
    conditions = {
        "inside": [(axis(a), level(b)) for a, b in inside],
        "order": [(axis(a), axis(b)) for a, b in order],
        "memory": [(level(a), sorted(axis(each) for each in b), float(c), float(d)) for a, b, c, d in memory]
    }
    now = present if isinstance(present, str) else ",".join(str(int(device)) for device in present)
    return _chorale.place(levels, json.dumps(asked), conditions, now, **options)


def order(topology: File,
          job: Union[Mapping[str, Any], File, None] = None,
          *,
          hosts: str = "",
          axes: Optional[Mapping[str, int]] = None,
          reduce: Union[str, Sequence[str]] = (),
          bytes: Union[float, str] = 0,
          goal: str = "allreduce",
          element: int = 4,
          node_ranks: int = 8,
          node_gbs: float = 50,
          tapers: Sequence[float] = (2, )) -> Document:
    """The order of a job's nodes on the hosts that it was given: what `chorale order --json` writes, and
    under "files" what --emit writes. `topology` is Slurm's topology.conf, `hosts` a list as Slurm has it
    ("n[1-3,7]"; all of the file by default); the job is as place() takes it. `tapers`: what the hosts below a
    switch send, over what its link up carries, from the leaves up (docs/placement.md)."""
    asked = job_of(job, axes, [reduce] if isinstance(reduce, str) else list(reduce), bytes, goal, element)
    from chorale import ordering

    found = json.loads(_chorale.order(os.fspath(topology), hosts, json.dumps(asked), node_ranks, float(node_gbs),
                                      [float(each) for each in tapers]))
    return Document({**found, "files": ordering.files(found)}, json.dumps(ordering.reported(found)))


def design(*,
           ranks: int = 64,
           degree: int = 4,
           job: Union[str, Mapping[str, float]] = "alltoall,allreduce",
           bytes: int = 0,
           alpha_us: float = 0.7,
           link_gbs: float = 25,
           search_time: float = 12.0) -> Document:
    """The best Cayley graph of some ports for a job (docs/topologies.md has the family): what `chorale design
    --json` writes, under "machine" the best one, and under "results" a Result for each collective. The
    job is {"alltoall": 2, "allreduce": 1}, or "alltoall=2,allreduce"."""
    asked = job if isinstance(job, str) else ",".join(f"{name}={weight}" for name, weight in job.items())
    text, report, best, results = _chorale.design(ranks, degree, asked, bytes, float(alpha_us), float(link_gbs),
                                          float(search_time))
    told = json.loads(text)
    results_by_name = dict(zip([each["collective"] for each in told["job"]], results))
    return Document({**told, "machine": best, "results": results_by_name}, report)


def reshard(machine: Union[str, Topology],
            question: Union[Mapping[str, Any], File],
            *,
            search_time: float = 8.0) -> Document:
    """Tensors from one layout to another: what `chorale reshard --json` writes, under "result" the schedules
    with their bounds, and under "files" what --emit writes. The question is a mapping or a file as
    docs/formats.md has it. Seconds between nodes need a machine by name."""
    asked = json.dumps(question) if isinstance(question, Mapping) else text_of(question)
    host = _chorale.hosts_of(machine) if isinstance(machine, str) else []
    there = _machine(machine)
    from chorale import resharding

    text, result = _chorale.reshard(there, resharding.asked(asked, "question", there.ranks), host, float(search_time))
    answer = resharding.Resharding(asked, "question", json.loads(text))
    files = answer.files() if result.points else {}
    return Document({**json.loads(answer.json()), "files": files, "result": result}, json.dumps(answer.report()))


def _machine(given: Machine) -> Topology:
    return given if isinstance(given, Topology) else machine(given)


def _collective(given: Asked, there: Topology, root: Optional[int]) -> Collective:
    if not isinstance(given, Collective):
        return collective(given, there, root)
    if root is not None:
        raise InputError("root: is for collectives that are named; give it to collective()")
    return given
