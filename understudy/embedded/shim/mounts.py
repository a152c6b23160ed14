"""The mounts of a container: turns a list of mounts into bind mounts that only the container sees.

A mount point that is missing on the machine is never created there. Its nearest existing parent folder is replaced,
for this container only, by a folder that shows the same entries and has room for the mount point.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from understudy.embedded.shim import linux
from understudy.embedded.shim.container_files import Mount

TERMINATION_LOG = "/dev/termination-log"
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_MOST_ENTRIES = 2000
_KEPT_FLAGS = {
    os.ST_NOSUID: 2, os.ST_NODEV: 4, os.ST_NOEXEC: 8,
    os.ST_NOATIME: 1024, os.ST_NODIRATIME: 2048, os.ST_RELATIME: 1 << 21,
}  # fmt: skip


class CannotMount(Exception):
    """Why a mount is not possible."""


def why_not_private(scratch: Path) -> str:
    """Why private mounts are not possible, or an empty text. Tried in a child process, since it cannot be undone."""
    child = os.fork()
    if child == 0:
        code = errno.EPERM
        try:
            enter_private_view(scratch)
            code = 0
        except OSError as problem:
            code = problem.errno or code
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return "" if code == 0 else os.strerror(code) if code > 0 else f"ended by signal {-code}"


def enter_private_view(scratch: Path) -> None:
    """From here on, only this process and its children see new mounts; mounts of the machine still propagate to them.

    `scratch` is an empty folder; other processes keep seeing it empty.
    """
    try:
        linux.unshare(linux.NEW_MOUNTS | linux.NEW_HOSTNAME)
    except PermissionError:
        _enter_user_namespace()
    linux.mount(None, "/", linux.SLAVE | linux.RECURSIVE)
    _make_room_for_termination_log(scratch)
    _make_room_for_service_account(scratch)


def _enter_user_namespace() -> None:
    """Lets a user without root rights mount in a namespace of its own; the user id stays the same."""
    user, group = os.getuid(), os.getgid()
    linux.unshare(linux.NEW_USERS | linux.NEW_MOUNTS | linux.NEW_HOSTNAME)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _make_room_for_termination_log(scratch: Path) -> None:
    """Nearly every container has this mount point, so its folder is replaced once for all."""
    if not os.path.lexists(TERMINATION_LOG):
        linux.mount("none", str(scratch), 0, "tmpfs", "mode=755")
        _make(str(scratch / os.path.basename(TERMINATION_LOG)), is_folder=False)
        stand_in(os.path.dirname(TERMINATION_LOG), str(scratch))


def _make_room_for_service_account(scratch: Path) -> None:
    """The same for the folder of the service account.

    Containers that start later do not see new entries of the machine's /run, but those of its subfolders.
    """
    point = os.path.realpath(SERVICE_ACCOUNT)
    nearest = point
    while not os.path.isdir(nearest):
        nearest = os.path.dirname(nearest)
    if nearest in ("/", point):
        return
    with contextlib.suppress(OSError, CannotMount):
        linux.mount("none", str(scratch), 0, "tmpfs", "mode=755")
        os.makedirs(scratch / os.path.relpath(point, nearest))
        stand_in(nearest, str(scratch))


def make_mounts(mounts: Sequence[Mount], private: Path) -> None:
    """To be called in the process that is about to become the container, in its own mount namespace.

    All sources are opened first: one mount may hide the source of another.
    """
    view = _View(_pinned(private))
    sources = [(mount, _pinned(Path(mount.source))) for mount in mounts]
    for mount, source in sorted(sources, key=lambda one: one[0].target.rstrip("/").count("/")):
        try:
            view.add(mount, source)
        except (OSError, CannotMount):
            if not mount.optional:
                raise


def _pinned(path: Path) -> str:
    """A path that leads to the same file for the lifetime of this process, whatever is mounted over it."""
    return f"/proc/self/fd/{os.open(path, os.O_PATH | os.O_CLOEXEC)}"


class _View:
    def __init__(self, private: str) -> None:
        self._private = private
        self._stand_ins = 0
        self._own: set[str] = set()  # folders in which mount points may be created
        self._own_trees: list[str] = []  # the same, with all folders below

    def add(self, mount: Mount, source: str) -> None:
        is_folder = os.path.isdir(source)
        point = self._point(mount.target, is_folder)
        linux.mount(source, point, linux.BIND | linux.RECURSIVE)
        if mount.read_only:
            linux.mount(None, point, linux.REMOUNT | linux.BIND | linux.READ_ONLY | _kept_flags(point))
        if is_folder and not mount.shared:
            self._own_trees.append(point + "/")

    def _point(self, target: str, is_folder: bool) -> str:
        point = os.path.realpath(target)
        if os.path.lexists(point):
            if os.path.isdir(point) != is_folder:
                raise CannotMount(f"{target} is a {'folder' if not is_folder else 'file'} on this machine")
            return point
        nearest = os.path.dirname(point)
        missing = []
        while not os.path.isdir(nearest):
            missing.append(nearest)
            nearest = os.path.dirname(nearest)
        if not self._is_own(nearest):
            self._replace(nearest)
        for folder in reversed(missing):
            os.mkdir(folder)
            self._own.add(folder)
        _make(point, is_folder)
        return point

    def _is_own(self, folder: str) -> bool:
        return folder in self._own or any((folder + "/").startswith(tree) for tree in self._own_trees)

    def _replace(self, folder: str) -> None:
        backing = f"{self._private}/{self._stand_ins}"
        self._stand_ins += 1
        os.makedirs(backing, exist_ok=True)
        linux.mount(backing, backing, linux.BIND)
        stand_in(folder, backing)
        self._own.add(folder)


def stand_in(folder: str, backing: str) -> None:
    """Replaces `folder` by the mount point `backing`, which shows all entries of the folder."""
    linux.mount(None, backing, linux.UNBINDABLE)  # else it could be mounted into itself with one of its parents
    found = _entries(folder)
    if len(found) > _MOST_ENTRIES:
        raise CannotMount(
            f"{folder} holds {len(found)} entries, too many to add a mount point; make it on this machine"
        )
    for entry in found:
        _show(entry, f"{backing}/{entry.name}")
    linux.mount(None, backing, linux.PRIVATE)
    if folder == "/":
        os.chroot(backing)
        os.chdir("/")
    else:
        linux.mount(backing, folder, linux.MOVE)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Folders that this user may not read, such as another user's home, count as empty."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        return []


def _show(entry: os.DirEntry[str], place: str) -> None:
    if entry.is_symlink():
        if not os.path.lexists(place):
            os.symlink(os.readlink(entry.path), place)
        return
    is_folder = entry.is_dir()
    _make(place, is_folder)
    linux.mount(entry.path, place, linux.BIND | (linux.RECURSIVE if is_folder else 0))


def _make(place: str, is_folder: bool) -> None:
    if is_folder:
        os.makedirs(place, exist_ok=True)
    else:
        os.close(os.open(place, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, stat.S_IRUSR | stat.S_IWUSR))


def _kept_flags(point: str) -> int:
    """Flags that the file system has already: without root rights, a remount must keep them."""
    given = os.statvfs(point).f_flag
    return sum(flag for ours, flag in _KEPT_FLAGS.items() if given & ours)
