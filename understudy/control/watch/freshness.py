"""Whether the loop may act on the view: the view shows the loop's own writes, and it is young enough."""

import logging
from collections.abc import Callable
from typing import NamedTuple

from understudy.objects.meta import KubeObject
from understudy.objects.pods import Pod
from understudy.ports import ClusterReader

Name = tuple[str, str, str]  # (kind, namespace, name)
Shows = Callable[[KubeObject | None], bool]  # whether what is known of an object (None: it is gone) shows the write
NO_LIMIT = float("inf")


class Expectation(NamedTuple):
    shows: Shows
    until: float


class Expectations:
    """Writes that the view does not show yet.

    An acknowledged write is waited for without a limit. A watch delivers every write in the end, also after it was
    broken. With a limit, a plan could give away a seat that is taken."""

    def __init__(self) -> None:
        self._awaited: dict[Name, list[Expectation]] = {}

    def expect(self, name: Name, shows: Shows, known: KubeObject | None, until: float = NO_LIMIT) -> None:
        """`known` is what the view shows now: it may be newer than the answer to the write."""
        if not shows(known):
            self._awaited.setdefault(name, []).append(Expectation(shows, until))

    def observed(self, name: Name, obj: KubeObject | None) -> bool:
        """Returns whether this object was waited for."""
        awaited = self._awaited.get(name)
        if awaited is None:
            return False
        left = [each for each in awaited if not each.shows(obj)]
        if left:
            self._awaited[name] = left
        else:
            del self._awaited[name]
        return len(left) < len(awaited)

    def open_until(self, now: float) -> float | None:
        """When the last expectation expires; None without expectations."""
        self._awaited = {
            name: left for name, all_of_it in self._awaited.items() if (left := [a for a in all_of_it if a.until > now])
        }
        return max((each.until for awaited in self._awaited.values() for each in awaited), default=None)

    @property
    def names(self) -> list[str]:
        return sorted(f"{kind} {namespace}/{name}" for kind, namespace, name in self._awaited)


def shows_seat(uid: str) -> Shows:
    return lambda obj: _is_another(obj, uid) or (isinstance(obj, Pod) and bool(obj.spec.node_name))


def shows_deletion(uid: str) -> Shows:
    return lambda obj: obj is None or _is_another(obj, uid) or obj.metadata.deletion_timestamp is not None


def shows_gone(uid: str) -> Shows:
    return lambda obj: _is_another(obj, uid)


def shows_version(uid: str, version: str) -> Shows:
    return lambda obj: obj is None or _is_another(obj, uid) or _reached(obj.metadata.resource_version, version)


def _is_another(obj: KubeObject | None, uid: str) -> bool:
    return obj is None or obj.metadata.uid != uid


def _reached(version: str, wanted: str) -> bool:
    """Resource versions grow where they are numbers. Where they cannot be compared, nothing is waited for."""
    if version.isdigit() and wanted.isdigit():
        return int(version) >= int(wanted)
    return True


_log = logging.getLogger(__name__)


class ViewAge:
    def __init__(self, cluster: ClusterReader, longest: float | None) -> None:
        """`longest` is the maximum age of the view in seconds; None: no limit."""
        self._cluster = cluster
        self._longest = longest
        self._was_clear = True

    def is_clear(self) -> bool:
        if self._longest is None:
            return True
        age = self._cluster.age()
        clear = age <= self._longest
        if clear and not self._was_clear:
            _log.warning("the view is fresh again; deciding goes on")
        elif self._was_clear and not clear:
            _log.warning("the view is %.0f s old: nothing is decided until it is fresh again", age)
        self._was_clear = clear
        return clear
