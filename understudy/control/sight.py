"""Whether the view is young enough to be acted upon; says once when it is not, and once when it is again."""

import logging

from understudy.ports import Cluster

_log = logging.getLogger(__name__)


class Sight:
    def __init__(self, cluster: Cluster, longest: float | None) -> None:
        """`longest` are the seconds up to which a view is young enough; None: it always is."""
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
