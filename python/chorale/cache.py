"""The directory of compiled programs. What lies there is loaded into the process, so it has to belong to the
user, and no other user may write to it: a directory whose name can be guessed may have been made by another."""

from __future__ import annotations

import os
import pathlib
import stat
from typing import Optional


def cache(directory: Optional[os.PathLike] = None) -> pathlib.Path:
    """The directory, made if it is not there: the given one, $XDG_CACHE_HOME/chorale, or ~/.cache/chorale.
    PermissionError where it, or of the latter two a directory above it, may be changed by others."""
    if directory is not None:
        path = pathlib.Path(directory).absolute()
    else:
        home = os.environ.get("XDG_CACHE_HOME", "")
        try:
            # By its specification a relative path is no answer.
            path = (pathlib.Path(home) if os.path.isabs(home) else pathlib.Path.home() / ".cache") / "chorale"
        except RuntimeError:
            raise PermissionError("no directory for compiled programs: there is no HOME; set XDG_CACHE_HOME, "
                                  "or give directory=") from None
    try:
        for each in reversed([each for each in (path, *path.parents) if not each.exists()]):
            each.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise PermissionError(f"{path}: cannot be made: {error.strerror}; set XDG_CACHE_HOME to a directory of "
                              "your own, or give directory=") from None
    require_own(path)
    if directory is None:
        for above in path.resolve().parents:
            _require_nobody_elses(above, above.stat(), shared=True)
    return path


def require_own(path: pathlib.Path) -> None:
    """PermissionError where it is a link, or others own it or may write to it."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise PermissionError(f"{path}: is a link, and what it leads to would be loaded; "
                              "remove it, or give that instead")
    _require_nobody_elses(path, found, shared=False)


def require_all_own(folder: pathlib.Path) -> None:
    """The same of a directory and what lies in it."""
    for path in (folder, *folder.iterdir()):
        require_own(path)


def close_to_others(folder: pathlib.Path) -> None:
    """Whatever the umask was when files were made in it."""
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~(stat.S_IWGRP | stat.S_IWOTH))


def _require_nobody_elses(path: pathlib.Path, found: os.stat_result, shared: bool) -> None:
    # The owner of / is root, also where a container has another number for it.
    if found.st_uid not in (os.geteuid(), 0, os.stat("/").st_uid):
        raise PermissionError(f"{path}: belongs to another user (uid {found.st_uid}), and what lies there is "
                              "loaded; set XDG_CACHE_HOME to a directory of your own, or give directory=")
    # Above it, only owners remove entries of sticky directories, and a group may be one's own.
    others = stat.S_IWOTH if shared else stat.S_IWOTH | stat.S_IWGRP
    if found.st_mode & others and not (shared and found.st_mode & stat.S_ISVTX):
        raise PermissionError(f"{path}: others may write to it, and what lies there is loaded; "
                              f"chmod go-w {path}, or give another directory")
