"""A Kubernetes API that knows only nodes: versions, conflicts, merge patches, conditions by type."""

import copy
from collections.abc import Callable
from typing import Any

import msgspec

from understudy.ports import PatchForm, Ref, Refused, Unreachable

Document = dict[str, Any]


class FakeNodeApi:
    def __init__(self, *names: str, provider_id: str = "") -> None:
        self.nodes: dict[str, Document] = {}
        self.writes: list[tuple[str, str]] = []  # of which node, to which subresource
        self.failure: Exception | None = None  # raised by every request
        self.before_patch: Callable[[], None] = lambda: None  # what another writer does between read and write
        for name in names:
            metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "annotations": {}}
            self.nodes[name] = {"metadata": metadata, "spec": {"providerID": provider_id}, "status": {}}

    def annotation(self, node: str, key: str = "understudy.dev/notice") -> str | None:
        found: str | None = self.nodes[node]["metadata"]["annotations"].get(key)
        return found

    def annotate(self, node: str, text: str | None, key: str = "understudy.dev/notice") -> None:
        """As another writer does."""
        _merge(self.nodes[node], {"metadata": {"annotations": {key: text}}})
        self._touched(node)

    def conditions(self, node: str) -> dict[str, Document]:
        return {one["type"]: one for one in self.nodes[node]["status"].get("conditions", [])}

    async def get(self, ref: Ref) -> bytes:
        return msgspec.json.encode(self._found(ref))

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        node = self._found(ref)
        self.before_patch()
        patch = copy.deepcopy(patch)
        known = patch.get("metadata", {})
        for key in ("uid", "resourceVersion"):
            if known.pop(key, node["metadata"][key]) != node["metadata"][key]:
                raise Refused(409, "Conflict", "the object has been modified")
        if sub == "status":
            conditions = self.conditions(ref.name)
            for one in patch["status"].pop("conditions", []):
                conditions.setdefault(one["type"], {}).update(one)
            node["status"]["conditions"] = list(conditions.values())
        else:
            assert form is PatchForm.MERGE
        _merge(node, patch)
        self.writes.append((ref.name, sub))
        self._touched(ref.name)
        return msgspec.json.encode(node)

    def _found(self, ref: Ref) -> Document:
        if self.failure is not None:
            raise self.failure
        if ref.name not in self.nodes:
            raise Refused(404, "NotFound", f'nodes "{ref.name}" not found')
        return self.nodes[ref.name]

    def _touched(self, node: str) -> None:
        metadata = self.nodes[node]["metadata"]
        metadata["resourceVersion"] = str(int(metadata["resourceVersion"]) + 1)


def unreachable() -> Unreachable:
    return Unreachable("no answer")


def _merge(target: Document, patch: Document) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = value
