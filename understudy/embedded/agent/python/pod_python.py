"""Which Python environment a pod has: one of its own, or one that it shares with its job, namespace or cluster."""

import asyncio
import logging
import shutil
from http import HTTPStatus
from pathlib import Path

import msgspec

from understudy.embedded.agent.api.pod_types import Pod
from understudy.embedded.agent.python.interpreter import find_interpreter
from understudy.embedded.agent.python.layered_environment import PythonEnvironment, PythonLayers
from understudy.embedded.cluster_folder import PYTHON_SCOPES, PythonScope
from understudy.embedded.shim.pod_folders import PodFolder
from understudy.kinds.annotations import PYTHON_ENV, WARM_FOR
from understudy.kinds.ownership import owner_of
from understudy.kinds.registry import JOB_RESOURCES
from understudy.objects import pods
from understudy.objects.meta import ObjectMeta
from understudy.objects.resources import NAMESPACES, PODS
from understudy.ports import Cluster, Ref, Refused, Unreachable

log = logging.getLogger(__name__)

_OWNER = "owner.json"
_SWEEP_SECONDS = 30.0


class BadScope(Exception):
    """The annotation of a pod names no scope."""


class _Owner(msgspec.Struct, frozen=True):
    """The object with which a shared environment goes."""

    ref: Ref
    uid: str


class _Identified(msgspec.Struct):
    metadata: ObjectMeta


async def _uid_of(cluster: Cluster, ref: Ref) -> str:
    """Empty if it does not exist."""
    try:
        return msgspec.json.decode(await cluster.get(ref), type=_Identified).metadata.uid
    except Refused as refusal:
        if refusal.code != HTTPStatus.NOT_FOUND:
            raise
        return ""


async def find_layers(folder: Path, path: str) -> PythonLayers | None:
    """None where the user has no Python. `path` is the search path of the user's shell."""
    interpreter = await find_interpreter(path)
    if interpreter is None:
        return None
    layers = PythonLayers(folder, interpreter, path)
    await asyncio.to_thread(layers.prepare)
    return layers


class PodPythons:
    """Makes the environments of pods, and removes shared ones whose job or namespace is gone."""

    def __init__(self, folder: Path, cluster: Cluster, scope: PythonScope, path: str) -> None:
        """`scope` is that of pods whose annotation says nothing; `path` is the search path of the user's shell. The
        agent does not wait until the user's Python is found; pods do."""
        self._folder = folder
        self._cluster = cluster
        self._scope = scope
        self._layers = asyncio.create_task(find_layers(folder, path), name="Python of pods")
        self._refreshing = asyncio.Lock()

    async def close(self) -> None:
        self._layers.cancel()
        await asyncio.gather(self._layers, return_exceptions=True)

    async def environment_of(self, pod: Pod, folder: PodFolder) -> PythonEnvironment | None:
        """None where the user has no Python. Raises BadScope, OSError, and the exceptions of the cluster."""
        scope = pod.metadata.annotations.get(PYTHON_ENV, self._scope)
        if scope not in PYTHON_SCOPES:
            raise BadScope(f"annotation {PYTHON_ENV}: {scope!r} is none of {', '.join(PYTHON_SCOPES)}")
        layers = await asyncio.shield(self._layers)
        if layers is None:
            return None
        shared = await self._shared(pod, PythonScope(scope))
        if not layers.scripts.is_current:
            await self._refresh(layers)
        return layers.environment(shared or folder.python, shared=shared is not None)

    async def _refresh(self, layers: PythonLayers) -> None:
        """The user has installed or removed programs since the last pod started."""
        async with self._refreshing:
            if not layers.scripts.is_current:
                await asyncio.to_thread(layers.scripts.refresh)

    async def _shared(self, pod: Pod, scope: PythonScope) -> Path | None:
        """None for an environment of the pod's own, which a pod without a job has in any case."""
        if scope is PythonScope.CLUSTER:
            return self._folder / "cluster"
        if scope is PythonScope.NAMESPACE:
            return await self._owned("namespaces", Ref(NAMESPACES, name=pod.metadata.namespace))
        if scope is PythonScope.JOB and (job := await self._job_of(pod)) is not None:
            return await self._owned("jobs", job)
        return None

    async def _job_of(self, pod: Pod) -> Ref | None:
        """The topmost job of the pod; for a warm understudy, the job that it is kept for."""
        key = pod.metadata.annotations.get(WARM_FOR)
        if key is None:
            raw = await self._cluster.get(Ref(PODS, pod.metadata.namespace, pod.metadata.name))
            key = owner_of(msgspec.json.decode(raw, type=pods.Pod)).key
        kind, namespace, name = key.split("/", 2)
        return next((Ref(one, namespace, name) for one in JOB_RESOURCES if one.kind == kind), None)

    async def _owned(self, group: str, owner: Ref) -> Path | None:
        uid = await _uid_of(self._cluster, owner)
        if not uid:
            return None
        folder = self._folder / group / uid
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        (folder / _OWNER).write_bytes(msgspec.json.encode(_Owner(owner, uid)))
        return folder

    async def run(self) -> None:
        """Runs for ever."""
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            try:
                await self.sweep()
            except (Refused, Unreachable, OSError) as problem:
                log.info("environments of jobs are looked at again later: %s", problem)

    async def sweep(self) -> None:
        """Removes the environments whose job or namespace no longer exists."""
        for file in self._folder.glob(f"*/*/{_OWNER}"):
            try:
                owner = msgspec.json.decode(file.read_bytes(), type=_Owner)
            except (OSError, msgspec.DecodeError):
                continue  # it is being written, or removed
            if await _uid_of(self._cluster, owner.ref) != owner.uid:
                await asyncio.to_thread(shutil.rmtree, file.parent, ignore_errors=True)
