"""How to reach a cluster, in the few lines that `understudy up` prints."""

import ipaddress
import shlex
import sys
from collections.abc import Iterator

from understudy.cli.paint import Painter
from understudy.embedded.cluster_folder import ADMIN_ACCESS, DEFAULT_NAME, ClusterFolder, ClusterSettings
from understudy.embedded.clusters.credentials import url

NO_IMAGES = "Images are not pulled: a container's command runs as a process of this machine."


def title(settings: ClusterSettings) -> str:
    count = len(settings.nodes)
    return f"cluster {settings.name} ({count} node{'s' * (count != 1)}, {url(settings)})"


def name_flag(settings: ClusterSettings) -> str:
    """What a command about this cluster needs to have behind its verb."""
    return "" if settings.name == DEFAULT_NAME else f" --name {settings.name}"


def how_to_reach(folder: ClusterFolder, settings: ClusterSettings) -> Iterator[str]:
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
        yield f"warning: the API listens on {settings.address}; whoever has a token can run commands here from afar"


def say(*lines: str) -> None:
    """Commands stand out on a terminal, and so do warnings."""
    paint = Painter.on(sys.stdout)
    for line in lines:
        colour = "bold" if line.startswith("  ") else "yellow" if line.startswith("warning") else ""
        print(paint(line, colour) if colour else line)
    sys.stdout.flush()
