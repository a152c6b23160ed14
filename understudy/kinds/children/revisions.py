"""ControllerRevisions: the templates that a StatefulSet or DaemonSet had, so that it can go back to one."""

import hashlib
from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from understudy.kinds.children.actions import CreateChild, DeleteChild, Document, ObservedChildren, PatchChild
from understudy.kinds.children.partial_objects import FullMeta, PartialRevision
from understudy.objects.resources import CONTROLLER_REVISIONS

REVISION_HASH = "controller-revision-hash"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so no words


class RevisionHistory(NamedTuple):
    """`newest` is the name of the revision of the present template. The rest makes that so."""

    newest: str
    revisions: Sequence[PartialRevision]  # the oldest first; without the newest where it is still to be created
    creates: tuple[CreateChild, ...] = ()
    patches: tuple[PatchChild, ...] = ()

    def template_of(self, name: str) -> Document | None:
        """None where that revision is gone."""
        found = next((one for one in self.revisions if one.metadata.name == name), None)
        if found is None:
            return None
        template: Document = found.data.get("spec", {}).get("template", {})
        return {key: value for key, value in template.items() if key != "$patch"}

    def surplus(self, limit: int, used: Collection[str]) -> tuple[DeleteChild, ...]:
        """The oldest of those that no pod has."""
        idle = [one.metadata for one in self.revisions if one.metadata.name not in {*used, self.newest}]
        gone = idle[: max(0, len(idle) - limit)]
        return tuple(DeleteChild(CONTROLLER_REVISIONS, meta.name, meta.uid) for meta in gone)


def history_of(document: Document, owner: Document, meta: FullMeta, observed: ObservedChildren) -> RevisionHistory:
    found = [one for one in observed.of(CONTROLLER_REVISIONS) if isinstance(one, PartialRevision)]
    revisions = sorted(
        (one for one in found if not one.metadata.leaving), key=lambda one: (one.revision, one.metadata.name)
    )
    template: Document = document["spec"]["template"]
    data = {"spec": {"template": {**template, "$patch": "replace"}}}
    number = revisions[-1].revision + 1 if revisions else 1
    known = next((one for one in reversed(revisions) if one.data == data), None)
    if known is None:
        name = f"{meta.name}-{_hash(meta.uid, data)}"
        return RevisionHistory(name, revisions, (_created(name, owner, meta, (data, number, template)),))
    if known is revisions[-1]:
        return RevisionHistory(known.metadata.name, revisions)
    moved = PatchChild(CONTROLLER_REVISIONS, known.metadata.name, {"revision": number})
    return RevisionHistory(known.metadata.name, revisions, patches=(moved,))


def _created(name: str, owner: Document, meta: FullMeta, content: tuple[Document, int, Document]) -> CreateChild:
    data, number, template = content
    labels = (template.get("metadata") or {}).get("labels") or {}
    metadata = {
        "name": name,
        "namespace": meta.namespace,
        "labels": {**labels, REVISION_HASH: hash_in(name)},
        "ownerReferences": [owner],
    }
    kind = {"apiVersion": CONTROLLER_REVISIONS.api_version, "kind": CONTROLLER_REVISIONS.kind}
    return CreateChild(CONTROLLER_REVISIONS, {**kind, "metadata": metadata, "data": data, "revision": number})


def hash_in(name: str) -> str:
    return name.rpartition("-")[2]


def _hash(uid: str, data: Document) -> str:
    digest = hashlib.sha256(uid.encode() + msgspec.json.encode(data, order="deterministic")).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:10])
