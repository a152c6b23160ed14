"""One parent and its children in memory: what a kind wants is carried out as an API server would, and nothing more."""

import copy
import itertools
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from tests.objects.documents import Document
from understudy.embedded.controllers.workload_controllers import WORKLOADS
from understudy.kinds.children.actions import (
    ChildActions,
    CreateChild,
    DeleteChild,
    EventNote,
    ObservedChildren,
    PatchChild,
)
from understudy.kinds.job_kind import JobController
from understudy.kinds.registry import CONTROLLERS
from understudy.objects.resources import JOBS, PODS

BEGIN = 1_767_225_600.0
MOST_ROUNDS = 20


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def controller_of(kind: str) -> JobController:
    return next(controller for controller in (*CONTROLLERS, *WORKLOADS) if controller.resource.kind == kind)


class World:
    """Pods are bound as soon as they are made. `look` lets the kind decide until it wants nothing more."""

    def __init__(self, parent: Document, now: float = BEGIN) -> None:
        self.parent = copy.deepcopy(parent)
        self.parent["metadata"].setdefault("uid", "parent-uid")
        self.parent.setdefault("status", {})
        self.controller = controller_of(parent["kind"])
        self.now = now
        self.children: dict[str, dict[str, Document]] = {resource.key: {} for resource in self.controller.owns}
        self.read_objects: dict[str, dict[tuple[str, str], Document]] = {r.key: {} for r in self.controller.reads}
        self.notes: list[EventNote] = []
        self.expired = False
        self.again_at: float | None = None
        self._names = itertools.count()

    # what the kind does

    def wanted(self) -> ChildActions:
        observed = ObservedChildren.read({key: list(found.values()) for key, found in self.children.items()})
        observed = msgspec.structs.replace(observed, read_objects=self.read_objects)
        return self.controller.reconcile(copy.deepcopy(self.parent), observed, self.now)

    def look(self) -> None:
        for _ in range(MOST_ROUNDS):
            if not self.carry_out(self.wanted()):
                return
        raise AssertionError("it never comes to rest")

    def carry_out(self, wanted: ChildActions, steps: int = 1_000_000) -> bool:
        """Whether anything was to be done. `steps` lets it be cut off anywhere, as a crash would."""
        self.again_at = wanted.again_at
        actions: list[Any] = []
        if wanted.status is not None and wanted.status != self.parent["status"]:
            actions.append(wanted.status)
        actions += [*wanted.patches, *wanted.deletes, *wanted.creates]
        for action in actions[:steps]:
            self._act(action)
        if steps > len(actions):
            self.notes += wanted.notes
            self.expired = self.expired or wanted.expired
        return bool(actions)

    def _act(self, action: Any) -> None:
        match action:
            case CreateChild():
                self._create(action)
            case DeleteChild(resource, name, uid):
                assert not uid or self.children[resource.key][name]["metadata"]["uid"] == uid
                self.delete(name, resource.key)
            case PatchChild(resource, _, dict(patch)) if resource == self.controller.resource:
                merge(self.parent, patch)
            case PatchChild(resource, name, patch):
                self._patch(resource.key, name, patch)
            case _:
                self.parent["status"] = copy.deepcopy(action)

    def _create(self, create: CreateChild) -> None:
        document = copy.deepcopy(create.document)
        meta = document["metadata"]
        number = next(self._names)
        meta.setdefault("name", f"{meta.get('generateName', '')}{number:05d}")
        meta |= {"uid": f"uid-{number}", "creationTimestamp": moment(self.now)}
        if create.resource.key == PODS.key:
            document["spec"] = {**document["spec"], "nodeName": "a"}
            document["status"] = {"phase": "Pending"}
        shelf = self.children.setdefault(create.resource.key, {})
        if create.if_absent and meta["name"] in shelf:
            return
        assert meta["name"] not in shelf, f"{meta['name']} already exists"
        shelf[meta["name"]] = document

    def _patch(self, key: str, name: str, patch: Document | list[Document]) -> None:
        document = self.children[key][name]
        if isinstance(patch, dict):
            merge(document, patch)
        for step in patch if isinstance(patch, list) else ():
            json_step(document, step)
        self._sweep(key, name)

    def _sweep(self, key: str, name: str) -> None:
        meta = self.children[key][name]["metadata"]
        over = "deletionTimestamp" in meta and not meta.get("finalizers")
        if over and not meta.get("deletionGracePeriodSeconds"):
            del self.children[key][name]

    # what happens to it

    def bring(self, *documents: Document) -> None:
        """Stores an object that the controller reads and does not own."""
        for document in documents:
            resource = next(each for each in self.controller.reads if each.kind == document["kind"])
            meta = document["metadata"]
            namespace = meta.get("namespace", "default") if resource.namespaced else ""
            self.read_objects[resource.key][namespace, meta["name"]] = document

    @property
    def pods(self) -> dict[str, Document]:
        return self.children[PODS.key]

    @property
    def jobs(self) -> dict[str, Document]:
        return self.children[JOBS.key]

    def delete(self, name: str, key: str = PODS.key, grace: int = 30) -> None:
        document = self.children[key][name]
        meta = document["metadata"]
        runs = document.get("status", {}).get("phase") in ("Pending", "Running") and document["spec"].get("nodeName")
        grace = 0 if not runs or key != PODS.key else min(grace, meta.get("deletionGracePeriodSeconds", grace))
        meta |= {"deletionTimestamp": moment(self.now + grace), "deletionGracePeriodSeconds": grace}
        self._sweep(key, name)

    def gone(self, name: str) -> None:
        """The agent has seen the pod's processes end."""
        self.delete(name, grace=0)

    def leave(self) -> None:
        """Every pod that was asked to end ends."""
        for name in [n for n, pod in self.pods.items() if "deletionTimestamp" in pod["metadata"]]:
            self.gone(name)

    def run(self, *names: str) -> None:
        for name in names or list(self.live()):
            status = self.pods[name]["status"]
            status |= {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}

    def end(self, name: str, code: int = 0, **status: Any) -> None:
        ended = {"exitCode": code, "finishedAt": moment(self.now), "reason": "Error" if code else "Completed"}
        containers = [{"name": "main", "restartCount": 0, "state": {"terminated": ended}}]
        phase = "Failed" if code else "Succeeded"
        self.pods[name]["status"] = {"phase": phase, "containerStatuses": containers, **status}

    def after(self, seconds: float) -> None:
        self.now += seconds

    # what can be seen of it

    @property
    def status(self) -> Document:
        status: Document = self.parent["status"]
        return status

    def live(self) -> list[str]:
        return [
            name
            for name, pod in self.pods.items()
            if pod["status"]["phase"] in ("Pending", "Running") and "deletionTimestamp" not in pod["metadata"]
        ]

    def conditions(self) -> dict[str, str]:
        """The reasons of what is true."""
        return {c["type"]: c["reason"] for c in self.status.get("conditions", ()) if c["status"] == "True"}

    def told(self) -> list[str]:
        return [note.reason for note in self.notes]


def merge(target: Document, patch: Document) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            merge(target[key], value)
        else:
            target[key] = copy.deepcopy(value)


def json_step(document: Document, step: Document) -> None:
    """The few JSON patch operations the kinds use."""
    *parents, last = step["path"].strip("/").split("/")
    place: Any = document
    for part in parents:
        place = place[int(part)] if isinstance(place, list) else place[part]
    key: Any = int(last) if isinstance(place, list) else last
    match step["op"]:
        case "test":
            assert place[key] == step["value"]
        case "remove":
            del place[key]
        case other:
            raise AssertionError(f"no such operation here: {other}")


def documents(wanted: Iterable[CreateChild]) -> list[Document]:
    return [msgspec.to_builtins(create.document) for create in wanted]
