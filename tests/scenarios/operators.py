"""Stands in for operators of kinds without a controller in the embedded cluster: creates the pods their jobs want."""

from collections.abc import Iterable, Iterator

import msgspec

from tests.embedded.real_cluster import RealCluster
from tests.scenarios.scenario_file import Document
from understudy.kinds.context import Context
from understudy.kinds.decoding import decode
from understudy.kinds.outline import RoleOutline
from understudy.kinds.registry import KINDS
from understudy.objects.resources import PODS, Resource
from understudy.ports import Ref, Refused

GONE_OR_THERE = (404, 409)


class Operators:
    def __init__(self, cluster: RealCluster, kinds: Iterable[Resource]) -> None:
        self._cluster = cluster
        self._kinds = tuple(kinds)

    async def act(self) -> bool:
        """Whether there was anything to do. What was done just now may not be visible yet: then it is done again."""
        wishes = [wish for kind in self._kinds for job in self._cluster.monitor.all(kind) for wish in self._wishes(job)]
        for pod in wishes:
            await self._carry_out(pod)
        return bool(wishes)

    def _wishes(self, job: Document) -> Iterator[Document]:
        """Pods that have to go, which have a uid, and pods that have to come."""
        outline = KINDS[job["kind"]].outline(decode(job), Context(), [])
        pods = {pod["metadata"]["name"]: pod for pod in self._cluster.monitor.all(PODS) if _owned(pod, job)}
        if outline.suspended:
            yield from (pod for pod in pods.values() if "deletionTimestamp" not in pod["metadata"])
            return
        for role in outline.roles:
            for position, name in enumerate(role.names):
                if name not in pods and _may_be_made(job, role, pods.values()):
                    yield _pod(job, role, position)

    async def _carry_out(self, pod: Document) -> None:
        meta = pod["metadata"]
        try:
            if "uid" in meta:
                await self._cluster.client.delete(Ref(PODS, meta["namespace"], meta["name"]), uid=meta["uid"])
            else:
                await self._cluster.create(pod)
        except Refused as error:
            if error.code not in GONE_OR_THERE:
                raise


def _owned(pod: Document, job: Document) -> bool:
    return any(owner["uid"] == job["metadata"]["uid"] for owner in pod["metadata"].get("ownerReferences", ()))


def _may_be_made(job: Document, role: RoleOutline, pods: Iterable[Document]) -> bool:
    """The first version of MPIJob creates its launcher when all workers run."""
    if job["apiVersion"] != "kubeflow.org/v1alpha1" or not role.names[0].endswith("-launcher"):
        return True
    running = [pod for pod in pods if pod.get("status", {}).get("phase") == "Running"]
    return bool(len(running) == job["spec"]["replicas"])


def _pod(job: Document, role: RoleOutline, position: int) -> Document:
    meta = job["metadata"]
    owner = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": meta["name"], "uid": meta["uid"]}
    spec = msgspec.to_builtins(role.template.spec)
    programs = _programs(job)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": role.names[position],
            "namespace": meta["namespace"],
            "labels": role.labels_at(position),
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "spec": {**spec, "containers": [{**one, **programs[one["name"]]} for one in spec["containers"]]},
    }


def _programs(value: object) -> dict[str, Document]:
    """What the containers run, by name."""
    match value:
        case {"name": str(name), "image": str(image), "command": list(command)}:
            return {name: {"image": image, "command": command}}
        case dict() | list():
            inner = value.values() if isinstance(value, dict) else value
            return {name: program for one in inner for name, program in _programs(one).items()}
        case _:
            return {}
