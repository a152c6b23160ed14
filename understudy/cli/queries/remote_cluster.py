"""The state of a cluster that is not embedded: version, nodes, pods, and whether Understudy leads there."""

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from understudy.cli.errors import BadInput
from understudy.cli.queries.installation import INSTALL, is_installed
from understudy.cli.queries.lists import list_nodes, list_pods
from understudy.cli.session import client_config
from understudy.client import KubeClient, connect
from understudy.client.config import Config
from understudy.kube.settings import LEASE_NAME, SCHEDULER_NAME
from understudy.objects.resources import LEASES
from understudy.ports import Refused, Unreachable

NO_LEADER = ""


class RemoteCluster(msgspec.Struct, frozen=True, rename="camel"):
    server: str
    version: str = ""
    nodes: int = 0
    ready_nodes: int = 0
    pods: Mapping[str, int] = {}  # by phase
    ours: int = 0  # of them, that ask for our scheduler and have not ended
    waiting: int = 0  # of those, without a seat
    installed: bool = False
    leader: str = NO_LEADER
    trouble: str = ""  # why the rest is not known


def remote_config(options: argparse.Namespace) -> Config | None:
    """The config of the cluster that the options or the environment select; None for none and for an embedded one."""
    given = argparse.Namespace(namespace=None, cluster=None, context=options.context, kubeconfig=options.kubeconfig)
    try:
        config = client_config(given)
    except BadInput:
        if options.context or options.kubeconfig:
            raise
        return None
    return None if config.embedded else config


async def read_remote_cluster(config: Config, seconds: float) -> RemoteCluster:
    try:
        async with asyncio.timeout(seconds), connect(config) as client:
            return await _read(client)
    except (Unreachable, Refused, msgspec.DecodeError) as error:
        return RemoteCluster(config.server, trouble=str(error))
    except TimeoutError:
        return RemoteCluster(config.server, trouble=f"no answer within {seconds:g} s")


async def _read(client: KubeClient) -> RemoteCluster:
    version = msgspec.json.decode(await client.request("GET", "/version"))["gitVersion"]
    nodes, pods = await asyncio.gather(list_nodes(client), list_pods(client, ""))
    ready = [any(c.type == "Ready" and c.status == "True" for c in node.status.conditions) for node in nodes]
    ours = [pod for pod in pods if pod.spec.scheduler_name == SCHEDULER_NAME and not pod.finished]
    return RemoteCluster(
        client.config.server,
        version,
        len(nodes),
        sum(ready),
        dict(sorted(Counter(pod.status.phase for pod in pods).items())),
        len(ours),
        sum(not pod.spec.node_name for pod in ours),
        await is_installed(client),
        await _leader(client),
    )


async def _leader(client: KubeClient) -> str:
    """The holder of the lease by which the replicas of Understudy elect their leader."""
    try:
        answer = await client.request("GET", f"{LEASES.path()}?fieldSelector=metadata.name%3D{LEASE_NAME}")
    except Refused:
        return NO_LEADER  # or it is not ours to see
    holders = [item.get("spec", {}).get("holderIdentity") for item in msgspec.json.decode(answer).get("items") or ()]
    return next((holder for holder in holders if holder), NO_LEADER)


def remote_lines(seen: RemoteCluster) -> Iterator[str]:
    if seen.trouble:
        yield f"{seen.server}: {seen.trouble}"
        return
    yield f"{seen.server}: Kubernetes {seen.version}"
    phases = ", ".join(f"{count} {phase.lower()}" for phase, count in seen.pods.items()) or "none"
    yield f"  nodes       {seen.ready_nodes} of {seen.nodes} ready"
    yield f"  pods        {phases}"
    yield f"  ours        {seen.ours} with schedulerName {SCHEDULER_NAME}, {seen.waiting} of them without a seat"
    yield f"  understudy  {_understudy(seen)}"


def _understudy(seen: RemoteCluster) -> str:
    if not seen.installed:
        return f"not installed: {INSTALL}"
    return f"installed; {seen.leader} leads" if seen.leader else "installed; no replica leads"


def remote_figures(seen: RemoteCluster) -> dict[str, Any]:
    figures: dict[str, Any] = msgspec.to_builtins(seen)
    return figures
