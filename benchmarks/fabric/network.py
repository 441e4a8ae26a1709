"""A machine that stands: made of network namespaces, MPI run in it, its counters read, taken down whatever
happens."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import layout
from machine import Refused

NAME = re.compile(r"^chf(\d+)-")
# Everything is eager, since an announcement and its answer wait behind bulk, and no put is emulated: with
# Open MPI's defaults links are half duplex. One address, so one link a pair. Ranks sleep while they wait
# (idle.c).
MPI = {"oob_tcp_if_include": "mg0", "pml": "ob1", "btl": "tcp,self", "btl_tcp_if_include": "10.99.0.0/16", "btl_tcp_flags": "1",
       "btl_tcp_eager_limit": "20000000", "btl_tcp_rndv_eager_limit": "20000000", "btl_tcp_max_send_size": "20100000",
       "mpi_yield_when_idle": "1", "opal_event_include": "epoll"}
MOST_MBIT = 1600


class Failed(Exception):
    pass


def execute(command):
    done = subprocess.run(command.words, input=command.text, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise Failed(f"{' '.join(command.words)}: {done.stderr.strip()}")
    return done.stdout


def before_others():
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def why_not():
    """Why no machine can be laid out here; empty: it can."""
    for program in ("ip", "tc", "nsenter", "sysctl", "mpirun", "mpicc"):
        if not shutil.which(program):
            return f"there is no {program}"
    if os.geteuid():
        return "network namespaces are made by root alone"
    prefix = f"chf{os.getpid()}-try-"
    here, there = prefix + "a", prefix + "b"
    tries = [["ip", "netns", "add", here], ["ip", "netns", "add", there],
             ["ip", "-n", here, "link", "add", "l0", "type", "veth", "peer", "name", "l1", "netns", there],
             ["ip", "-n", here, "link", "add", "fab0", "type", "bridge"]]
    tries += [["tc", "-n", here, *line.format(dev="l0").split()] for line in layout.shaper(50)]
    try:
        for words in tries:
            execute(layout.Command(words))
    except (Failed, OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        for name in (here, there):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return ""


def existing():
    return [line.split()[0] for line in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout.splitlines()]


def take_down(names):
    """With the processes that are still in them: nobody else's are."""
    for name in names:
        for pid in subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    for command in layout.remove(names):
        subprocess.run(command.words, capture_output=True)


def clean():
    """What runs of this left that were killed."""
    left = [name for name in existing() if NAME.match(name) and not pathlib.Path(f"/proc/{NAME.match(name)[1]}").exists()]
    take_down(left)
    return left


class Network:
    """with Network(machine) as network: network.mpirun([...])"""

    def __init__(self, machine, most_mbit=MOST_MBIT):
        rate = sum(machine.capacity.values()) * machine.unit
        if rate > most_mbit:
            raise Refused(f"{machine.name}: its links carry {rate:.0f} Mbit/s together, more than {most_mbit}: give a smaller --unit")
        self.machine = machine
        self.prefix = f"chf{os.getpid()}-"
        self.running = None

    def __enter__(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="chorale_fabric_"))
        try:
            started = time.monotonic()
            for command in layout.make(self.machine, self.prefix):
                execute(command)
            self.seconds = time.monotonic() - started
            self.rank = self.work / "rank.sh"
            self.rank.write_text(f'#!/bin/sh\nexec nsenter --net=/run/netns/{self.prefix}r$OMPI_COMM_WORLD_RANK env LD_PRELOAD={self.work}/idle.so "$@"\n')
            self.rank.chmod(0o755)
            self.probe = self.work / "probe"
            sources = pathlib.Path(__file__).parent
            execute(layout.Command(["mpicc", "-O2", "-o", str(self.probe), str(sources / "probe.c")]))
            execute(layout.Command(["mpicc", "-O2", "-shared", "-fPIC", "-o", str(self.work / "idle.so"), str(sources / "idle.c")]))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        take_down([name for name in existing() if name.startswith(self.prefix)])
        shutil.rmtree(self.work, ignore_errors=True)

    def stop(self):
        if self.running and self.running.poll() is None:
            self.running.send_signal(signal.SIGTERM)  # mpirun ends its ranks
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.running.wait(5)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.running.pid, signal.SIGKILL)
        self.running = None

    def mpirun(self, command, settings=None, seconds=300, cwd=None, ranks=None):
        """The standard output of `command`, a process a rank, each in its own namespace. Ranks come before
        all other work: they need little of the processors, and that at once. What hangs is ended after
        `seconds`."""
        return self.mpirun_said(command, settings, seconds, cwd, ranks)[0]

    def mpirun_said(self, command, settings=None, seconds=300, cwd=None, ranks=None):
        """Standard output and standard error of it."""
        mca = [word for name, value in {**MPI, **(settings or {})}.items() for word in ("--mca", name, str(value))]
        words = ["nsenter", f"--net=/run/netns/{layout.management(self.prefix)}", "mpirun", "-n", str(ranks or self.machine.ranks),
                 "--oversubscribe", "--bind-to", "none", *mca, str(self.rank), *map(str, command)]
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PMIX_MCA_ptl_base_if_include="mg0")
        self.running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=cwd or self.work,
                                        start_new_session=True, preexec_fn=before_others)
        try:
            out, err = self.running.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            raise Failed(f"{' '.join(map(str, command))}: not done in {seconds} s") from None
        except BaseException:
            self.stop()
            raise
        code, self.running = self.running.returncode, None
        if code:
            raise Failed(f"{' '.join(map(str, command))}: exit code {code}: {(err or out).strip()[-2000:]}")
        return out, err

    def carried(self):
        """(src, dst) -> bytes that left src on that link."""
        sent = {}
        for node in range(self.machine.nodes):
            text = execute(layout.Command(["ip", "-n", layout.namespace(self.machine, self.prefix, node), "-s", "-j", "link", "show"]))
            for entry in json.loads(text):
                if entry["ifname"].startswith("l") and entry["ifname"][1:].isdigit():
                    sent[node, int(entry["ifname"][1:])] = entry["stats64"]["tx"]["bytes"]
        return sent

    def dropped(self):
        return sum(entry.get("drops", 0) for node in range(self.machine.nodes)
                   for entry in json.loads(execute(layout.Command(
                       ["tc", "-n", layout.namespace(self.machine, self.prefix, node), "-s", "-j", "qdisc", "show"]))))
