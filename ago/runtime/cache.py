"""Content-addressed disk cache for compiled code.

Read `Cache` first. An entry is a directory that appears whole or not at all: it is built aside and
renamed into place under a lock that the operating system releases when its holder dies. So two
processes may share the cache and any of them may be killed at any moment.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock

_LOG = logging.getLogger(__name__)
_KEY = re.compile(r"[A-Za-z0-9_-]{8,128}")


class Cache:
    """Directories addressed by a key that names their content.

    Example:
        >>> import tempfile
        >>> cache = Cache(Path(tempfile.mkdtemp()))
        >>> entry = cache.get_or_build("0123456789", lambda d: (d / "x").touch())
        >>> [path.name for path in entry.iterdir()]
        ['x']

    Attributes:
        root: Where the entries are.
    """

    def __init__(self, root: Path | None = None) -> None:
        """Open or create a cache.

        Args:
            root: Its directory; by default `AGO_CACHE_DIR`, else the user's cache directory, else,
                where neither can be written to, a private directory under the system's temporary
                one.
        """
        self.root = _usable_root() if root is None else root
        self._entries = self.root / "entries"
        self._locks = self.root / "locks"
        self._building = self.root / "building"
        for directory in (self._entries, self._locks, self._building):
            directory.mkdir(parents=True, exist_ok=True)

    def get_or_build(self, key: str, build: Callable[[Path], None]) -> Path:
        """Return the entry of `key`, building it first if there is none.

        Args:
            key: 8 to 128 letters, digits, `-` or `_`: a digest of all that decides the content.
            build: Fills the empty directory it is given. Called at most once at a time for a key,
                over all processes; if it raises, there is no entry and the exception passes on.

        Returns:
            The entry's directory, to be treated as read-only.
        """
        if not _KEY.fullmatch(key):
            raise ValueError(f"not a cache key: {key!r}")
        entry = self._entries / key
        if self._touch(entry):
            return entry
        with FileLock(self._locks / f"{key}.lock"):
            if self._touch(entry):
                return entry
            scratch = self._building / key
            shutil.rmtree(scratch, ignore_errors=True)  # left by a builder that was killed
            scratch.mkdir()
            try:
                build(scratch)
                scratch.rename(entry)
            except BaseException:
                shutil.rmtree(scratch, ignore_errors=True)
                raise
        return entry

    def prune(self, max_bytes: int) -> int:
        """Remove the entries used longest ago until the rest fits.

        Args:
            max_bytes: What may remain, bytes.

        Returns:
            The number of entries removed.
        """
        aged = []
        for entry in self._entries.iterdir():
            with contextlib.suppress(FileNotFoundError):  # pruned by another process meanwhile
                aged.append((entry.stat().st_mtime, entry.name, _tree_bytes(entry)))
        excess = sum(size for _, _, size in aged) - max_bytes
        removed = 0
        for _, key, size in sorted(aged):
            if excess <= 0:
                break
            removed += self.discard(key)
            excess -= size
        return removed

    def discard(self, key: str) -> bool:
        """Remove an entry, if it is there; returns whether it was."""
        with FileLock(self._locks / f"{key}.lock"):
            doomed = self._building / key
            shutil.rmtree(doomed, ignore_errors=True)
            try:
                (self._entries / key).rename(doomed)  # a reader sees the whole entry or none of it
            except FileNotFoundError:
                return False
            shutil.rmtree(doomed, ignore_errors=True)
        return True

    @staticmethod
    def _touch(entry: Path) -> bool:
        """Whether the entry exists; if so, note that it was used."""
        try:
            os.utime(entry)
        except FileNotFoundError:
            return False
        except PermissionError:
            return entry.is_dir()
        return True


def _usable_root() -> Path:
    configured = os.environ.get("AGO_CACHE_DIR")
    root = Path(configured) if configured else Path(platformdirs.user_cache_dir("ago"))
    if _is_writable(root):
        return root
    fallback = _temporary_root()
    _LOG.info("cannot write to the cache directory %s; using %s", root, fallback)
    return fallback


def _is_writable(directory: Path) -> bool:
    """Whether files can be created there; by trying, since permission bits do not tell all."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def _temporary_root() -> Path:
    """A directory that only this user can write to: loading code from any other would be unsafe."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    shared = Path(tempfile.gettempdir()) / f"ago-cache-{user}"
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
        status = shared.lstat()
    except OSError:
        return Path(tempfile.mkdtemp(prefix="ago-cache-"))
    private = stat.S_ISDIR(status.st_mode) and status.st_mode & 0o077 == 0
    if private and status.st_uid == user and _is_writable(shared):
        return shared
    return Path(tempfile.mkdtemp(prefix="ago-cache-"))


def _tree_bytes(directory: Path) -> int:
    return sum(path.lstat().st_size for path in directory.rglob("*"))
