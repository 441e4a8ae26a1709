"""The collectives that a job calls, as traces and logs of other programs have them (docs/jobs.md lists the
formats). Traces differ between versions of PyTorch and NCCL, so a field that is absent or of another type
counts as not known; a text that is not a trace at all is refused, and so are malformed numbers of tables,
since a job that is half read would give a wrong total.
"""

from __future__ import annotations

import collections
import gzip
import json
import math
import mmap
import operator
import os
import re
import zlib
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from chorale.command import counted
from chorale.errors import InputError

KNOWN = ("known are PyTorch's profiler, flight recorder and execution trace, Chakra, NCCL's inspector, "
         "profiler plugin and log, and tables")
MOST_RANKS = 1 << 30
MOST_UNPACKED = 1 << 30  # bytes
MOST_PARSED = 16 << 20  # bytes; of a longer profile only the events of collectives are parsed
MOST_BYTES = 1 << 50

# Those of which the larger buffer of a rank has one block, and as many as ranks.
_ONE_BLOCK = {"broadcast", "reduce", "allreduce"}
_BLOCKS = {"scatter", "gather", "allgather", "alltoall", "reducescatter"}

# By the bytes of an element, names that PyTorch gives types in traces.
_TYPES = {
    1: {"char", "signed char", "byte", "unsigned char", "bool"},
    2: {"half", "bfloat16", "short", "short int"},
    4: {"float", "int", "float32"},
    8: {"double", "long", "long int", "float64", "complexfloat", "int64"}
}

# Of ncclDataType_t, by number: signed and unsigned of 8, 32 and 64 bits, half, float, double, bfloat16, and
# two of 8 bits.
_NCCL_TYPES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)


class Call(NamedTuple):
    operation: str  # as it was logged: "_allgather_base"
    group: str = ""
    members: Sequence[int] = ()  # of the group, if known
    ranks: int = 0  # of the group; 0: not known
    message_bytes: int = 0
    calls: int = 1
    us: float = 0  # of all of them; 0: not known
    # What the ranks of a group have to agree on; 0, "" and (): not known.
    number: int = 0  # in the group, as its library counts
    common_bytes: int = 0  # alike on all ranks
    type: str = ""
    state: str = ""
    sends: Sequence[int] = ()  # to each member, in rows of the tensor
    receives: Sequence[int] = ()


def collective(name: str) -> Optional[str]:
    """What MPI, NCCL and PyTorch call it, whose internal forms have names of their own: "_allgather_base",
    "allgather_into_tensor_coalesced", "all_to_allv"."""
    name = name.lstrip("_")
    for form in ("_coalesced", "_base", "_into_tensor", "_tensor", "_async"):
        name = name.removesuffix(form)
    if name in ("all_to_allv", "alltoallv", "all_to_all", "AlltoAll"):
        name = "alltoall"
    name = name.replace("-", "").replace("_", "").lower()
    for library in ("mpi", "nccl", "rccl"):
        name = name.removeprefix(library)
    for form in ("intotensor", "tensor", "single", "block"):
        name = name.removesuffix(form)
    name = "broadcast" if name == "bcast" else name
    return name if name in _ONE_BLOCK | _BLOCKS else None


def _whole_bytes(number: float, where: str) -> int:
    if not abs(number) <= MOST_BYTES:  # nor is an infinite product with 0
        raise InputError(
            f"{where}: has a message of more than 2^50 bytes; the trace is damaged: record it again")
    return int(number)


def _shape(members: Sequence[int]) -> str:
    """As many ranks at one distance are one group: a job has many data-parallel groups, of one pattern."""
    steps = {b - a for a, b in zip(members, members[1:])}
    if len(steps) > 1:
        return " ".join(map(str, members))
    apart = steps.pop() if steps else 1
    return counted(len(members), "rank") + ("" if apart == 1 else f", {apart} apart")


def _common_bytes(operation: str, into: int, out: int) -> int:
    """Of a gather or scatter the block, since the buffers of the root have all; of an Alltoall none, since it
    may be uneven."""
    kind = collective(operation)
    if kind == "alltoall":
        return 0
    return min(into or out, out or into) if kind in ("gather", "scatter") else max(into, out)


def _ranks(ranks: Sequence[Union[int, str]], verb: str = "") -> str:
    """"ranks 0-2, 5", and with "wait" what they do; traces whose ranks are not known have their names."""
    numbers = {rank for rank in ranks if isinstance(rank, int)}
    starts = [rank for rank in sorted(numbers) if rank - 1 not in numbers]
    ends = [rank for rank in sorted(numbers) if rank + 1 not in numbers]
    parts = [f"{a}-{b}" if a < b else f"{a}" for a, b in zip(starts, ends)] or list(map(str, ranks))
    text = ", ".join(parts[:8]) + (f" and {len(parts) - 8} more" if len(parts) > 8 else "")
    one = len(ranks) == 1
    verbs = {"be": "are", "have": "have"}, {"": "", "be": "is", "have": "has"}
    verb = verbs[one].get(verb, verb + "s" * one)
    return f"{'' if not numbers else 'rank ' if one else 'ranks '}{text} {verb}".rstrip()


_Steps = Dict[Union[int, str], Dict[Tuple[int, int], Call]]  # [rank][number, which of that number]


