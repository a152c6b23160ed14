"""Keeps the logs of pods that are deleted, so that those of ended attempts stay with their job; bounded."""

import logging
import os
import shutil
from collections import OrderedDict, deque

import msgspec

from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.ended_pods import EndedPod, EndedPodLimits, found_ended_pods, note_of
from understudy.embedded.shim import container_files
from understudy.embedded.shim.pod_folders import PodFolder, pod_folder
from understudy.kinds.decoding import decode_json
from understudy.kinds.ownership import owner_of
from understudy.kinds.pod_labels import place_of
from understudy.objects.errors import BadObject
from understudy.objects.pods import Pod

_JOBSET_UID = "jobset.sigs.k8s.io/jobset-uid"  # its child jobs are created again with every restart

log = logging.getLogger(__name__)


class EndedPods:
    """`note` is called on the event loop, `keep` in the thread that removes the folders of pods."""

    def __init__(self, folder: ClusterFolder, limits: EndedPodLimits) -> None:
        self._folder = folder.ended_pods
        self._limits = limits
        self._bodies: dict[str, bytes] = {}  # of pods that are deleted and whose folders are still there
        self._sizes: OrderedDict[str, int] | None = None  # by uid, oldest first; None: not read yet
        self._places: dict[str, deque[tuple[str, int]]] = {}  # the uids and attempts of each place, oldest first

    def note(self, uid: str, body: bytes) -> None:
        """The pod as it was when it was deleted."""
        if self._limits.attempts > 0:
            self._bodies[uid] = body

    def keep(self, folder: PodFolder) -> None:
        """Moves the logs of a pod that belongs to a job to where they stay."""
        body = self._bodies.pop(folder.path.name, None)
        if body is None or not folder.containers.is_dir():
            return
        try:
            self._keep(folder, body)
        except OSError as problem:
            log.warning("the logs of pod %s are not kept: %s", folder.path.name, problem)

    def _keep(self, folder: PodFolder, body: bytes) -> None:
        belongs = _belongs_to(body)
        if belongs is None:
            return
        job, place = belongs
        sizes = self._read()
        uid = folder.path.name
        before = self._places.get(place)
        attempt = before[-1][1] + 1 if before else 1
        kept = pod_folder(self._folder, uid)
        kept.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.rename(folder.containers, kept.containers)
        container_files.write(note_of(kept), EndedPod(job, place, attempt, msgspec.Raw(body)), durable=False)
        sizes[uid] = _size(kept)
        self._places.setdefault(place, deque()).append((uid, attempt))
        self._remove_most(place, sizes)

    def _remove_most(self, place: str, sizes: OrderedDict[str, int]) -> None:
        mates = self._places[place]
        while len(mates) > self._limits.attempts:
            self._remove(mates.popleft()[0], sizes)
        total = sum(sizes.values())
        while sizes and (len(sizes) > self._limits.pods or total > self._limits.bytes):
            uid = next(iter(sizes))
            total -= sizes[uid]
            self._remove(uid, sizes)

    def _remove(self, uid: str, sizes: OrderedDict[str, int]) -> None:
        sizes.pop(uid, None)
        shutil.rmtree(self._folder / uid, ignore_errors=True)

    def _read(self) -> OrderedDict[str, int]:
        """What earlier agents have kept."""
        if self._sizes is None:
            found = sorted(found_ended_pods(self._folder), key=lambda one: note_of(one[0]).stat().st_mtime)
            self._sizes = OrderedDict((folder.path.name, _size(folder)) for folder, _ in found)
            for folder, ended in found:
                self._places.setdefault(ended.place, deque()).append((folder.path.name, ended.attempt))
        return self._sizes


def _belongs_to(body: bytes) -> tuple[str, str] | None:
    """The job of a pod and its place there. None: the pod belongs to no job, or cannot be read."""
    try:
        pod = decode_json(body)
    except BadObject:
        return None
    if not isinstance(pod, Pod) or pod.metadata.controller is None:
        return None
    owner = owner_of(pod)
    return None if owner.kind == "Pod" else (owner.key, f"{_origin(body)}/{place_of(pod.metadata)}")


class _Owner(msgspec.Struct, frozen=True):
    uid: str = ""


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    labels: dict[str, str] = {}
    owner_references: list[_Owner] = []


class _Body(msgspec.Struct, frozen=True):
    metadata: _Meta


def _origin(body: bytes) -> str:
    """The uid of the job: a new job of the same name counts its attempts from 1 again."""
    meta = msgspec.json.decode(body, type=_Body).metadata
    return meta.labels.get(_JOBSET_UID) or next((owner.uid for owner in meta.owner_references), "")


def _size(folder: PodFolder) -> int:
    return sum(
        os.lstat(os.path.join(path, name)).st_size for path, _, names in os.walk(folder.containers) for name in names
    )
