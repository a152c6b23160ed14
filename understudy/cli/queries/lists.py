"""Asks a cluster for jobs, pods, events, nodes, incidents: lists of any length, page by page, into values of a type."""

from collections.abc import AsyncIterator, Iterable
from http import HTTPStatus
from typing import TypeVar

import msgspec

from understudy.cli.queries.objects import EventInfo, NodeInfo, PodInfo
from understudy.client import KubeClient
from understudy.client.list_pages import Page, listed
from understudy.kinds.registry import KINDS
from understudy.model.incidents import Incident
from understudy.objects.incidents import StoredIncident
from understudy.objects.resources import EVENTS, INCIDENTS, NODES, PODS, Resource
from understudy.ports import Refused

Item = TypeVar("Item")
FEW_NODES = "100"  # in a page, for callers that may need only the first page


def pod_selectors(kind: str, name: str) -> list[str]:
    """Label selectors that between them find the pods of a job."""
    return [f"{label}={name}" for label in KINDS[kind].pod_labels]


_PODS = msgspec.json.Decoder(Page[PodInfo])
_EVENTS = msgspec.json.Decoder(Page[EventInfo])
_NODES = msgspec.json.Decoder(Page[NodeInfo])
_INCIDENTS = msgspec.json.Decoder(Page[StoredIncident])


async def list_pods(client: KubeClient, namespace: str, labels: str = "") -> list[PodInfo]:
    """No namespace: of all of them."""
    return await _list(client, PODS, _PODS, namespace, labelSelector=labels)


async def pods_on_nodes(client: KubeClient, names: Iterable[str]) -> list[PodInfo]:
    """The pods on one node; for several nodes all pods, since most would be read anyway."""
    asked = list(names)
    fields = f"spec.nodeName={asked[0]}" if len(asked) == 1 else ""
    return await _list(client, PODS, _PODS, "", fieldSelector=fields)


async def pods_of_job(client: KubeClient, namespace: str, kind: str, name: str) -> list[PodInfo]:
    """Those that carry the job's name; whether they are of a job of this kind is for `summaries` to say."""
    found = [await list_pods(client, namespace, selector) for selector in pod_selectors(kind, name)]
    by_uid = {pod.metadata.uid or pod.metadata.name: pod for pods in found for pod in pods}
    return list(by_uid.values())


async def list_events(client: KubeClient, namespace: str, fields: str = "") -> list[EventInfo]:
    return await _list(client, EVENTS, _EVENTS, namespace, fieldSelector=fields)


async def list_nodes(client: KubeClient) -> list[NodeInfo]:
    return await _list(client, NODES, _NODES, "")


def follow_nodes(client: KubeClient) -> AsyncIterator[NodeInfo]:
    """For callers that may need only the first of them."""
    return listed(client, NODES, _NODES, query={"limit": FEW_NODES})


async def list_incidents(client: KubeClient, namespace: str) -> list[Incident]:
    """An empty list where the cluster does not serve the kind."""
    try:
        return [kept.incident for kept in await _list(client, INCIDENTS, _INCIDENTS, namespace)]
    except Refused as error:
        if error.code != HTTPStatus.NOT_FOUND:
            raise
        return []


async def _list(
    client: KubeClient, resource: Resource, pages: msgspec.json.Decoder[Page[Item]], namespace: str, **query: str
) -> list[Item]:
    return [item async for item in listed(client, resource, pages, namespace, query=query)]