class Order:
    """The calls of each group in the order of each rank, where a file is a rank."""

    def __init__(self) -> None:
        self.ranks: Dict[str, Optional[int]] = {}  # by file; None: the file does not have it
        self.calls: Dict[Tuple[str, Tuple[int, ...]], Dict[str, List[Call]]] = {}

    def add(self, file: str, call: Call) -> None:
        """One of an unknown group, or between two ranks, is in no order."""
        operation = collective(call.operation) or ("barrier" if "barrier" in call.operation else "")
        if operation and call.group:
            files = self.calls.setdefault((call.group, tuple(call.members)), {})
            files.setdefault(file, []).append(call._replace(operation=operation, members=()))

    def _names(self) -> Dict[str, Union[int, str]]:
        """The ranks of files; by the numbers in their names if these are ranks of their groups. Otherwise the
        files."""
        names: Dict[str, Any] = dict(self.ranks)
        groups = [(members, files) for (_, members), files in self.calls.items() if members]
        for file in (file for file in names if names[file] is None):
            name = os.path.basename(file)
            found = re.findall(r"rank[._-]?([0-9]{1,9})(?![0-9])", name)
            found = found or groups and re.findall("[0-9]+", name)
            names[file] = int(found[-1]) if found else None
        twice = len({*names.values()}) < len(names) and None in self.ranks.values()
        fit = all(names[file] in members for members, files in groups for file in files)
        return names if fit and not twice and None not in names.values() else {file: file for file in names}

    def mismatches(self) -> List[Dict[str, Any]]:
        """The first of each group. Groups of one name whose members are not known are left out."""
        names, rows = self._names(), []
        for (group, members), files in sorted(self.calls.items()):
            ranks: Dict[Union[int, str], List[Call]] = {}
            for file, calls in sorted(files.items(), key=lambda each: names[each[0]]):
                ranks.setdefault(names[file], []).extend(calls)
            size = len(members) or max(call.ranks for calls in ranks.values() for call in calls)
            idle = sorted({*names.values()} & {*members} - {*ranks})
            if len(ranks) > size > 0 or len(ranks) + len(idle) == 1:
                continue
            numbered = all(call.number > 0 for calls in ranks.values() for call in calls)
            found = _first_mismatch(_numbered(ranks) if numbered else _aligned(ranks),
                                    members or range(size if size == len(ranks) else 0), numbered)
            if not found and idle:
                found = 0, idle, f"{_ranks(idle, 'have')} no call where {_ranks([*ranks], 'have')} some"
            if found:
                number, odd, sentence = found
                rows.append({
                    "group": group,
                    "members": " ".join(map(str, members)),
                    "number": number,
                    "ranks": odd,
                    "mismatch": f"{sentence} (group {group})"
                })
        return rows


def _numbered(ranks: Dict[Union[int, str], List[Call]]) -> _Steps:
    """Calls that are launched together have one number."""
    steps: _Steps = {}
    for rank, calls in ranks.items():
        seen: Dict[int, int] = collections.Counter()
        for call in calls:
            steps.setdefault(rank, {})[call.number, seen[call.number]] = call
            seen[call.number] += 1
    return steps


def _aligned(ranks: Dict[Union[int, str], List[Call]]) -> _Steps:
    """By their places. Traces may begin and end some calls apart: one is, if then all calls agree where they
    overlap, and these are 8 more than agree without."""
    kinds = {
        rank: tuple((call.operation, call.common_bytes) for call in calls) for rank, calls in ranks.items()
    }
    often = collections.Counter(kinds.values())
    model = max(often, key=lambda kind: (often[kind], len(kind)))
    steps: _Steps = {}
    for rank, own in kinds.items():

        agree = sum(map(operator.eq, own, model))

        def overlap(shift: int) -> int:
            """0 if not all agree there."""
            part = own[max(0, -shift):max(0, len(model) - shift)]
            return len(part) if part == model[max(0, shift):][:len(part)] else 0

        shifts = sorted({*range(-8, 9), len(model) - len(own)}, key=abs) if own != model else [0]
        shift = max(shifts, key=overlap)
        shift = shift if overlap(shift) >= agree + 8 else 0
        steps[rank] = {(place + shift + 1, 0): call for place, call in enumerate(ranks[rank])}
    return steps


_Mismatch = Tuple[int, List[Union[int, str]], str]  # number, ranks that differ, sentence


def _first_mismatch(steps: _Steps, members: Sequence[int], numbered: bool) -> Optional[_Mismatch]:
    last = {rank: max(calls) for rank, calls in steps.items()}
    early = [rank for rank in steps if last[rank] < max(last.values())]
    for at in sorted({at for calls in steps.values() for at in calls}):
        calls = {rank: steps[rank][at] for rank in steps if at in steps[rank]}
        found = _differing(at[0], calls) or _splits(at[0], calls, members)
        ended = [rank for rank in early if last[rank] < at]
        if not found and ended:
            call = next(iter(calls.values()))
            waits = numbered and all(each.state in ("scheduled", "started") for each in calls.values())
            found = at[0], ended, f"{_ranks(ended, 'end')} before {call.operation} #{at[0]} that " + _ranks(
                [*calls], "have") + (f": {_ranks([*calls], 'wait')} for {_ranks(ended)}" if waits else "")
        if found:
            return found
    return None


def _differing(number: int, calls: Dict[Union[int, str], Call]) -> Optional[_Mismatch]:
    """Ranks that differ from the most, or from the first of as many."""

    def parts(of: str) -> List[Tuple[Any, List[Union[int, str]]]]:
        found: Dict[Any, List[Union[int, str]]] = {}
        for rank, call in calls.items():
            if getattr(call, of):
                found.setdefault(getattr(call, of), []).append(rank)
        return sorted(found.items(), key=lambda part: -len(part[1]))

    if len({(call.operation, call.type, call.common_bytes, call.state) for call in calls.values()}) == 1:
        return None
    operation = next(iter(calls.values())).operation
    for of, verb, text in (("operation", "be", "in {} #{n}"), ("type", "have", "{} in {op} #{n}"),
                           ("common_bytes", "have", "{} bytes in {op} #{n}")):
        differ = parts(of)
        if len(differ) > 1:
            (most, ranks), (other, odd) = differ[:2]
            first, second = (text.format(each, n=number, op=operation) for each in (other, most))
            waits = f"{_ranks(ranks, 'wait')} for {_ranks(odd)}"
            waits = waits if len(ranks) > len(odd) else "each waits for the other"
            return number, odd, f"{_ranks(odd, verb)} {first} where {_ranks(ranks, verb)} {second}" + (
                f": {waits}" if of == "operation" else "")
    states = dict(parts("state"))
    if {*states} == {"scheduled", "started"}:
        odd, ranks = states["scheduled"], states["started"]
        return number, odd, (f"{_ranks(odd, 'have')} not started {operation} #{number} that "
                             f"{_ranks(ranks, 'have')}: {_ranks(ranks, 'wait')} for {_ranks(odd)}")
    return None


