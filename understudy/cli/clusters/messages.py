"""What `understudy up` prints: how to reach the cluster, and what the cluster still lacks."""

import enum
import ipaddress
import shlex
import sys
from collections.abc import Iterator

from understudy.cli.output.terminal import Painter
from understudy.embedded.cluster_folder import ADMIN_ACCESS, DEFAULT_NAME, ClusterFolder, ClusterSettings
from understudy.embedded.clusters.credentials import url
from understudy.embedded.clusters.readiness import Readiness, some

NO_IMAGES = "Images are not pulled: a container's command runs as a process of this machine."


def cluster_title(settings: ClusterSettings) -> str:
    count = len(settings.nodes)
    return f"cluster {settings.name} ({count} node{'s' * (count != 1)}, {url(settings)})"


def name_flag(settings: ClusterSettings) -> str:
    """The --name flag that commands about this cluster need; empty for the default cluster."""
    return "" if settings.name == DEFAULT_NAME else f" --name {settings.name}"


def access_lines(folder: ClusterFolder, settings: ClusterSettings) -> Iterator[str]:
    name = name_flag(settings)
    for command, meaning in (
        (f"export KUBECONFIG={shlex.quote(str(folder.kubeconfig))}", ""),
        ("kubectl get nodes", ""),
        (f"understudy status{name}", "how it is doing"),
        (f"understudy down{name}", f"stops it; `understudy up{name}` brings it back"),
    ):
        yield f"  {command:<34} {meaning}".rstrip()
    yield ""
    yield NO_IMAGES if settings.runtime == "process" else f"Containers run under {settings.runtime}."
    if settings.pod_access == ADMIN_ACCESS:
        yield "warning: every pod may do everything at the API; `--pod-access service-account` ends that"
    if not ipaddress.ip_address(settings.address).is_loopback:
        yield f"warning: the API listens on {settings.address}; holders of a token can run commands here"


def print_lines(*lines: str) -> None:
    """Commands stand out on a terminal, and so do warnings."""
    paint = Painter.on(sys.stdout)
    for line in lines:
        colour = "bold" if line.startswith("  ") else "yellow" if line.startswith("warning") else ""
        print(paint(line, colour) if colour else line)
    sys.stdout.flush()


MOST_NODES = 10  # told one by one


class StartVerdict(enum.Enum):
    UP = "the API answers; what is still missing may come, or be corrected, while the cluster runs"
    ABSENT = "the API does not answer; the processes go on, and the supervisor tries again"
    STOP = "the cluster never worked and runs nothing, so stopping it loses nothing"


def judge_start(found: Readiness, *, may_be_stopped: bool) -> StartVerdict:
    """The verdict on a start. `may_be_stopped` says that the cluster was never up before and runs nothing."""
    if may_be_stopped and not _works(found):
        return StartVerdict.STOP
    return StartVerdict.UP if found.answers else StartVerdict.ABSENT


def _works(found: Readiness) -> bool:
    return found.answers and not (found.kinds or found.objects) and (found.ready_nodes > 0 or not found.waiting)


def start_warnings(found: Readiness, settings: ClusterSettings) -> Iterator[str]:
    """Warnings about nodes that are not ready and objects that are missing, with the reason and the fix."""
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
