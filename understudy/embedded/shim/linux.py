"""System calls that Python 3.11 does not offer, and facts about processes from /proc. Other systems: OSError."""

import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import signal
from pathlib import Path

NEW_MOUNTS, NEW_HOSTNAME, NEW_USERS = 0x00020000, 0x04000000, 0x10000000

READ_ONLY, REMOUNT, BIND, MOVE, RECURSIVE = 1, 32, 4096, 8192, 16384
UNBINDABLE, PRIVATE, SLAVE = 1 << 17, 1 << 18, 1 << 19

PROCESS_PREFIX = "understudy-"  # of the names that `ps` shows for the processes of a cluster

_AT_THIS_FOLDER, _EXCHANGE = -100, 2
_SET_PARENT_DEATH_SIGNAL, _SET_NAME, _SET_CHILD_SUBREAPER = 1, 15, 36
_STATE_FIELD, _PARENT_FIELD, _SESSION_FIELD, _BIRTH_FIELD = 0, 1, 3, 19  # of /proc/PID/stat, after the name


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    try:
        function = getattr(_libc(), name)
    except AttributeError:
        raise OSError(errno.ENOSYS, f"this system has no {name}") from None
    if function(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def unshare(what: int) -> None:
    _call("unshare", ctypes.c_int(what))


def join_namespace(file: int) -> None:
    _call("setns", ctypes.c_int(file), ctypes.c_int(0))


def mount(source: str | None, target: str, flags: int, kind: str | None = None, options: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, options)]
    try:
        _call("mount", texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])
    except OSError as problem:
        raise OSError(problem.errno, f"{problem.strerror} ({source or kind or 'none'} at {target})") from None


def set_hostname(name: str) -> None:
    text = name.encode()
    _call("sethostname", text, ctypes.c_size_t(len(text)))


def exchange(one: Path, other: Path) -> None:
    """Exchanges the files or folders at two paths atomically."""
    here = ctypes.c_int(_AT_THIS_FOLDER)
    _call("renameat2", here, os.fsencode(one), here, os.fsencode(other), ctypes.c_uint(_EXCHANGE))


def adopt_orphans() -> None:
    """Orphaned descendants become children of this process, not of the machine's first process."""
    _call("prctl", _SET_CHILD_SUBREAPER, ctypes.c_ulong(1), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))


def die_with_parent() -> None:
    """The kernel kills this process when its parent ends, even if it is stopped."""
    _when_the_parent_dies(signal.SIGKILL)


def outlive_parent() -> None:
    _when_the_parent_dies(0)


def _when_the_parent_dies(number: int) -> None:
    zero = ctypes.c_ulong(0)
    _call("prctl", _SET_PARENT_DEATH_SIGNAL, ctypes.c_ulong(number), zero, zero, zero)


def set_name(name: str) -> None:
    """The name that `ps` shows; 15 characters at most."""
    zero = ctypes.c_ulong(0)
    _call("prctl", _SET_NAME, ctypes.c_char_p(name.encode()), zero, zero, zero)


def stat_fields(pid: int) -> list[str] | None:
    """Of /proc/PID/stat, from the state on; None where no such process exists."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(")") + 2 :].split()  # the process name before may contain any character


def start_ticks(pid: int) -> int | None:
    """When a process started, in the kernel's ticks; None where none runs. A reused pid has another start time."""
    fields = stat_fields(pid)
    return None if fields is None or fields[_STATE_FIELD] in "ZX" else int(fields[_BIRTH_FIELD])


def started_at(pid: int) -> float | None:
    """When a process started, in seconds since 1970."""
    ticks = start_ticks(pid)
    if ticks is None:
        return None
    [booted] = [line.split()[1] for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime ")]
    return int(booted) + ticks / os.sysconf("SC_CLK_TCK")


def is_locked(folder: Path) -> bool:
    """Whether a process holds the lock on this folder."""
    try:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(file)


def lock_holders(folder: Path) -> set[int]:
    """Processes of a cluster that have this folder open: its shim, or one that is about to become it."""
    try:
        place = folder.stat()
    except OSError:
        return set()
    return {pid for pid in all_pids() if pid != os.getpid() and _has_open(pid, place)}


def _has_open(pid: int, place: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        if Path(f"/proc/{pid}/comm").read_text().startswith(PROCESS_PREFIX):
            files = [os.stat(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")]
            return any(os.path.samestat(file, place) for file in files)
    return False


def all_pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()] if os.path.isdir("/proc") else []


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped the process: until SIGCONT it reacts to SIGKILL only."""
    fields = stat_fields(pid)
    return fields is not None and fields[_STATE_FIELD] == "T"


def session(pid: int) -> int | None:
    fields = stat_fields(pid)
    return None if fields is None else int(fields[_SESSION_FIELD])


def children(pid: int) -> list[int]:
    """Including zombies."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except ProcessLookupError:
        return []
    except FileNotFoundError:
        return _children_by_search(pid) if os.path.exists(f"/proc/{pid}") else []


def descendants(pid: int) -> set[int]:
    """All descendants at this moment; more may be forked meanwhile."""
    found: set[int] = set()
    left = [pid]
    while left:
        new = [child for child in children(left.pop()) if child not in found]
        found.update(new)
        left += new
    return found


def _children_by_search(pid: int) -> list[int]:
    """Not every kernel lists children."""
    return [one for one in all_pids() if (fields := stat_fields(one)) is not None and int(fields[_PARENT_FIELD]) == pid]