def _splits(number: int, calls: Dict[Union[int, str], Call], members: Sequence[int]) -> Optional[_Mismatch]:
    """What a rank sends another and what that expects."""
    if not any(call.sends for call in calls.values()):
        return None
    place = {rank: at for at, rank in enumerate(members) if rank in calls}
    for a, b in ((a, b) for a in place for b in place):
        sends, receives = calls[a].sends, calls[b].receives
        if len(sends) == len(receives) == len(members) and sends[place[b]] != receives[place[a]]:
            sent, expected, operation = sends[place[b]], receives[place[a]], calls[a].operation
            waits = f": rank {b} waits for rank {a}" if sent < expected else ""
            return number, [a, b], (f"rank {a} sends {sent} to rank {b} in {operation} #{number}, and rank "
                                    f"{b} expects {expected}{waits}")
    return None


class Tally:
    """What ranks did."""

    def __init__(self) -> None:
        # [group, collective, ranks, bytes][rank] -> calls, microseconds
        self.sums: Dict[Tuple[str, str, int, int], Dict[str, List[float]]] = {}
        self.members: Dict[str, str] = {}  # of the first of each group
        self.skipped: Dict[str, int] = collections.Counter()
        self.duration_us = 0.0  # the longest of the ranks
        self.order = Order()

    def add_next(self, file: str, call: Call) -> None:
        """The call that the rank with this file makes next of its group."""
        self.add(file, call)
        self.order.add(file, call)

    def add(self, rank: str, call: Call) -> None:
        kind = collective(call.operation)
        if kind is None or call.message_bytes <= 0:
            self.skipped[call.operation + ("" if kind is None else " without a size")] += call.calls
            return
        group = _shape(call.members) if call.members else call.group
        self.members.setdefault(group, " ".join(map(str, call.members)))
        key = (group, kind, len(call.members) or call.ranks, call.message_bytes)
        total = self.sums.setdefault(key, {}).setdefault(rank, [0, 0])
        total[0] += call.calls
        total[1] += call.us

    def lasted(self, spans: Sequence[Tuple[float, float]]) -> None:
        """From the first start to the last end of (start, length)."""
        if spans:
            last = max(start + length for start, length in spans)
            self.duration_us = max(self.duration_us, last - min(start for start, _ in spans))

    def job(self) -> Dict[str, Any]:
        """Ranks of one group make the same calls, so they are not added up: the ranks with the most calls
        count, as traces may begin late, and of these the least time, since the others contain the wait for
        the last rank."""
        rows = []
        for (group, kind, ranks, size), by_rank in sorted(self.sums.items()):
            calls = max(number for number, _ in by_rank.values())
            us = min((us for number, us in by_rank.values() if number == calls and us > 0), default=0)
            rows.append({
                "group": group,
                "collective": kind,
                "ranks": ranks,
                "members": self.members[group],
                "message_bytes": size,
                "calls": calls,
                "us": us
            })
        rows.sort(key=lambda row: (-row["us"], -row["message_bytes"] * row["calls"]))
        return {
            "duration_us": self.duration_us,
            "calls": rows,
            "skipped": [{
                "operation": name,
                "calls": calls
            } for name, calls in sorted(self.skipped.items())],
            "mismatches": self.order.mismatches()
        }


_NAMES = (".json", ".json.gz", ".et")


def _files_of(path: str) -> List[str]:
    """A folder, as HTA takes one, is the traces in it."""
    if not os.path.isdir(path):
        return [path]
    found = sorted(each.path for each in os.scandir(path) if each.name.endswith(_NAMES) and each.is_file())
    if not found:
        raise InputError(f"{path}: has no file that ends in {', '.join(_NAMES)}; give its traces by name")
    return found


def job_of(traces: Sequence[str]) -> Dict[str, Any]:
    """The job of these traces: "duration_us", "calls", the longest first, or the most bytes, "skipped" and
    "mismatches", as docs/formats.md has them. Throws InputError with the file and the place."""
    tally = Tally()
    files = [file for each in traces for file in _files_of(each)]
    for file in files:
        _read_trace(file, _mapped(file), len(files), tally)
    job = tally.job()
    if not job["calls"]:
        names = ", ".join(each["operation"] for each in job["skipped"])
        raise InputError(f"{files[0]}: has no collective with a size and ranks" + (
            f"; it has {names}; PyTorch's profiler needs Kineto, and record_shapes=True for gloo, and before "
            "PyTorch 2.2; Chakra's traces may need those of all ranks" if names else ""))
    return job


Data = Union[bytes, mmap.mmap]


def _mapped(path: str) -> Data:
    """A file, which is not copied. Throws InputError where it cannot be read."""
    try:
        with open(path, "rb") as file:
            try:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (ValueError, OSError):  # it is empty, or a pipe
                return file.read()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; check the path") from None


