"""What lies in a library's file (docs/formats.md), read by Python's own sqlite3 and zlib, and results without what
a clock stated."""
import json
import sqlite3
import zlib

COLUMNS = {"answers": ("key", "question", "answer", "numbering"), "predicted": ("key", "bytes", "point", "us", "least_us"),
           "places": ("machine", "grp", "collective", "ranks", "root", "key", "hosts", "members", "numbering"),
           "measured": ("key", "over", "point", "bytes", "median_us", "least_us", "most_us", "times")}


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key != "seconds"}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def unpacked(blob):
    text = zlib.decompress(blob[8:])
    assert len(text) == int.from_bytes(blob[:8], "little")
    return text.decode()


def packed(text):
    data = text if isinstance(text, bytes) else text.encode()
    return len(data).to_bytes(8, "little") + zlib.compress(data)


def contents(path):
    """Answers by question, but for times of search; where they are for, and predicted times."""
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        answers = {unpacked(question): without_times(json.loads(unpacked(answer)))
                   for question, answer in file.execute("SELECT question, answer FROM answers")}
        return answers, sorted(file.execute("SELECT machine, grp, collective, ranks, root, key, members, hosts, numbering FROM places")) + sorted(
            file.execute("SELECT key, bytes, point, us, least_us FROM predicted"))
