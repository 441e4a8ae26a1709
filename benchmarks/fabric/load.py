"""How busy this machine was with the work of others, which is what ruins such measurements."""
import os
import pathlib

TICK = os.sysconf("SC_CLK_TCK")


def _processes():
    """pid -> (parent, name, seconds of processor with those of children that it has waited for)"""
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text()
        except OSError:
            continue
        fields = text[text.rindex(")") + 2:].split()
        found[int(folder.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / TICK)
    return found


def _stolen():
    return int(pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[8]) / TICK


def foreign_seconds():
    """Of all processes that are neither this one nor started by it, nor the kernel's own threads; a process
    that ends hands its time to its parent, so that differences of this number miss few. And what other
    machines on this hardware took."""
    processes = _processes()
    total = 0.0
    for pid, (parent, seconds) in processes.items():
        at = pid
        while at in processes and at not in (os.getpid(), 1, 2):
            at = processes[at][0]
        if at != os.getpid() and at != 2 and pid != 2:
            total += seconds
    return total + _stolen()


class Load:
    """with Load() as load: ...; load.cores: how many processors others used meanwhile, on average"""

    def __enter__(self):
        import time
        self.clock, self.before = time.monotonic, foreign_seconds()
        self.started = self.clock()
        self.cores = None
        return self

    def __exit__(self, *_):
        self.cores = max(0.0, foreign_seconds() - self.before) / max(1e-9, self.clock() - self.started)
