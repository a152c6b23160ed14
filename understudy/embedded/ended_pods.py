"""Pods that are gone and whose logs are kept: a folder each, with the last state of the pod and its containers' logs.

The agent keeps them, the API server shows them.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from understudy.embedded.shim import container_files
from understudy.embedded.shim.pod_folders import BadName, PodFolder, pod_folder


class EndedPodLimits(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What is kept of pods that are gone: section `logs` of the settings."""

    attempts: int = 5  # pods that had the same place in a job, the newest; 0 keeps none
    pods: int = 1000  # of all jobs together
    bytes: int = 256 << 20


class EndedPod(msgspec.Struct, frozen=True):
    job: str  # the key of its gang: Kind/namespace/name
    place: str  # what pods that took each other's place have in common
    attempt: int  # counts them, from 1
    pod: msgspec.Raw  # the object as it was when it was deleted


def note_of(folder: PodFolder) -> Path:
    return folder.path / "pod.json"


def found_ended_pods(folder: Path) -> Iterator[tuple[PodFolder, EndedPod]]:
    """In no order. One that is being written or removed is left out."""
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        with contextlib.suppress(BadName, OSError, msgspec.DecodeError):
            found = pod_folder(folder, entry.name)
            if (ended := container_files.read(note_of(found), EndedPod)) is not None:
                yield found, ended
