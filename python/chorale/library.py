"""Libraries: answers for many machines, groups and collectives in one file, which the command line reads and
writes, too (docs/libraries.md)."""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import threading
import warnings
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple,
                    Union)

from chorale import _chorale, tuning_files
from chorale._chorale import Result
from chorale.calls import Asked, Machine, _collective, _machine
from chorale.errors import InputError
from chorale.given import File, Sizes, sizes_of, text_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from chorale._chorale import _FrontierOptions as FrontierOptions

SECONDS_BETWEEN_LOOKS = 0.2  # of a search that waits for its workers, at whether it is to stop

Executor = Union[concurrent.futures.Executor, Callable[[], concurrent.futures.Executor]]


class Chosen(NamedTuple):
    """The algorithm that should be fastest at a size: a point of a result, and the time that it should
    take."""

    result: Result
    point: int
    us: float


class Verified(NamedTuple):
    """What of a library was checked again; `faults` is empty if all is well. `predicted` times were made
    again, those `measured` are taken as they are, and `away` has the files of machines that are not here,
    so that places in them were not checked."""

    answers: int
    schedules: int
    bounds: int
    refutations: int
    undecided: int
    places: int
    predicted: int
    measured: int
    away: List[str]
    faults: List[str]


class Merged(NamedTuple):
    """How many answers there are, how many were equal in several files, by file those that were taken from
    it, and how many were combined from several."""

    answers: int
    equal: int
    taken: List[int]
    joined: int


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

    def find(self, machine: Machine, collective: Asked, *, root: Optional[int] = None,
             **options: Unpack[FrontierOptions]) -> Optional[Result]:
        """What frontier() would be asked with these arguments, if it was; with the numbers that the machine's
        ranks have here."""
        there = _machine(machine)
        question = _chorale.library_question(there, _collective(collective, there, root), **options)
        return self._file.find(question)

    def select(self,
               machine: str,
               collective: str,
               bytes: int,
               *,
               group: str = "all",
               root: int = 0,
               ranks: Iterable[int] = (),
               order: str = "") -> Chosen:
        """The algorithm that should be fastest for messages of `bytes` bytes; `machine` as it was named when
        the library was built. With `ranks` of these ranks of it, whatever group they are. With `order`
        only what was searched with sums in that order: "agreed", or "fixed", which gives the same bits for
        each size."""
        best: Optional[Chosen] = None
        for result in self._file.results_at(machine, collective, group, root, " ".join(map(str, ranks)),
                                            order):
            if result.points:
                row = result.best(bytes)
                if best is None or row.us < best.us:
                    best = Chosen(result, row.point, row.us)
        if best is None:
            raise InputError(f"{self.path}: has no schedule for that; build it with other limits")
        return best

    def export(self, machine: str, *collectives: str, form: str, group: str = "all",
               message_bytes: Sizes = tuple(2**k << 10 for k in range(21))) -> Dict[str, str]:
        """The files of `chorale library export --as FORM`: their texts by name. `message_bytes`, rising, are
        the sizes at which choices are made that were not measured."""
        is_rules = form in tuning_files.FORMS
        found, notes = self._file.export(machine, list(collectives),
                                         tuning_files.times_form(form) if is_rules else form, group,
                                         sorted(sizes_of("message_bytes", message_bytes)))
        files = dict(found)
        if is_rules:
            answers = json.loads(files["times.json"])["answers"]
            files = tuning_files.files(form, answers, self.path, notes)
        for note in notes:
            warnings.warn(note, stacklevel=2)
        return files

    def failures(self) -> List[Dict[str, Any]]:
        """The rows of `chorale library failures`: what is left of the rate after each failure that it was
        built for."""
        return json.loads(self._file.failures())["rows"]

    def verify(self, *, conflicts: Optional[int] = None) -> Verified:
        """Checks every schedule, certificate and refutation again; nothing in the file is believed."""
        return Verified(**self._file.verify(conflicts))