def _unpacked(path: str) -> bytes:
    """What gzip has packed, as folders of traces have them. Throws InputError if it is damaged or too long."""
    try:
        with gzip.open(path) as file:
            data = file.read(MOST_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: is not what gzip writes: {error}; pack it again") from None
    if len(data) > MOST_UNPACKED or data[:2] == b"\x1f\x8b":
        raise InputError(f"{path}: holds more than {MOST_UNPACKED >> 20} MiB, or is packed twice; give it unpacked")
    return data


_LAUNCHED = re.compile(r"\s*\[[0-9]+(,[0-9]+)?\](<[a-z]+>)?[: ] *[^\s,\]]")  # mpirun's tags of a process's lines


def _read_trace(file: str, data: Data, traces: int, tally: Tally) -> None:
    """By the format that it has. Binary formats are recognized by their first bytes; the inspector comes
    before the parser, since its file is a sequence of objects."""
    if _is_chakra(data):
        return _read_chakra(file, data, traces, tally)
    if data[:2] == b"\x1f\x8b":
        return _read_trace(file, _unpacked(file), traces, tally)
    if data[:1] == b"\x80":
        from chorale.recorder import as_json  # which is a program, too: the package does not import it
        return _read_flight_recorder(file, _parsed(file, as_json(file)), tally)
    if data[:2] == b"PK":
        raise InputError(f"{file}: is what torch.save writes; give a dump of the flight recorder itself")
    if len(data) > MOST_PARSED and data.find(b'"traceEvents"') >= 0:
        calls = _calls_of_long(file, data)
        if calls is not None:
            return _read_profile(file, *calls, file, tally)
    text = data[:].decode("utf-8", "surrogateescape")
    if text.lstrip()[:1] not in ("{", "[") or _LAUNCHED.match(text):
        return (_read_nccl_log if " NCCL INFO " in text else _read_table)(file, text, tally)
    if '"coll_perf"' in text:
        return _read_inspector(file, text, tally)
    if '"COMM_COLL_NODE"' in text:
        return _read_chakra_json(file, text, traces, tally)
    trace = _parsed(file, text)
    if isinstance(trace, list):
        return _read_profile(f"{file}: ", enumerate(trace), {}, [], file, tally)
    if isinstance(trace.get("traceEvents"), list):
        return _read_profile(f"{file}: traceEvents", enumerate(trace["traceEvents"]),
                             trace.get("distributedInfo"), [], file, tally)
    if isinstance(trace.get("entries"), list):
        return _read_flight_recorder(file, trace, tally)
    if isinstance(trace.get("nodes"), list):
        return _read_execution_trace(file, trace["nodes"], tally)
    raise InputError(f"{file}: is not a known trace; {KNOWN}")


def _parsed(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}:{error.lineno}:{error.colno}: is not JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{where}: is nested too deeply") from None


# Members of JSON objects: what lacks or is of another type is not known.


def _text(json_object: Any, key: str) -> str:
    value = json_object.get(key) if isinstance(json_object, dict) else None
    return value if isinstance(value, str) else ""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number(json_object: Any, key: str, where: str, most: float = 1e18) -> float:
    value = json_object.get(key) if isinstance(json_object, dict) else None
    if not _is_number(value):
        return 0
    if not abs(value) <= most:
        raise InputError(f"{where}.{key}: {json.dumps(value)} is out of range; use {-most} to {most}")
    return value


def _list(json_object: Any, key: str) -> List[Any]:
    value = json_object.get(key) if isinstance(json_object, dict) else None
    return value if isinstance(value, list) else []


def _listed_ranks(json_object: Any, key: str) -> List[int]:
    """"[0, 1, 2]", or the same as a list; none if it is cut short ("[0, 1, ...]")."""
    text = _text(json_object, key)
    if "..." in text:
        return []
    ranks = [int(number) for number in re.findall("[0-9]+", text)] if text else _list(json_object, key)
    return ranks if all(isinstance(rank, int) and 0 <= rank <= MOST_RANKS for rank in ranks) else []


def _type_bytes(name: Any) -> int:
    """0: not known."""
    name = name.lower().removeprefix("c10::") if isinstance(name, str) else ""
    if name.startswith(("float8", "f8")):
        return 1
    if name.startswith("nccl"):  # ncclFloat32, ncclFloat8e4m3
        return int((re.findall("[0-9]{1,3}", name) or ["0"])[0]) // 8
    return next((size for size, names in _TYPES.items() if name in names), 0)


def _elements(dims: Any) -> float:
    """Of a list of sizes, which may be nested: [[3,4]], [[[3,4],[2]]]; one of no dimensions is none."""
    if not isinstance(dims, list) or not dims:
        return 0
    if _is_number(dims[0]):
        return math.prod(float(size) for size in dims if _is_number(size))
    return sum(map(_elements, dims))


# PyTorch's profiler.


def _call_of_args(args: Any, us: float, where: str) -> Call:
    """With "Collective name" and counts of elements: a kernel of NCCL, or record_param_comms, which only
    launches it. The larger buffer of the rank is the message, as nccl-tests counts."""
    operation, size = _text(args, "Collective name"), _type_bytes(args.get("dtype"))
    into, out = (_whole_bytes(
        _number(args, f"{which} msg nelems", where) * size, where) for which in ("In", "Out"))
    return Call(operation,
                _text(args, "Process Group Name"),
                _listed_ranks(args, "Process Group Ranks"),
                int(_number(args, "Group size", where, MOST_RANKS)),
                max(into, out),
                us=us,
                number=int(_number(args, "Seq", where)),
                common_bytes=_common_bytes(operation, into, out),
                type=_text(args, "dtype"),
                sends=_listed_ranks(args, "In split size"),
                receives=_listed_ranks(args, "Out split size"))


def _call_of_shapes(name: str, args: Any, ranks: int, us: float, where: str) -> Call:
    """"gloo:all_reduce", of all ranks, by the sizes of its tensors: of the rank's own tensor. With an unknown
    number of ranks a gather has no size, and is skipped. Of NCCL, in traces of PyTorch before 2.2, the time
    is that of its launch, and not known."""
    backend, operation = name.split(":", 1)
    us = 0 if backend == "nccl" else us
    size = _type_bytes(
        (_list(args, "Input type") or [""])[0]) or 4  # of an element, if the trace does not say
    tensors = ranks if "gather" in operation else 1
    return Call(operation,
                "all",
                ranks=ranks,
                us=us,
                message_bytes=_whole_bytes(_elements(args.get("Input Dims")) * size * tensors, where))


def _call_of_plugin(name: str, args: Any, where: str) -> Call:
    """Of the profiler plugin that NCCL has as an example: "AllReduce" with a count of elements, which is of a
    block where ranks have blocks; how many ranks there are is not known, nor how long the kernel takes."""
    size = _number(args, "Count", where) * _type_bytes(_text(args, "Datatype"))
    return Call(name,
                str(args.get("CommHash", "")),
                message_bytes=0 if collective(name) in _BLOCKS else _whole_bytes(size, where),
                number=int(_number(args, "SeqNum", where)) + 1,
                common_bytes=_whole_bytes(size, where))


_BACKENDS = ("gloo:", "mpi:", "ucc:", "nccl:")
# Of an event, whose first key this is: in JSON no text contains a quotation mark, so none contains this.
_EVENT = re.compile(rb'\{\s*"(?:ph|name)"\s*:')
_SPAN = re.compile(rb'"ts"\s*:\s*"?([0-9.eE+-]+)"?\s*,\s*"dur"\s*:\s*"?([0-9.eE+-]+)')
_FURTHEST = 1 << 16  # bytes from the beginning of an event to the name of its collective


def _calls_of_long(file: str,
                   data: Data) -> Optional[Tuple[Iterable[Tuple[int, Any]], Any, List[Tuple[float, float]]]]:
    """The events of collectives, each with its place in the file, what the trace has of its rank, and the
    span of all events. None
    where events are not written as PyTorch writes them: then the whole text has to be parsed."""
    begins = set()
    for word in (b'"Collective name"', *(f'"{backend}'.encode() for backend in _BACKENDS)):
        at = data.find(word)
        while at >= 0:
            window = max(0, at - _FURTHEST)
            starts = [match.start() for match in _EVENT.finditer(data, window, at)]
            if not starts:
                return None
            begins.add(starts[-1])
            at = data.find(word, at + 1)
    decoder, events = json.JSONDecoder(), []
    for begin in sorted(begins):
        try:
            text = data[begin:begin + 4 * _FURTHEST].decode("utf-8", "surrogateescape")
            event, _ = decoder.raw_decode(text)
        except (json.JSONDecodeError, RecursionError):
            return None
        if "ph" not in event:
            return None
        events.append((begin, event))
    first, last = math.inf, -math.inf
    for match in _SPAN.finditer(data):
        try:
            start, length = float(match[1]), float(match[2])
        except ValueError:
            return None
        first, last = min(first, start), max(last, start + length)
    if last < first or data[-4096:].rstrip()[-1:] != b"}":  # it is cut short: an error, which parsing names
        return None
    info = {}
    for key in ("rank", "world_size"):
        found = re.search(rb'"distributedInfo"[^{}]*\{[^{}]*"%s"\s*:\s*([0-9]{1,9})' % key.encode(), data)
        info[key] = int(found[1]) if found else None
    return events, info, [(first, last - first)]


def _has_rank(info: Any) -> bool:
    return isinstance(info, dict) and isinstance(info.get("rank"), int) and 0 <= info["rank"] <= MOST_RANKS


def _read_profile(place: str, events: Iterable[Tuple[int, Any]], info: Any,
                  spans: List[Tuple[float, float]], file: str, tally: Tally) -> None:
    """Complete events ("ph": "X") alone have a duration. A collective may be there as a kernel, as what
    launches it, and as a backend's event: the first of these kinds that the trace has counts, so that none
    counts twice. `spans` is of the whole trace; empty: it is that of these events. `info` may have the
    number of ranks and the rank."""
    kernels: List[Tuple[float, Call]] = []
    launches: List[Tuple[float, Call]] = []
    shapes: List[Call] = []
    own_spans: List[Tuple[float, float]] = []
    ranks = int(_number(info, "world_size", f"{file}: distributedInfo", MOST_RANKS))
    tally.order.ranks[file] = info["rank"] if _has_rank(info) else None
    for number, event in events:
        where = f"{place}[{number}]"
        if (_text(event, "ph"), _text(event, "cat")) == ("b", "COLL") and isinstance(event.get("args"), dict):
            launches.append((_number(event, "ts", where),
                             _call_of_plugin(_text(event, "name"), event["args"], f"{where}.args")))
        if _text(event, "ph") != "X":
            continue
        name, us, args = _text(event, "name"), _number(event, "dur", where), event.get("args")
        start = _number(event, "ts", where)
        own_spans.append((start, us))
        if not isinstance(args, dict):
            continue
        if "Collective name" in args:
            is_kernel = _text(event, "cat") == "kernel"
            (kernels if is_kernel else launches).append(
                (start, _call_of_args(args, us if is_kernel else 0, f"{where}.args")))
        elif name.startswith(_BACKENDS) and _text(event, "cat") != "gpu_user_annotation":
            shapes.append(_call_of_shapes(name, args, ranks, us, f"{where}.args"))
    for _, call in sorted(kernels or launches, key=lambda each: each[0]):
        tally.add_next(file, call)
    for call in shapes if not kernels and not launches else ():
        tally.add(file, call)
    tally.lasted(spans or own_spans)


def _read_flight_recorder(file: str, trace: Any, tally: Tally) -> None:
    """{"entries": [{"profiling_name": "nccl:all_reduce", "process_group": ["0", ..], "input_sizes": [[..]],
    ..}], "pg_config": {"0": {"ranks": "[0, 1]"}}}."""

    def bytes_in(entry: Any, sizes: str, types: str) -> float:
        names = _list(entry, types)
        return sum(
            _elements(dims) * (_type_bytes(names[i]) if i < len(names) else 4)
            for i, dims in enumerate(_list(entry, sizes)))

    spans = []
    tally.order.ranks[file] = None
    for number, entry in enumerate(trace["entries"]):
        where = f"{file}: entries[{number}]"
        group = (_list(entry, "process_group") or [""])[0]
        group = group if isinstance(group, str) else ""
        groups = trace.get("pg_config")
        us = 1000 * _number(entry, "duration_ms", where)
        created = _number(entry, "time_created_ns", where, 9e18)  # since 1970: of 2026 it is 1.8e18
        if created > 0:
            spans.append((created / 1000, us))
        operation = _text(entry, "profiling_name").split(":", 1)[-1]
        into, out = (_whole_bytes(bytes_in(entry, f"{which}_sizes", f"{which}_dtypes"), where)
                     for which in ("input", "output"))
        tally.add_next(
            file,
            Call(operation,
                 group,
                 _listed_ranks(groups.get(group) if isinstance(groups, dict) else None, "ranks"),
                 us=us,
                 message_bytes=max(into, out),
                 number=int(_number(entry, "collective_seq_id", where) or _number(entry, "seq_id", where)),
                 common_bytes=_common_bytes(operation, into, out),
                 type=_text({"type": (_list(entry, "input_dtypes") or [""])[0]}, "type"),
                 state=_text(entry, "state")))
    tally.lasted(spans)


# NCCL's inspector and log, and tables.


def _read_inspector(file: str, text: str, tally: Tally) -> None:
    """Objects one after the other, with or without a line each; the last of a run that was ended may be cut.
    {"header": {"id", "rank", "n_ranks", ..}, "coll_perf": {"coll", "coll_msg_size_bytes",
    "coll_exec_time_us"}}: a rank is known by its number within its communicator."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            each, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if "\n" not in text[error.pos:].strip():
                return
            raise InputError(f"{file}:{error.lineno}:{error.colno}: is not JSON: {error.msg}") from None
        at = text.find("{", at)
        if not isinstance(each, dict) or "header" not in each or "coll_perf" not in each:
            continue  # a message between two ranks
        header, perf = each["header"], each["coll_perf"]
        communicator, name = _text(header, "id"), _text(header, "comm_name")
        rank = int(_number(header, "rank", f"{file}: header", MOST_RANKS))
        where = f"{file}: coll_perf"
        tally.add(
            f"{rank} of {communicator}",
            Call(_text(perf, "coll"),
                 communicator if name in ("", "unknown") else name,
                 ranks=int(_number(header, "n_ranks", f"{file}: header", MOST_RANKS)),
                 message_bytes=_whole_bytes(_number(perf, "coll_msg_size_bytes", where), where),
                 us=_number(perf, "coll_exec_time_us", where)))


def _required(text: str, what: str, where: str, most: int = MOST_BYTES) -> int:
    if re.fullmatch("[0-9]{1,18}", text) and int(text) <= most:
        return int(text)
    raise InputError(f"{where}: '{text[:40]}' is not {what}")


def _read_nccl_log(file: str, text: str, tally: Tally) -> None:
    """"host:pid:tid [0] NCCL INFO AllReduce: opCount 5 sendbuff 0x.. recvbuff 0x.. count 1024 datatype 7 op 0
    root 0 comm 0x.. [nranks=8] stream 0x..": the count is of a block where ranks have blocks."""
    for number, line in enumerate(text.split("\n"), 1):
        process, info, rest = line.partition(" NCCL INFO ")
        operation, is_call, _ = rest.partition(": opCount ")
        if not info or not is_call:
            continue
        where = f"{file}: line {number}"

        def after(word: str) -> str:
            return re.split("[ ,\\]]", line.partition(word)[2], maxsplit=1)[0]

        # Threads of a process that drive one GPU (forward and autograd's) are one rank.
        process = re.sub(r":[0-9]+ \[", " [", process)
        count = _required(after(" count "), "a count", where)
        kind = _required(after(" datatype "), "the number of a type", where)
        ranks = _required(after("[nranks="), "a number of ranks", where, MOST_RANKS)
        if kind >= len(_NCCL_TYPES):  # of a later NCCL: without its size the bytes are not known
            raise InputError(f"{where}: datatype {kind} is not known")
        blocks = ranks if collective(operation) in _BLOCKS else 1
        # A communicator has an address in each process: by its ranks they are alike.
        tally.add(
            process,
            Call(operation,
                 counted(ranks, "rank"),
                 ranks=ranks,
                 message_bytes=_whole_bytes(float(count) * _NCCL_TYPES[kind] * blocks, where)))


def _read_table(file: str, text: str, tally: Tally) -> None:
    """"collective,ranks,bytes,calls,us" in any order; other columns, and lines that begin with '#', are
    ignored. Quotes are removed and mean nothing: a cell with a comma in it is two."""
    header: List[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.startswith("#"):
            continue
        where = f"{file}: line {number}"
        cells = [cell.strip(" \t\r\"") for cell in line.split(",")]
        if not header:
            header = cells
            for needed in ("collective", "ranks", "bytes"):
                if needed not in header:
                    raise InputError(
                        f"{where}: is not a known trace, nor a table with a column '{needed}'; {KNOWN}")
            continue
        if len(cells) != len(header):
            raise InputError(f"{where}: has other columns than the header")
        row = dict(zip(reversed(header), reversed(cells)))  # of two columns of one name the first
        ranks = _required(row["ranks"], "a number of ranks", where, MOST_RANKS)
        us = row.get("us") or "0"
        if not re.fullmatch(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|\.[0-9]+", us) or math.isinf(float(us)):
            raise InputError(f"{where}: '{us[:40]}' is not a time")
        tally.add(
            file,
            Call(row["collective"],
                 row.get("group") or counted(ranks, "rank"),
                 ranks=ranks,
                 us=float(us),
                 message_bytes=_required(row["bytes"], "a number of bytes", where),
                 calls=_required(row.get("calls") or "1", "a number of calls", where)))


# Execution traces of Chakra (MLCommons, et_def.proto): messages of protocol buffers, each after its length,
# first the metadata, then a node per operation. COMM_COLL_NODE of a device has comm_type, comm_size (bytes of
# a rank's input) and perhaps pg_name, a process group; PyTorch's groups are in a METADATA_NODE, as JSON in a
# list of Python.

_CHAKRA = ("all_reduce", "reduce", "all_gather", "gather", "scatter", "broadcast", "all_to_all",
           "reduce_scatter", "reduce_scatter", "barrier")  # by comm_type
_ATTRIBUTE, _NODE_ATTRIBUTE = 2, 10
_NAME, _KIND, _START, _DURATION, _INPUTS = 2, 3, 6, 7, 8  # fields of a node
_SEND, _RECEIVE, _COLLECTIVE = 5, 6, 7  # its kinds


class _Damaged(Exception):
    pass


def _varint(data: bytes, at: int) -> Tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
    raise _Damaged


def _sized(data: bytes, at: int) -> Tuple[bytes, int]:
    size, at = _varint(data, at)
    if size > len(data) - at:
        raise _Damaged
    return data[at:at + size], at + size


def _fields(message: bytes) -> Iterator[Tuple[int, Any]]:
    """(number, integer or bytes) of a whole message; groups are not read."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if not 0 < number <= 0x1fffffff or kind not in (0, 1, 2, 5):
            raise _Damaged
        if kind == 0:
            value, at = _varint(message, at)
            yield number, value
        elif kind == 2:
            inside, at = _sized(message, at)
            yield number, inside
        else:
            end = at + (8 if kind == 1 else 4)
            if end > len(message):
                raise _Damaged
            yield number, int.from_bytes(message[at:end], "little")
            at = end


def _is_chakra(data: bytes) -> bool:
    """The first record is the metadata: a version and attributes, and nothing else."""
    try:
        first, end = _sized(data, 0)
        fields = list(_fields(first))
    except _Damaged:
        return False
    return (bool(fields) or end < len(data)) and all(number in (1, _ATTRIBUTE) for number, _ in fields)


def _attributes(message: Sequence[Tuple[int, Any]], field: int) -> Dict[bytes, Any]:
    """Numbers of type sint are zigzag-encoded (0, -1, 1, -2, ...)."""
    found = {}
    for number, inside in message:
        if number != field:
            continue
        name, value = b"", b""
        for kind, each in _fields(inside if isinstance(inside, bytes) else b""):
            if kind == 1:
                name = each
            elif kind in (15, 17):
                value = each >> 1 ^ -(each & 1)
            else:
                value = each - (1 << 64) if isinstance(each, int) and each >> 63 else each
        found[name] = value
    return found


def _integer(values: Dict[Any, Any], name: Any) -> int:
    value = values.get(name)
    return value if isinstance(value, int) else 0


def _bytes(values: Dict[Any, Any], name: Any) -> bytes:
    value = values.get(name)
    return value if isinstance(value, bytes) else b""


def _word(values: Dict[bytes, Any], name: bytes) -> str:
    return _bytes(values, name).decode("utf-8", "surrogateescape")


def _groups_in(inputs: bytes, where: str) -> Dict[str, List[int]]:
    """['[{"pg_name": "0", "ranks": [0, 1]}, ...]']; without ranks a group has all."""
    start, end = inputs.find(b"[{"), inputs.rfind(b"}]")
    if start < 0 or end < start:
        return {}
    groups = {}
    for group in _parsed(where, inputs[start:end + 2].decode("utf-8", "surrogateescape")):
        size = int(_number(group, "pg_size", where, 1 << 24))
        groups[_text(group, "pg_name")] = _listed_ranks(group, "ranks") or list(range(size))
    return groups


def _chakra_call(values: Dict[bytes, Any], us: float, groups: Dict[str, List[int]], traces: int,
                 where: str) -> Call:
    """A group that is not listed has all ranks: as many as there are traces, if there are several. A single
    trace does not contain the number: it is then 0, not known."""
    kind = _integer(values, b"comm_type")
    operation = _CHAKRA[kind] if 0 <= kind < len(_CHAKRA) else f"type {kind}"
    group = _word(values, b"pg_name")
    members = groups.get(group, [])
    ranks = len(members)
    if not members and group in ("", "0"):  # PyTorch calls its default group "0"
        ranks = traces if traces > 1 else 0
        group = counted(ranks, "rank") if ranks else "all"
    size = common = min(max(_integer(values, b"comm_size"), 0), MOST_BYTES)
    # comm_size is of a rank's input; the message of these is all inputs together.
    if operation in ("all_gather", "gather"):
        size = _whole_bytes(float(size) * ranks, where)
    common = 0 if operation in ("all_to_all", "scatter") else common
    return Call(operation, group, members, ranks, size, us=us, common_bytes=common)


def _add_chakra(file: str, collectives: List[Tuple[float, Dict[bytes, Any], float]],
                groups: Dict[str, List[int]], traces: int, tally: Tally) -> None:
    """(start, attributes, length) of each. Without a name of its group it may be of any."""
    tally.order.ranks[file] = None
    for _, values, us in sorted(collectives, key=lambda each: each[0]):
        add = tally.add_next if _word(values, b"pg_name") else tally.add
        add(file, _chakra_call(values, us, groups, traces, file))


def _read_chakra(file: str, data: bytes, traces: int, tally: Tally) -> None:
    """Calls are made last: a node that lists process groups may come after those that use them. What starts
    at 0 has no time. A trace of 'emit --target chakra' has the messages of one collective."""
    first, at = _sized(data, 0)
    where = f"{file}: metadata"
    collectives, spans, groups, number = [], [], {}, 0
    try:
        own = _attributes(list(_fields(first)), _ATTRIBUTE)
        whole = _integer(own, b"message_bytes") if _word(own, b"collective") else 0
        if whole > 0:
            ranks = min(max(_integer(own, b"ranks"), 0), 1 << 24)
            tally.add(file, Call(_word(own, b"collective"),
                                 counted(ranks, "rank"),
                                 ranks=ranks,
                                 message_bytes=whole))
        while at < len(data):
            where = f"{file}: node {number}"
            number += 1
            try:
                message, at = _sized(data, at)
            except _Damaged:
                raise InputError(
                    f"{where}: ends within a Chakra execution trace; the file is cut short") from None
            fields = list(_fields(message))
            node = dict(fields)
            name, inputs = _bytes(node, _NAME), _bytes(node, _INPUTS)
            start, us, kind = _integer(node, _START), _integer(node, _DURATION), _integer(node, _KIND)
            if start > 0:
                spans.append((start, us))
            if b"process_group:init" in name:
                groups.update(_groups_in(_bytes(dict(_fields(inputs)), 1), where))
            values = _attributes(fields, _NODE_ATTRIBUTE)
            # A host's node only launches the device's, which has the type and the time.
            if kind == _COLLECTIVE and b"comm_type" in values:
                collectives.append((start, values, us))
            elif whole <= 0 and kind in (_SEND, _RECEIVE):
                tally.add(file, Call("send" if kind == _SEND else "receive"))
    except _Damaged:
        raise InputError(
            f"{where}: is not a message of a Chakra execution trace; the file is damaged") from None
    _add_chakra(file, collectives, groups, traces, tally)
    tally.lasted(spans)


# What Chakra's jsonizer writes of such a trace: an object for each message, one after the other, or a list of
# nodes. Integers of 64 bits are texts.


def _json_attributes(node: Any) -> Dict[bytes, Any]:
    found: Dict[bytes, Any] = {}
    for each in _list(node, "attr"):
        for key, value in each.items() if isinstance(each, dict) else ():
            if key.lower() in ("stringval", "string_val") and isinstance(value, str):
                found[_text(each, "name").encode()] = value.encode("utf-8", "surrogateescape")
            elif key != "name" and re.fullmatch("-?[0-9]{1,18}", str(value)):
                found[_text(each, "name").encode()] = int(value)
    return found


def _micros(node: Any, *keys: str) -> int:
    return next((int(node[key]) for key in keys if re.fullmatch("[0-9]{1,18}", str(node.get(key, "")))), 0)


def _read_chakra_json(file: str, text: str, traces: int, tally: Tally) -> None:
    decoder, at, nodes = json.JSONDecoder(), 0, []
    while (at := next((i for i in range(at, len(text)) if text[i] not in " \t\r\n,"), len(text))) < len(text):
        try:
            each, at = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            raise InputError(
                f"{file}:{text.count(chr(10), 0, at) + 1}: is not JSON of a Chakra execution trace") from None
        nodes += _list(each, "nodes") or (each if isinstance(each, list) else [each])
    spans, collectives, groups = [], [], {}
    for node in nodes:
        if "process_group:init" in _text(node, "name"):
            groups.update(_groups_in(json.dumps(node).encode().replace(b'\\"', b'"'), file))
    for node in nodes:
        if not isinstance(node, dict):
            continue
        start, us = _micros(node, "startTimeMicros", "start_time_micros"), _micros(
            node, "durationMicros", "duration_micros")
        if start > 0:
            spans.append((start, us))
        values = _json_attributes(node)
        if _text(node, "type") == "COMM_COLL_NODE" and b"comm_type" in values:
            collectives.append((start, values, us))
        elif _text(node, "type") in ("COMM_SEND_NODE", "COMM_RECV_NODE"):
            tally.add(file, Call("send" if "SEND" in node["type"] else "receive"))
    _add_chakra(file, collectives, groups, traces, tally)
    tally.lasted(spans)


# PyTorch's execution trace (ExecutionTraceObserver, schema 1.1): record_param_comms has what the profiler has
# of a collective, by other names, and no time.

_EXECUTION_NAMES = {"collective_name": "Collective name", "dtype": "dtype", "in_msg_nelems": "In msg nelems",
                    "out_msg_nelems": "Out msg nelems", "pg_name": "Process Group Name",
                    "in_split_size": "In split size", "out_split_size": "Out split size",
                    "pg_size": "Group size"}


def _read_execution_trace(file: str, nodes: List[Any], tally: Tally) -> None:
    tally.order.ranks[file] = None
    for number, node in enumerate(nodes):
        args = {}
        for each in _list(node, "attrs"):
            value = each.get("value") if isinstance(each, dict) else None
            if isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value) and each.get("type") != "string":
                value = int(value)
            args[_EXECUTION_NAMES.get(_text(each, "name"), "")] = value
        if args.get("Collective name"):
            args["Process Group Name"] = str(args.get("Process Group Name", ""))
            tally.add_next(file, _call_of_args(args, 0, f"{file}: nodes[{number}]"))
