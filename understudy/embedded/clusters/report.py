"""The state of a cluster now: its parts, its nodes and pods as the API reports them, the size of its database."""

import asyncio
from collections import Counter
from collections.abc import Mapping

import msgspec

from understudy.client import BadConfig, connect
from understudy.client.kubeconfig import read_kubeconfig
from understudy.client.list_pages import Page, listed
from understudy.embedded.cluster_folder import ClusterFolder, ClusterSettings
from understudy.embedded.clusters.credentials import url
from understudy.embedded.clusters.process_lock import PARTS, SUPERVISOR, LockHolder, lock_holder
from understudy.objects.resources import NODES, PODS
from understudy.ports import Refused, Unreachable

_LIMIT = {"limit": "500"}
UP, DOWN, PARTLY = "up", "down", "partly up"


class ClusterReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    state: str
    server: str
    kubeconfig: str
    parts: Mapping[str, LockHolder | None]
    nodes: int
    ready_nodes: int | None = None  # None: the API did not answer
    pods: Mapping[str, int] | None = None  # by phase
    trouble: str = ""  # why the API did not answer
    stored_bytes: int = 0


async def cluster_report(folder: ClusterFolder, settings: ClusterSettings, seconds: float) -> ClusterReport:
    parts = {part: lock_holder(folder.processes / part) for part in (SUPERVISOR, *PARTS)}
    alive = sum(found is not None for found in parts.values())
    found = ClusterReport(
        name=settings.name,
        state=UP if alive == len(parts) else DOWN if alive == 0 else PARTLY,
        server=url(settings),
        kubeconfig=str(folder.kubeconfig),
        parts=parts,
        nodes=len(settings.nodes),
        stored_bytes=_stored(folder),
    )
    return found if alive == 0 else await _asked(folder, found, seconds)


async def _asked(folder: ClusterFolder, found: ClusterReport, seconds: float) -> ClusterReport:
    try:
        config = msgspec.structs.replace(read_kubeconfig(folder.access(SUPERVISOR)), connect_retry=0.0)
        async with asyncio.timeout(seconds), connect(config) as client:
            ready = [_is_ready(node) async for node in listed(client, NODES, _PAGES, query=_LIMIT)]
            pods = Counter([pod.status.phase async for pod in listed(client, PODS, _PAGES, query=_LIMIT)])
    except (Unreachable, Refused, BadConfig, msgspec.DecodeError) as error:
        return msgspec.structs.replace(found, trouble=str(error))
    except TimeoutError:
        return msgspec.structs.replace(found, trouble=f"no answer within {seconds:g} s")
    return msgspec.structs.replace(found, ready_nodes=sum(ready), nodes=len(ready), pods=dict(sorted(pods.items())))


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = "Unknown"
    conditions: tuple[_Condition, ...] = ()


class _Item(msgspec.Struct, gc=False):
    status: _Status = _Status()


_PAGES = msgspec.json.Decoder(Page[_Item])


def _is_ready(node: _Item) -> bool:
    return any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions)


def _stored(folder: ClusterFolder) -> int:
    """The database with its write-ahead log."""
    files = folder.path.glob(f"{folder.database.name}*")
    return sum(file.stat().st_size for file in files)
