"""What benchmarks of PyTorch begin with: their options, and their ranks as processes with the current PyTorch
(benchmarks/torch_env.sh)."""
import argparse
import os
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "python")]
from torch_ranks import started  # noqa: E402


def asked(usage, limit=280, **options):
    """(arguments, torch) in a process that is a rank; `options` have their defaults, integers or lists of them.
    The first process starts --ranks of them, and exits."""
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("chorale")
    for name, default in {**options, "ranks": 2}.items():
        kind = int if isinstance(default, int) else lambda text: [int(each) for each in text.split(",")]
        parser.add_argument(f"--{name}", type=kind, default=default)
    parser.add_argument("--current", action="store_true", help=argparse.SUPPRESS)  # for the ranks
    arguments = parser.parse_args()
    os.environ["CHORALE"] = str(pathlib.Path(arguments.chorale).resolve())
    sys.argv.append("--current")
    return arguments, started([arguments.ranks], limit=limit)
