"""Large gangs that only wait are formed again at a limited rate: n pods that come or go one by one would otherwise cost
n formings of n pods.

Until then the snapshot has the gang as it was. It has no seats and no holds, so no other gang depends on it. If a plan
does anything with it, the loop catches up and plans again before it writes.
"""

from collections.abc import Iterable

from understudy.control.view.gang_parts import GangParts
from understudy.model.gangs import Gang
from understudy.objects.pods import Pod

LARGE = 256  # members; smaller gangs are formed after each change
PER_MEMBER = 200e-6  # seconds of pause after a forming; about ten times what the forming takes


def pause_after_forming(gang: Gang | None) -> float:
    """0 for a gang whose changes the next snapshot must have."""
    if gang is None or gang.size < LARGE or gang.holds or gang.leaving or gang.seated():
        return 0.0
    return gang.size * PER_MEMBER


def only_waits(pod: Pod, known: Pod) -> bool:
    """Whether the pod has and had neither a seat nor a seat held for it, and its annotations did not change."""
    seated = pod.spec.node_name or known.spec.node_name
    nominated = pod.status.nominated_node_name or known.status.nominated_node_name
    return not (seated or nominated) and pod.metadata.annotations == known.metadata.annotations


class FormingPauses:
    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def goes_on(self, key: str, group: GangParts, now: float) -> bool:
        """Whether the change of this gang is left out of the next snapshot."""
        until = group.formed_at + group.paused
        if until <= now or _is_settled(group):
            return False
        self._until[key] = until
        return True

    def due(self, now: float) -> list[str]:
        return [key for key, until in self._until.items() if until <= now]

    def ended(self, keys: Iterable[str]) -> list[str]:
        """Returns those of the keys whose changes were left out."""
        return [key for key in keys if self._until.pop(key, None) is not None]

    def next_look(self) -> float | None:
        return min(self._until.values(), default=None)


def _is_settled(group: GangParts) -> bool:
    """Whether the last pod has come, or the last one has gone."""
    if not group.entries:
        return group.top_level_job is None
    return group.gang is not None and len(group.entries) == group.gang.size and group.is_unfinished
