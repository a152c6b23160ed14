"""Binds a gang in a cluster that takes one pod at a time: all bindings at once, each tried to its end.

A binding cannot be undone. So when one is refused, the others are still made: the next plan then has to repair only the
refused one, and the gang is complete soonest.
"""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Protocol

import msgspec

from understudy.objects.resources import PODS
from understudy.ports import PodBinding, Ref, Refused, Unreachable


class _PodMetadata(msgspec.Struct, frozen=True):
    uid: str = ""


class _PodSpec(msgspec.Struct, frozen=True):
    node: str = msgspec.field(name="nodeName", default="")


class _BoundPod(msgspec.Struct, frozen=True):
    metadata: _PodMetadata = _PodMetadata()
    spec: _PodSpec = _PodSpec()


class BindingApi(Protocol):
    async def get(self, ref: Ref) -> bytes: ...

    async def post_binding(self, ref: Ref, body: Any) -> None: ...


_decode = msgspec.json.Decoder(_BoundPod).decode


async def bind_pods(api: BindingApi, namespace: str, bindings: Sequence[PodBinding]) -> None:
    """Tries all, then raises the first failure. Its `done` names the pods that were bound all the same."""
    if len(bindings) == 1:
        return await _bind(api, namespace, bindings[0])
    found = await asyncio.gather(*(_bind(api, namespace, one) for one in bindings), return_exceptions=True)
    failures = [error for error in found if error is not None]
    if not failures:
        return None
    first = next((error for error in failures if not isinstance(error, Refused)), failures[0])
    if isinstance(first, Refused | Unreachable):
        first.done = frozenset(one.uid for one, error in zip(bindings, found, strict=True) if error is None)
    raise first


async def _bind(api: BindingApi, namespace: str, binding: PodBinding) -> None:
    ref = Ref(PODS, namespace, binding.pod)
    try:
        await api.post_binding(ref, _binding(binding))
    except Refused as error:
        if error.code != HTTPStatus.CONFLICT or not await _is_bound(api, ref, binding):
            raise


async def _is_bound(api: BindingApi, ref: Ref, binding: PodBinding) -> bool:
    """Whether the pod already has this seat: an earlier attempt succeeded, but its response was lost."""
    try:
        pod = _decode(await api.get(ref))
    except (Refused, msgspec.DecodeError):
        return False
    return (pod.metadata.uid, pod.spec.node) == (binding.uid, binding.node)


def _binding(binding: PodBinding) -> dict[str, Any]:
    notes = {"annotations": binding.annotations} if binding.annotations else {}
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": binding.pod, "uid": binding.uid, **notes},
        "target": {"apiVersion": "v1", "kind": "Node", "name": binding.node},
    }
