"""What `understudy up` makes of a cluster that is not all there after a while, and how it tells of it."""

import enum
from collections.abc import Iterator

from understudy.embedded.cluster_folder import DEFAULT_NAME, ClusterSettings
from understudy.embedded.clusters.readiness import Readiness, some

MOST_NODES = 10  # told one by one


class Verdict(enum.Enum):
    UP = "it answers, and what it lacks may come or be mended while it runs"
    ABSENT = "it does not answer; what runs goes on, and it is tried again"
    STOP = "it never worked and runs nothing: nobody loses anything when it is stopped"


def verdict_on(found: Readiness, *, may_be_stopped: bool) -> Verdict:
    """`may_be_stopped` where it was never up before and runs nothing."""
    if may_be_stopped and not _works(found):
        return Verdict.STOP
    return Verdict.UP if found.answers else Verdict.ABSENT


def _works(found: Readiness) -> bool:
    return found.answers and not (found.kinds or found.objects) and (found.ready_nodes > 0 or not found.waiting)


def words_on(found: Readiness, settings: ClusterSettings) -> Iterator[str]:
    """What it lacks, why, and how that is mended."""
    down, known = len(found.failed) + len(found.waiting), len(settings.nodes)
    if down:
        yield f"warning: {down} of {known} node{'s' * (known != 1)} {'is' if down == 1 else 'are'} not ready"
        yield from _nodes(found, settings)
    if missing := [*found.kinds, *found.objects.values()]:
        yield f"warning: not there yet: {some(missing)}; see the control log in the folder of the cluster"


def _nodes(found: Readiness, settings: ClusterSettings) -> Iterator[str]:
    flag = "" if settings.name == DEFAULT_NAME else f" --cluster {settings.name}"
    for name in sorted(found.failed)[:MOST_NODES]:
        yield f"  {name}: it has failed; `understudy node recover {name}{flag}` brings it back"
    for name, why in sorted(found.waiting.items())[:MOST_NODES]:
        yield f"  {name}: {why.rstrip('.')}; `understudy node list{flag}` shows when it comes"
    if (more := sum(max(len(nodes) - MOST_NODES, 0) for nodes in (found.failed, found.waiting))) > 0:
        yield f"  and {more} more; `understudy node list{flag}` shows them all"
