"""Waits for pods to be what a command promised: all of them gone, or enough of them running."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from understudy.cli.complaint import listed
from understudy.kinds.decoding import decode_json
from understudy.kinds.ownership import owner_of
from understudy.objects.errors import BadObject
from understudy.objects.pods import Pod
from understudy.objects.resources import PODS
from understudy.ports import ChangeType

if TYPE_CHECKING:
    from understudy.client import KubeClient

Pods = Mapping[str, Pod]  # by namespace/name


class Which(msgspec.Struct, frozen=True):
    """Pods to look at: of these gangs, or, with none, all that the fields select."""

    namespace: str = ""
    gangs: frozenset[str] = frozenset()
    fields: str = ""


class TooLate(Exception):
    """Time is up: the pods as they were then."""

    def __init__(self, limit: float, pods: Pods) -> None:
        names = f"pods {listed(sorted(pods))}" if pods else "its pods"
        super().__init__(f"waited {limit:g} s for {names}")
        self.pods = pods


async def until_pods(client: "KubeClient", which: Which, shows: Callable[[Pods], bool], limit: float) -> None:
    """Returns when the pods show it. No limit, 0, is for ever; else it raises TooLate."""
    pods: Pods = {}
    try:
        async with asyncio.timeout(limit or None), contextlib.aclosing(seen(client, which)) as moments:
            async for pods in moments:
                if shows(pods):
                    return
    except TimeoutError:
        raise TooLate(limit, pods) from None


async def pods_now(client: "KubeClient", which: Which) -> Pods:
    async with contextlib.aclosing(seen(client, which)) as moments:
        return await anext(moments)


async def seen(client: "KubeClient", which: Which) -> AsyncGenerator[Pods, None]:
    """The pods as they are, then again after every change, for ever."""
    known: dict[str, Pod] = {}
    synced = False
    changes = client.follow(PODS, namespace=which.namespace, fields=which.fields)
    async with contextlib.aclosing(changes):  # type: ignore[type-var]
        async for change in changes:
            if change.type is ChangeType.SYNCED:
                synced = True
            else:
                _take(change.raw, change.type is ChangeType.DELETED, known, which)
            if synced:
                yield dict(known)


def _take(raw: bytes, gone: bool, known: dict[str, Pod], which: Which) -> None:
    try:
        pod = decode_json(raw)
    except BadObject:  # somebody else's: no job of ours has pods that make no sense
        return
    assert isinstance(pod, Pod)
    name = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if gone:
        known.pop(name, None)
    elif not which.gangs or owner_of(pod).key in which.gangs:
        known[name] = pod


def none_left(pods: Pods) -> bool:
    return not pods
