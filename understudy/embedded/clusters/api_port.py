"""The port of a cluster's API. A port that the user did not ask for is replaced when another program takes it."""

import asyncio
import datetime
import random

import msgspec

from understudy.embedded.cluster_folder import ClusterFolder, ClusterSettings
from understudy.embedded.clusters.credentials import write_credentials
from understudy.embedded.clusters.private_files import write_private
from understudy.embedded.clusters.process_lock import SERVER, lock_holder
from understudy.embedded.clusters.settings import PORTS, all_clusters, is_port_free, read_settings

_LOOK, _LOOKS = 0.1, 2  # two checks, since a server may just be between taking its lock and its port


def save_settings(folder: ClusterFolder, settings: ClusterSettings) -> None:
    """Writes the settings and the kubeconfigs, which contain the port."""
    write_private(folder.settings, msgspec.json.format(msgspec.json.encode(settings)) + b"\n")
    write_credentials(folder, settings, datetime.datetime.now(datetime.UTC))


def move_port_if_taken(folder: ClusterFolder) -> str:
    """Call it while no server of this cluster runs. Returns what has changed, in words; '' if the port is free.

    Two clusters that start at the same time may choose the same port; and another program may take it while the server
    is being started again.
    """
    settings = read_settings(folder)
    if settings is None or settings.fixed_port or is_port_free(settings.address, settings.port):
        return ""
    others = [known for name, known in all_clusters().items() if name != settings.name]
    taken = {other.port for other in others}
    free = [port for port in PORTS if port not in taken and is_port_free(settings.address, port)]
    if not free:
        return ""  # the address is the problem, not the port
    port = random.choice(
        free
    )  # at random: clusters that lose the same port at the same moment must not choose the same one again
    save_settings(folder, msgspec.structs.replace(settings, port=port))
    return f"port {settings.port} is taken by another program: the API moves to port {port}"


async def wait_until_port_lost(folder: ClusterFolder) -> None:
    """Returns when another program has the port that the user asked for, and the server cannot get it.

    A server takes its lock before it listens. While the lock is free, a taken port is another program's.
    """
    seen = 0
    while seen < _LOOKS:
        await asyncio.sleep(_LOOK)
        settings = read_settings(folder)
        absent = settings is not None and settings.fixed_port and lock_holder(folder.processes / SERVER) is None
        is_lost = settings is not None and absent and not is_port_free(settings.address, settings.port)
        seen = seen + 1 if is_lost else 0
