"""Libraries: answers for many machines, groups and collectives in one file, which the command line reads and
writes, too (docs/libraries.md)."""

from __future__ import annotations

import collections
import concurrent.futures
import multiprocessing
import os
import pathlib
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Iterable, List, NamedTuple, Optional, Sequence, Union

from chorale import _chorale
from chorale._chorale import Result
from chorale.calls import Asked, File, Machine, _collective, _machine, _text
from chorale.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from chorale._chorale import _FrontierOptions as FrontierOptions

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
    alike: int
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

    def select(self, machine: str, collective: str, bytes: int, *, group: str = "all", root: int = 0, ranks: Iterable[int] = (),
               order: str = "") -> Chosen:
        """The algorithm that should be fastest for blocks of `bytes` bytes; `machine` as it was named when
        the library was built. With `ranks` of these ranks of it, whatever group they are. With `order`
        only what was searched with sums in that order: "agreed", or "fixed", which gives the same bits for
        each size."""
        best: Optional[Chosen] = None
        for result in self._file.results_at(machine, collective, group, root, " ".join(map(str, ranks)), order):
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


Hard = Dict[str, Any]  # a question that was cut: what it is, its cubes, and, by those who have them, their answers


def answer(job: Dict[str, Any], cut: Sequence[Hard] = ()) -> Union[str, List[Hard]]:
    """What a worker does: one search, from plain values to the text of a result; or to the questions that it
    met, are hard, and have no answer in `cut` yet."""
    there, asked = _job(job)
    if not asked["cubes"]:
        return _chorale.frontier(*there, None, **asked).to_json()
    text, hard = _chorale.search_with_others(*there, list(cut), **asked)
    return hard or text


def cube(job: Dict[str, Any], hard: Hard, number: int) -> Any:
    """What a worker does, too: one cube of a hard question of that search, to its verdict, a schedule, and
    conflicts."""
    there, asked = _job(job)
    return _chorale.cube_answered(*there, hard, number, **asked)


def _job(job: Dict[str, Any]) -> Any:
    job = dict(job)
    there = _machine(_chorale.Topology.from_json(job.pop("machine")))
    return (there, _collective(job.pop("collective"), there, job.pop("root"))), job


def processes(jobs: int) -> Callable[[], concurrent.futures.Executor]:
    """`jobs` processes of this machine. They import the program that asks for them, so a script does that
    under `if __name__ == "__main__":`, as with all of multiprocessing."""
    return lambda: concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"))


def build(spec: File, file: File, executor: Optional[Executor] = None, *, retries: int = 3,
          tell: Optional[Callable[[int, int], Any]] = None) -> Built:
    """Answers what the file `spec` asks for (docs/formats.md) and `file` has not. Workers of the executor
    search, and this process alone writes, each answer when it is there; without an executor it is one
    thread. An executor that breaks when a worker dies, as that of processes does, is to be given as a
    function that makes one: it is made again, and what was not answered is asked again, up to `retries`
    times per question. `tell` is called with how many are answered, of how many."""
    if executor is None:
        executor = lambda: concurrent.futures.ThreadPoolExecutor(1)  # noqa: E731
    questions = _chorale.library_questions(_text(spec), os.fspath(spec))
    library = Library(file, make=True)
    left = [i for i, question in enumerate(questions) if not library._file.has(question)]
    work = _Work(questions, library, len(questions) - len(left), retries, tell)
    for i in left:
        work.ask(i)
    while work.waiting:
        made = executor() if callable(executor) and not isinstance(executor, concurrent.futures.Executor) else executor
        broken = work.go_on(made)
        if made is not executor:
            made.shutdown()
        elif broken:
            work.why.update((task[0], "the executor is broken") for task in work.waiting)
            break
    why = work.why
    return Built(work.there, work.answered, [f"{questions[i].words}: {why[i]}" for i in sorted(why)])


