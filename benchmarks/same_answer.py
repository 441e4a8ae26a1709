#!/usr/bin/env python3
"""Has the same question the same answer, byte for byte, however busy the machine is? Asks `optimize` each question
alone and beside processes that take all the processor time they get.

usage: benchmarks/same_answer.py CHORALE [--questions N] [--load N] [OPTION...]

Other options are those of `optimize`: without one a search ends by its usual effort. A row for each question with the
seconds of both; exit code 1 where an answer differs.
"""

import argparse
import subprocess
import sys
import time

QUESTIONS = """ring:5 allreduce|dgx1 allgather|hypercube:3 alltoall|mesh:3x3 broadcast|hub:5 allreduce|dgx-a100:1 allgather
torus:3x3 reducescatter|full:5 allreduce|mi250:1 allgather|dgx1 allreduce|full:6 alltoall|hypercube:3 allreduce
ring:6 broadcast|line:5 allgather|dgx-h100:1 allreduce|hub:7 allgather|torus:4x4 allgather|dgx2 broadcast
mesh:3x4 reducescatter|mesh:4x4 alltoall|dgx-a100:2 allgather|hub:6 scatter|torus:3x4 allreduce|mi250:2 allreduce
gb200-nvl72 broadcast|dgx-a100:2 allreduce|torus:4x4 broadcast|line:6 alltoall|mesh:4x4 allreduce|dgx-h100:2 allgather"""


def answered(chorale, question, options):
    begun = time.monotonic()
    done = subprocess.run([chorale, "optimize", *question.split(), "--sizes", "4K,1M,64M", "--json", "-", "-q", *options], stdout=subprocess.PIPE)
    if done.returncode not in (0, 2, 3) or not done.stdout:
        sys.exit(f"{question}: exit code {done.returncode}")
    return done.stdout, time.monotonic() - begun


def answered_under_load(load, *asked):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(load)]
    try:
        return answered(*asked)
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chorale")
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--load", type=int, default=8)
    arguments, options = parser.parse_known_args()
    differ = 0
    questions = QUESTIONS.replace("\n", "|").split("|")[: arguments.questions]
    for question in questions:
        alone, seconds = answered(arguments.chorale, question, options)
        beside, longer = answered_under_load(arguments.load, arguments.chorale, question, options)
        differ += alone != beside
        print(f"{question:28} {seconds:6.1f} s {longer:6.1f} s  {'the same' if alone == beside else 'another answer'}", flush=True)
    print(f"{differ} of {len(questions)} questions have another answer beside {arguments.load} busy processes")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
