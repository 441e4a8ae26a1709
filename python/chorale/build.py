"""python -m chorale.build SPEC -o FILE [--jobs N | --scheduler tcp://... | --mpi]: builds a library
(docs/libraries.md) by processes of this machine, by the workers of a Dask cluster, or by the ranks of MPI.
Exit codes as of `chorale library build`."""

import argparse
import sys

from chorale import library
from chorale.errors import InputError


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m chorale.build",
                                     description="Build a library of algorithms by workers.")
    parser.add_argument("spec", metavar="SPEC", help="what to search for (docs/formats.md)")
    parser.add_argument("-o",
                        "--output",
                        metavar="FILE",
                        required=True,
                        help="the library, made if it is not there")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, default=1, metavar="N", help="processes of this machine (1)")
    where.add_argument("--scheduler",
                       metavar="ADDRESS",
                       help="of a Dask cluster, as tcp://host:8786; its workers need this package")
    where.add_argument(
        "--mpi",
        action="store_true",
        help="the other ranks, as mpirun -n N python -m mpi4py.futures -m chorale.build ... --mpi has them")
    asked = parser.parse_args(arguments)
    try:
        if asked.scheduler:
            try:
                from distributed import Client
            except ImportError:
                raise InputError(
                    "--scheduler: needs Dask; pip install distributed, or Debian's python3-distributed"
                ) from None
            try:
                client = Client(asked.scheduler, timeout=30)
            except (OSError, ValueError) as error:
                raise InputError(
                    f"--scheduler: {asked.scheduler} does not answer: {error}; check the address") from error
            with client:
                built = library.build(asked.spec, asked.output, client.get_executor(retries=3, pure=False))
        elif asked.mpi:
            try:
                from mpi4py import MPI
                from mpi4py.futures import MPIPoolExecutor
            except ImportError:
                raise InputError(
                    "--mpi: needs mpi4py; pip install mpi4py, or Debian's python3-mpi4py") from None
            if MPI.COMM_WORLD.Get_size() < 2 or MPI.COMM_WORLD.Get_rank() > 0:
                raise InputError(
                    "--mpi: the other ranks do not wait for work; use mpirun -n 4 python -m mpi4py.futures "
                    "-m chorale.build ..."
                )
            with MPIPoolExecutor() as ranks:
                built = library.build(asked.spec, asked.output, ranks)
        else:
            if asked.jobs < 1:
                raise InputError("--jobs: is not positive; use 1 or more")
            built = library.build(asked.spec, asked.output, library.processes(asked.jobs))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    for line in built.open:
        print(line, file=sys.stderr)
    print(f"{built.there} there before, {built.answered} answered now, {len(built.open)} open")
    return 3 if built.open else 0


if __name__ == "__main__":
    sys.exit(main())
