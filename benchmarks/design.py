#!/usr/bin/env python3
"""The best wiring for Alltoall and AllReduce by `chorale design`, against the tori and hypercubes of as many ranks and links.

    benchmarks/design.py build/release/bin/chorale [--cases 16x4,64x4]

A row for each number of ranks and links: graphs that were compared, the groups that have them and those of the family, the best one, rounds per chunk of both collectives as found and as
bounded, steps, whether it is proven to be the best, wall and CPU seconds, and the Alltoall's bounds on machines by name over what was found.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import time

CASES = "16x3,16x4,27x6,32x4,36x4,48x4,64x3,64x4,64x6,128x4"


def row(chorale, ranks, degree):
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.monotonic()
    text = subprocess.run([chorale, "design", "--ranks", str(ranks), "--degree", str(degree), "--for", "alltoall,allreduce", "--json", "-", "-q"],
                          capture_output=True, text=True, check=True).stdout
    wall, cpu = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    read = json.loads(text)
    first = read["best"][0]
    rates = [" ".join(f"{rounds / chunks:.4g}" if chunks else "-" for rounds, chunks in (rate["found"] or (0, 0), rate["bound"])) for rate in first["rates"]]
    found = first["rates"][0]["found"]
    others = [f"{each['name']} {each['rates'][0]['bound'][0] / each['rates'][0]['bound'][1] / (found[0] / found[1]):.3f}x" for each in read["named"]] if found else []
    print(f"{ranks:5} {degree:2} {sum(each['graphs'] for each in read['families']):7} {len(read['families']):3} {read['groups']:3}  {first['name'] + (', ' + first['alike'] if first['alike'] else ''):45} "
          f"{rates[0]:14} {rates[1]:15} {'/'.join(str(rate['steps']) for rate in first['rates']):6} {first['diameter']:3} {'yes' if read['proven'] else 'no':6} "
          f"{wall:5.1f} {cpu:5.1f}  {', '.join(others)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chorale")
    parser.add_argument("--cases", default=CASES)
    options = parser.parse_args()
    commit = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    print(f"commit {commit.stdout.strip()}; rounds per chunk found and bound, steps of alltoall/allreduce; machines by name: Alltoall's bound over found")
    print(f"{'ranks':>5} {'d':>2} {'graphs':>7} {'of':>3} {'all':>3}  {'best':45} {'alltoall':14} {'allreduce':15} {'steps':6} {'dia':>3} proven {'wall':>5} {'CPU':>5}  by name",
          flush=True)
    for case in options.cases.split(","):
        row(options.chorale, *(int(number) for number in case.split("x")))


if __name__ == "__main__":
    main()
