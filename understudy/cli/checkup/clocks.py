"""How far the clock of a cluster is from ours: Understudy judges nodes by moments that others wrote down."""

import time
from typing import TYPE_CHECKING

import msgspec

from understudy.objects.meta import ObjectMeta
from understudy.objects.resources import CONFIG_MAPS
from understudy.ports import Refused

if TYPE_CHECKING:
    from understudy.client import KubeClient


class _Made(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


async def skew_of(client: "KubeClient", namespace: str) -> float | None:
    """By what it would write on an object that is not kept. It writes whole seconds; None where it may not be asked."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "understudy-doctor-"}}
    before = time.time()
    try:
        raw = await client.request("POST", f"{CONFIG_MAPS.path(namespace)}?dryRun=All", body)
    except Refused:
        return None
    after = time.time()
    made = msgspec.json.decode(raw, type=_Made).metadata.creation_timestamp
    return apart(made.timestamp(), before, after) if made else None


def apart(written: float, before: float, after: float) -> float:
    """0 where the second that was written overlaps the time in which it was."""
    if written > after:
        return written - after
    return min(0.0, written + 1.0 - before)
