"""What the tests in Python share: a folder of the test's own, programs that run in it, and what a refusal has
to be.

All that is run may start mpirun as root, as in a container, and has more ranks than cores, so that ranks that
wait yield.
"""
import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1", MAKEFLAGS="")
work = pathlib.Path(tempfile.mkdtemp(prefix=f"chorale_{pathlib.Path(sys.argv[0]).stem}_"))
if "CHORALE_KEEP" not in os.environ:
    atexit.register(shutil.rmtree, work, ignore_errors=True)


class Output(str):
    """Standard output if the exit code is 0, otherwise standard error behind it. Both are also apart: stdout,
    stderr."""

    def __new__(cls, done):
        self = super().__new__(cls, done.stdout if done.returncode == 0 else done.stdout + done.stderr)
        self.stdout, self.stderr, self.returncode = done.stdout, done.stderr, done.returncode
        return self


def run(*command, code=0, cwd=work, env=None, timeout=300, **options):
    """Runs a program. code: the exit code that it must have, several, or None for any. env: variables besides
    those that are set."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=cwd, timeout=timeout,
                          env={**os.environ, **(env or {})}, **options)
    assert code is None or done.returncode in (code if isinstance(code, tuple) else (code,)), (
        f"{command}: exit code {done.returncode}, not {code}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return Output(done)


def run_chorale(*arguments, **options):
    return run(os.path.abspath(sys.argv[1]), *arguments, **options)


def mpirun(ranks, *command, **options):
    return run("mpirun", "--oversubscribe", "-n", ranks, *command, **options)


def refused(*arguments, says="", **options):
    """What chorale says of bad input: one line on standard error, nothing on standard output."""
    done = run_chorale(*arguments, code=2, **options)
    assert not done.stdout and done.stderr.count("\n") == 1 and done.stderr.startswith("chorale: error: ") and says in done.stderr, (
        f"{arguments}: is not refused in a line with '{says}':\n{done.stdout}{done.stderr}")
    return done.stderr


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)
