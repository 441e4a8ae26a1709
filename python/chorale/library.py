"""Libraries: answers for many machines, groups and collectives in one file, which the command line reads and writes, too
(docs/libraries.md)."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pathlib
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Union

from chorale import _chorale
from chorale._chorale import Result
from chorale.calls import Asked, File, Machine, _collective, _machine, _search, _text
from chorale.errors import InputError

Executor = Union[concurrent.futures.Executor, Callable[[], concurrent.futures.Executor]]


class Chosen(NamedTuple):
    """The algorithm that should be fastest at a size: a point of a result, and the time that it should take."""

    result: Result
    point: int
    us: float


class Verified(NamedTuple):
    """What of a library was checked again; `faults` is empty if all is well."""

    answers: int
    schedules: int
    bounds: int
    refutations: int
    undecided: int
    faults: List[str]


class Merged(NamedTuple):
    """How many answers there are, how many of them several files had alike, and by file those that were taken from it."""

    answers: int
    alike: int
    taken: List[int]


class Built(NamedTuple):
    """How many questions had an answer, how many have one now, and those that have none: in words."""

    there: int
    answered: int
    open: List[str]


class Library:
    """A file of answers. Several processes may have it open."""

    def __init__(self, file: File, make: bool = False) -> None:
        self.path = os.fspath(file)
        self._file = _chorale.AnswerFile(self.path, make)

    def places(self) -> List[Dict[str, Any]]:
        """What it is for: machine, group, collective, ranks, root, members."""
        return self._file.places()

    def find(self, machine: Machine, collective: Asked, *, root: Optional[int] = None, min_chunks: int = 1, max_chunks: Optional[int] = None,
             k: Optional[int] = None, max_steps: Optional[int] = None, time_limit: Optional[float] = None, conflicts: Optional[int] = None,
             use_bounds: bool = True, use_symmetry: bool = True, seed: int = 0) -> Optional[Result]:
        """What frontier() would be asked with these arguments, if it was; with the numbers that the machine's ranks have here."""
        there = _machine(machine)
        question = _chorale.library_question(
            there, _collective(collective, there, root), min_chunks=min_chunks, max_chunks=min_chunks if max_chunks is None else max_chunks,
            k=k, max_steps=max_steps, jobs=1, **_search(time_limit, conflicts, use_bounds, use_symmetry, "", seed))
        return self._file.find(question)

    def select(self, machine: str, collective: str, bytes: int, *, group: str = "all", root: int = 0, ranks: Iterable[int] = ()) -> Chosen:
        """The algorithm that should be fastest for blocks of so many bytes; `machine` as it was named when the library was built.
        With `ranks` of these ranks of it, whatever group they are."""
        best: Optional[Chosen] = None
        for result in self._file.results_at(machine, collective, group, root, " ".join(map(str, ranks))):
            if result.points:
                row = result.best(bytes)
                if best is None or row.us < best.us:
                    best = Chosen(result, row.point, row.us)
        if best is None:
            raise InputError(f"{self.path}: has no schedule for that; build it with other limits")
        return best

    def verify(self, *, conflicts: Optional[int] = None) -> Verified:
        """Checks every schedule, certificate and refutation again; nothing in the file is believed."""
        return Verified(**self._file.verify(conflicts))


def open(file: File, make: bool = False) -> Library:
    """A library; with `make` one that may have to be made."""
    return Library(file, make)


def merge(files: Sequence[File], into: File) -> Merged:
    """Puts libraries together in a new file; of two answers to a question the better one."""
    target = pathlib.Path(into)
    if target.exists():
        raise InputError(f"{target}: is there; name a new file")
    beside = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        merged = Merged(*_chorale.merge_libraries([os.fspath(file) for file in files], os.fspath(beside)))
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
    return merged


def answer(job: Dict[str, Any]) -> str:
    """What a worker does: one search, from plain values to the text of a result."""
    from chorale import Topology, frontier

    return frontier(Topology.from_json(job.pop("machine")), job.pop("collective"), **job).to_json()


def processes(jobs: int) -> Callable[[], concurrent.futures.Executor]:
    """So many processes of this machine. They import the program that asks for them, so a script does that under
    `if __name__ == "__main__":`, as with all of multiprocessing."""
    return lambda: concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"))


def build(spec: File, file: File, executor: Optional[Executor] = None, *, retries: int = 3,
          tell: Optional[Callable[[int, int], Any]] = None) -> Built:
    """Answers what the file `spec` asks for (docs/formats.md) and `file` has not. Workers of the executor search, and this process
    alone writes, each answer when it is there; without an executor it is one thread. An executor that breaks when a worker dies, as that of processes does, is to be given
    as a function that makes one: it is made anew, and what was not answered is asked again, up to `retries` times a question.
    `tell` is called with how many are answered, of how many."""
    if executor is None:
        executor = lambda: concurrent.futures.ThreadPoolExecutor(1)  # noqa: E731
    questions = _chorale.library_questions(_text(spec), os.fspath(spec))
    library = Library(file, make=True)
    left = [i for i, question in enumerate(questions) if not library._file.has(question)]
    there, answered, why, tries = len(questions) - len(left), 0, {}, dict.fromkeys(left, 0)
    while left:
        made = executor() if callable(executor) and not isinstance(executor, concurrent.futures.Executor) else executor
        running = {made.submit(answer, questions[i].job): i for i in left}
        left, broken = [], False
        for future in concurrent.futures.as_completed(running):
            i = running[future]
            try:
                if library._file.keep(questions[i], future.result()):
                    answered += 1
                else:
                    why[i] = "not answered within the limits"
            except InputError as error:
                why[i] = str(error)
            except Exception as error:  # a worker died, or what it was sent or sent back was lost
                tries[i] += 1
                broken = broken or isinstance(error, concurrent.futures.BrokenExecutor)
                if tries[i] > retries:
                    why[i] = f"given up after {tries[i]} times: {error!r}"
                else:
                    left.append(i)
            if tell:
                tell(there + answered, len(questions))
        if made is not executor:
            made.shutdown()
        elif broken:
            why.update((i, "the executor is broken") for i in left)
            left = []
    return Built(there, answered, [f"{questions[i].words}: {why[i]}" for i in sorted(why)])
