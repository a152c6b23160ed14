"""Volumes as folders of this machine: creates, fills and removes them."""

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from understudy.embedded.agent.api.config_objects import ConfigData
from understudy.embedded.agent.api.downward_api import PodFacts
from understudy.embedded.agent.api.pod_types import HostPathVolume, Volume
from understudy.embedded.agent.volumes.volume_projection import BadVolume, ProjectedFiles, projected_files, tree_problem
from understudy.embedded.shim.pod_folders import PodFolder

MEMORY = Path("/dev/shm")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII)


class VolumeLocation(msgspec.Struct, frozen=True):
    """The folder of a volume."""

    path: Path
    shared: bool = False  # with this machine: mount points are not created in it
    read_only: bool = False


class PodVolumes(msgspec.Struct, frozen=True):
    """The volumes of a pod: in the pod's folder, in the folder of claims, or in memory."""

    pod: PodFolder
    claims: Path
    memory: Path = MEMORY

    def place(self, volume: Volume, facts: PodFacts, config_data: ConfigData) -> VolumeLocation:
        """Creates the volume where it does not exist. Raises BadVolume."""
        folder = self.pod.volumes / _checked(volume.name)
        try:
            files = projected_files(volume, facts, config_data)
            if files is not None:
                _write_files(folder, files, private=volume.secret is not None)
                return VolumeLocation(folder, read_only=True)
            if volume.host_path:
                return VolumeLocation(_host_path(volume.host_path), shared=True)
            if volume.persistent_volume_claim:
                claim = volume.persistent_volume_claim
                path = self.claims / _checked(facts.pod.metadata.namespace) / _checked(claim.claim_name)
                path.mkdir(parents=True, exist_ok=True)
                return VolumeLocation(path, read_only=claim.read_only)
            if volume.empty_dir or volume.ephemeral is not None:
                in_memory = volume.empty_dir is not None and volume.empty_dir.medium == "Memory"
                return VolumeLocation(self._empty(folder, in_memory=in_memory))
        except OSError as problem:
            raise BadVolume(f"{problem.strerror}: {problem.filename}") from problem
        raise BadVolume("volumes of this kind are not supported")

    def remove(self) -> None:
        """Removes the volumes outside of the pod's folder."""
        for path in self.memory.glob(f"{self._memory_prefix}*"):
            shutil.rmtree(path, ignore_errors=True)

    def _empty(self, folder: Path, *, in_memory: bool) -> Path:
        if in_memory:
            path = self.memory / f"{self._memory_prefix}{folder.name}"
            with contextlib.suppress(OSError):
                path.mkdir(mode=0o700, exist_ok=True)
                return path
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def _memory_prefix(self) -> str:
        return f"understudy-{self.pod.path.name}-"


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BadVolume(f"{name!r} is not a name")
    return name


def _write_files(folder: Path, files: ProjectedFiles, *, private: bool) -> None:
    """Replaces each file atomically, so that a running container never reads a part of one."""
    if problem := tree_problem(files):
        raise BadVolume(problem)
    folder.mkdir(parents=True, exist_ok=True)
    if private:
        folder.chmod(0o700)
    for relative, file in files.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        aside, name = tempfile.mkstemp(prefix=".", dir=folder)
        with open(aside, "wb") as stream:
            stream.write(file.content)
        os.chmod(name, file.mode)
        os.replace(name, path)


_CHECKS: Mapping[str, tuple[Callable[[int], bool], str]] = {
    "Directory": (stat.S_ISDIR, "a directory"),
    "DirectoryOrCreate": (stat.S_ISDIR, "a directory"),
    "File": (stat.S_ISREG, "a file"),
    "FileOrCreate": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


def _host_path(wanted: HostPathVolume) -> Path:
    path = Path(wanted.path)
    if not path.is_absolute() or ".." in path.parts:
        raise BadVolume(f"hostPath {wanted.path!r} must be absolute and without '..'")
    if wanted.type in ("", "DirectoryOrCreate") and not path.exists():
        path.mkdir(parents=True)
    elif wanted.type == "FileOrCreate" and not path.exists():
        path.touch()
    if wanted.type in _CHECKS:
        check, words = _CHECKS[wanted.type]
        if not path.exists() or not check(path.stat().st_mode):
            raise BadVolume(f"hostPath type check failed: {path} is not {words}")
    return path


def subfolder(place: VolumeLocation, sub_path: str) -> Path:
    """The folder of a subPath, created where it does not exist. Links out of the volume are not followed."""
    if not sub_path:
        return place.path
    if sub_path.startswith("/") or ".." in Path(sub_path).parts:
        raise BadVolume(f"subPath {sub_path!r} must stay within the volume")
    path = place.path / sub_path
    resolved, volume = path.resolve(), place.path.resolve()
    if not resolved.is_relative_to(volume):
        raise BadVolume(f"subPath {sub_path!r} leads out of the volume")
    if not resolved.exists():
        resolved.mkdir(parents=True)
    return resolved
