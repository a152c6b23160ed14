"""Which pods of a node have to leave when it is drained, and how each is made to: by evictions, as budgets allow."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from understudy.objects.pods import Pod
from understudy.objects.resources import PODS
from understudy.ports import Ref, Refused

if TYPE_CHECKING:
    from understudy.client import KubeClient

MIRROR = "kubernetes.io/config.mirror"  # the pod is only the shadow of a file on the node
AGAIN = 1.0  # seconds after which a pod that its budget kept is tried again
NOT_FOUND, TOO_MANY = 404, 429
ENDED = ("Succeeded", "Failed")


class Sorted(msgspec.Struct, frozen=True):
    """The pods of a node."""

    leaving: tuple[Pod, ...] = ()
    bare: tuple[Pod, ...] = ()  # of those: nobody makes them anew
    staying: tuple[Pod, ...] = ()  # at home on this node


def sorted_out(pods: Iterable[Pod]) -> Sorted:
    leaving, bare, staying = [], [], []
    for pod in pods:
        owner = pod.metadata.controller
        if MIRROR in pod.metadata.annotations or (owner is not None and owner.kind in ("DaemonSet", "Node")):
            staying.append(pod)
            continue
        leaving.append(pod)
        if owner is None and pod.status.phase not in ENDED:
            bare.append(pod)
    return Sorted(tuple(leaving), tuple(bare), tuple(staying))


def named(pods: Iterable[Pod]) -> list[str]:
    return sorted(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods)


class Eviction(msgspec.Struct, frozen=True):
    """Pods that are made to leave; `say` gets a line whenever something happens."""

    client: "KubeClient"
    say: Callable[[str], None]
    grace: int | None = None

    async def carry_out(self, pods: Iterable[Pod]) -> None:
        """Returns when all of them have been told to go, which a budget may put off for ever."""
        await asyncio.gather(*(self._evict(pod) for pod in pods))

    async def _evict(self, pod: Pod) -> None:
        [name] = named([pod])
        self.say(f"evicting pod {name}")
        kept = False
        while (refusal := await self._asked(pod)) is not None:
            if not kept:
                self.say(f"pod {name} stays for now: {refusal}")
            kept = True
            await asyncio.sleep(AGAIN)

    async def _asked(self, pod: Pod) -> str | None:
        """What keeps it; None: it goes."""
        meta = pod.metadata
        options: dict[str, Any] = {"preconditions": {"uid": meta.uid}}
        if self.grace is not None:
            options["gracePeriodSeconds"] = self.grace
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": meta.name, "namespace": meta.namespace},
            "deleteOptions": options,
        }
        try:
            await self.client.create(Ref(PODS, meta.namespace, meta.name), body, "eviction")
        except Refused as error:
            if error.code == TOO_MANY:
                return error.message
            if error.code not in (NOT_FOUND, 409):  # it is gone, or another one has its name
                raise
        return None
