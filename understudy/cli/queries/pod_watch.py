"""Waits until pods have reached the state that a command waits for: all deleted, or enough of them running."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping

import msgspec

from understudy.cli.errors import short_list
from understudy.client import KubeClient
from understudy.kinds.decoding import decode_json
from understudy.kinds.ownership import owner_of
from understudy.objects.errors import BadObject
from understudy.objects.pods import Pod
from understudy.objects.resources import PODS
from understudy.ports import ChangeType

Pods = Mapping[str, Pod]  # by namespace/name


class PodSelection(msgspec.Struct, frozen=True):
    """The pods of these gangs; without gangs, all that the fields select."""

    namespace: str = ""
    gangs: frozenset[str] = frozenset()
    fields: str = ""


class WaitTimeout(Exception):
    """Time is up: the pods as they were then."""

    def __init__(self, limit: float, pods: Pods) -> None:
        names = f"pods {short_list(sorted(pods))}" if pods else "its pods"
        super().__init__(f"waited {limit:g} s for {names}")
        self.pods = pods


async def wait_for_pods(client: KubeClient, which: PodSelection, shows: Callable[[Pods], bool], limit: float) -> None:
    """Waits until `shows` is true of the pods. A limit of 0 is no limit. Raises WaitTimeout after the limit."""
    pods: Pods = {}
    try:
        async with asyncio.timeout(limit or None), contextlib.aclosing(follow_pods(client, which)) as moments:
            async for pods in moments:
                if shows(pods):
                    return
    except TimeoutError:
        raise WaitTimeout(limit, pods) from None


async def current_pods(client: KubeClient, which: PodSelection) -> Pods:
    async with contextlib.aclosing(follow_pods(client, which)) as moments:
        return await anext(moments)


async def follow_pods(client: KubeClient, which: PodSelection) -> AsyncGenerator[Pods, None]:
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


def _take(raw: bytes, gone: bool, known: dict[str, Pod], which: PodSelection) -> None:
    try:
        pod = decode_json(raw)
    except BadObject:  # an invalid pod belongs to no job of ours
        return
    assert isinstance(pod, Pod)
    name = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if gone:
        known.pop(name, None)
    elif not which.gangs or owner_of(pod).key in which.gangs:
        known[name] = pod


def no_pods(pods: Pods) -> bool:
    return not pods