def open(file: File, make: bool = False) -> Library:
    """A library; with `make` one that may have to be made."""
    return Library(file, make)


def merge(files: Sequence[File], into: File) -> Merged:
    """Puts libraries together in a new file; two answers to a question become one, as good as both."""
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
    asked = dict(job)
    there = _machine(_chorale.Topology.from_json(asked.pop("machine")))
    collective = _collective(asked.pop("collective"), there, asked.pop("root"))
    return _chorale.frontier(there, collective, None, **asked).to_json()


def processes(jobs: int) -> Callable[[], concurrent.futures.Executor]:
    """`jobs` processes of this machine. They import the program that asks for them, so a script does that
    under `if __name__ == "__main__":`, as with all of multiprocessing."""
    return lambda: concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"))


def build(spec: File, file: File, executor: Optional[Executor] = None, *, retries: int = 3,
          tell: Optional[Callable[[int, int], Any]] = None, failures: bool = False) -> Built:
    """Answers what the file `spec` asks for (docs/formats.md) and `file` has not. Workers of the executor
    search, and this process alone writes, each answer when it is there; without an executor it is one
    thread. An executor that breaks when a worker dies, as that of processes does, is to be given as a
    function that makes one: it is made again, and what was not answered is asked again, up to `retries`
    times per question. `tell` is called with how many are answered, of how many. With `failures` each machine
    is also asked after the failure of any one link or rank."""
    questions = _chorale.library_questions(text_of(spec), os.fspath(spec), failures)
    opened = Library(file, make=True)._file
    if executor is None:
        return Built(*opened.build(questions, None, tell))
    workers = _Workers(executor)
    built = Built(
        *opened.build(questions, lambda job, stopped: _Search(workers, retries, stopped).answer(job), tell))
    workers.shutdown()
    return built


class _Workers:
    """The executor of several threads; where it can be made, another one in place of one that is broken."""

    def __init__(self, executor: Executor) -> None:
        self.make = None if isinstance(executor, concurrent.futures.Executor) else executor
        self.current = executor if isinstance(executor, concurrent.futures.Executor) else executor()
        self.lock = threading.Lock()

    def submit(self, *task: Any) -> Tuple[concurrent.futures.Future[Any], concurrent.futures.Executor]:
        while True:
            executor = self.current
            try:
                return executor.submit(*task), executor
            except concurrent.futures.BrokenExecutor:
                self.replace(executor)

    def replace(self, broken: concurrent.futures.Executor) -> None:
        with self.lock:
            if self.make is None:
                raise _Open("the executor is broken")
            if self.current is broken:
                broken.shutdown(wait=False)
                self.current = self.make()

    def shutdown(self) -> None:
        if self.make is not None:
            self.current.shutdown()


class _Open(Exception):
    """Why a question has no answer."""


class _Search:
    """Of one question, by a worker; by another one where that died."""

    def __init__(self, workers: _Workers, retries: int, stopped: Callable[[], bool]) -> None:
        self.workers, self.retries, self.stopped = workers, retries, stopped

    def answer(self, job: Dict[str, Any]) -> Tuple[Optional[str], str]:
        """The text of a result, or why there is none."""
        try:
            return self.done(job), ""
        except (InputError, _Open) as error:
            return None, str(error)

    def done(self, job: Dict[str, Any]) -> str:
        tries = 0
        while True:
            future, executor = self.workers.submit(answer, job)
            while not concurrent.futures.wait([future], SECONDS_BETWEEN_LOOKS).done:
                if self.stopped():
                    raise _Open("stopped")
            try:
                return future.result()
            except InputError:
                raise
            except Exception as error:  # a worker died, or what it was sent or sent back was lost
                tries += 1
                if tries > self.retries:
                    raise _Open(f"given up after {tries} times: {error!r}") from error
                if isinstance(error, concurrent.futures.BrokenExecutor):
                    self.workers.replace(executor)