class _Work:
    """What is to be done, as tasks: (question,), a search, and (question, hard question, cube). A search that
    comes back with hard questions is asked again when all their cubes are answered, and then with these
    answers."""

    def __init__(self, questions: Sequence[Any], library: Library, there: int, retries: int, tell: Optional[Callable[[int, int], Any]]) -> None:
        self.questions, self.library, self.there, self.retries, self.tell = questions, library, there, retries, tell
        self.answered, self.why = 0, {}  # type: int, Dict[int, str]
        self.waiting: Deque[Any] = collections.deque()  # tasks that nobody has
        self.tries: Dict[Any, int] = {}
        self.cut: Dict[int, List[Hard]] = {}  # by question, what others have answered of it
        self.open: Dict[int, int] = {}  # by question, cubes without an answer

    def ask(self, i: int) -> None:
        self.waiting.append((i,))

    def go_on(self, executor: concurrent.futures.Executor) -> bool:
        """Until nothing is left, or the executor is broken: then True, and what was not answered is
        waiting."""
        running: Dict[concurrent.futures.Future[Any], Any] = {}
        broken = False
        while running or (self.waiting and not broken):
            while self.waiting and not broken:
                task = self.waiting.popleft()
                try:
                    running[self._begun(executor, task)] = task
                except concurrent.futures.BrokenExecutor:
                    self.waiting.appendleft(task)
                    broken = True
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                task = running.pop(future, None)
                if task is None:  # called off, by what came with it
                    continue
                try:
                    self._take(task, future.result())
                    self._call_off_after(task, running, executor)
                except InputError as error:
                    self.why[task[0]] = str(error)
                except Exception as error:  # a worker died, or what it was sent or sent back was lost
                    broken = broken or isinstance(error, concurrent.futures.BrokenExecutor)
                    self.tries[task] = self.tries.get(task, 0) + 1
                    if self.tries[task] > self.retries:
                        self.why[task[0]] = f"given up after {self.tries[task]} times: {error!r}"
                    else:
                        self.waiting.append(task)
            if self.tell and done:
                self.tell(self.there + self.answered, len(self.questions))
        return broken

    def _call_off_after(self, task: Any, running: Dict[concurrent.futures.Future[Any], Any], executor: concurrent.futures.Executor) -> None:
        """Of a question the first cube with a schedule is taken, so those after it need no answer. Dask's
        futures are left to end, since it logs errors where they are cancelled."""
        ours = isinstance(executor, (concurrent.futures.ThreadPoolExecutor, concurrent.futures.ProcessPoolExecutor))
        if len(task) < 3 or self.cut[task[0]][task[1]]["answers"][task[2]][0] != "sat":
            return
        for future, other in list(running.items()):
            if other[:2] == task[:2] and other[2] > task[2]:
                running.pop(future)
                if ours:
                    future.cancel()
                self._take(other, ("unknown", "", 0))

    def _begun(self, executor: concurrent.futures.Executor, task: Any) -> concurrent.futures.Future[Any]:
        job = self.questions[task[0]].job
        if len(task) == 1:
            return executor.submit(answer, job, self.cut.get(task[0], ()))
        hard = self.cut[task[0]][task[1]]
        return executor.submit(cube, job, {key: value for key, value in hard.items() if key != "answers"}, task[2])

    def _take(self, task: Any, found: Any) -> None:
        i = task[0]
        if len(task) == 3:
            self.cut[i][task[1]]["answers"][task[2]] = found
            self.open[i] -= 1
            if self.open[i] == 0:
                self.ask(i)
        elif isinstance(found, str):
            if self.library._file.keep(self.questions[i], found):
                self.answered += 1
            else:
                self.why[i] = "not answered within the limits"
        else:
            known = self.cut.setdefault(i, [])
            for hard in found:
                known.append(dict(hard, answers=[("unknown", "", 0)] * len(hard["cubes"])))
                self.waiting += [(i, len(known) - 1, number) for number in range(len(hard["cubes"]))]
            self.open[i] = sum(len(hard["cubes"]) for hard in found)
