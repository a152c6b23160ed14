"""The annotation that holds the notice of a node: read, decided on and written so that no other writer is overrun."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from understudy.kinds.annotations import NOTICE, format_notice, read_notice
from understudy.model.nodes import Notice
from understudy.node_agent.node_api import NodeApi
from understudy.objects.errors import BadObject
from understudy.objects.resources import NODES
from understudy.ports import PatchForm, Ref, Refused

ATTEMPTS = 10  # of a write that others get ahead of

Decide = Callable[[Notice | None], Notice | None]  # the notice that is there into the one that should be


class NoticeChange(NamedTuple):
    before: Notice | None
    after: Notice | None


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    uid: str = ""
    revision: str = msgspec.field(name="resourceVersion", default="")
    annotations: dict[str, str] | None = None


class _Node(msgspec.Struct, frozen=True):
    metadata: _Metadata

    @property
    def title(self) -> str:
        return f"Node {self.metadata.name}"


def notice_in(name: str, annotations: Mapping[str, str]) -> Notice | None:
    """A notice that cannot be read says nothing, and is replaced like none."""
    try:
        return read_notice(annotations, _Node(_Metadata(name)))
    except BadObject:
        return None


async def change_notice(cluster: NodeApi, node: str, decide: Decide) -> NoticeChange:
    """Raises Refused, also when other writers get ahead again and again, and Unreachable."""
    refusal: Refused | None = None
    for _ in range(ATTEMPTS):
        metadata = msgspec.json.decode(await cluster.get(Ref(NODES, name=node)), type=_Node).metadata
        annotations = metadata.annotations or {}
        before = notice_in(node, annotations)
        after = decide(before)
        if after == before:
            return NoticeChange(before, after)
        known = {"uid": metadata.uid, "resourceVersion": metadata.revision}
        patch = {"metadata": {**known, "annotations": {NOTICE: None if after is None else format_notice(after)}}}
        try:
            await cluster.patch(Ref(NODES, name=node), patch, form=PatchForm.MERGE)
            return NoticeChange(before, after)
        except Refused as error:
            if error.code != HTTPStatus.CONFLICT:
                raise
            refusal = error
    assert refusal is not None
    raise refusal
