"""The folders of a pod and its containers: turns checked names and uids into paths.

A pod has one folder; in it, each start of each container has its own, numbered from 0.
"""

import re
from pathlib import Path

import msgspec

_UID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}", re.ASCII)
_CONTAINER = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)

LOG_FILES = 5  # the current one and four older ones


class BadName(ValueError):
    """A name that must not become part of a path."""


class PodFolder(msgspec.Struct, frozen=True):
    path: Path

    @property
    def record(self) -> Path:
        """What the agent has assigned to the pod: address, devices, node."""
        return self.path / "record.json"

    @property
    def root(self) -> Path:
        """The working folder of its processes, where they write what is not in a volume."""
        return self.path / "root"

    @property
    def private(self) -> Path:
        """Replacements of folders in which the pod has a mount point that the machine lacks."""
        return self.path / "private"

    @property
    def python(self) -> Path:
        """The virtual environment of the pod, unless it shares one."""
        return self.path / "python"

    @property
    def volumes(self) -> Path:
        return self.path / "volumes"

    @property
    def account(self) -> Path:
        """The service account: token, authority and namespace, as client libraries expect them."""
        return self.path / "account"

    @property
    def annotations(self) -> Path:
        """The annotations of a pod that was asked to save a checkpoint, for its training code."""
        return self.path / "annotations"

    @property
    def hosts(self) -> Path:
        return self.path / "hosts"

    @property
    def containers(self) -> Path:
        return self.path / "containers"

    def container(self, name: str) -> Path:
        if not _CONTAINER.fullmatch(name):
            raise BadName(f"{name!r} is not the name of a container")
        return self.containers / name

    def attempt(self, name: str, number: int) -> "AttemptFolder":
        return AttemptFolder(self.container(name) / str(number))

    def attempts(self, name: str) -> list[int]:
        """The numbers of the starts of a container that have a folder, oldest first."""
        folder = self.container(name)
        if not folder.is_dir():
            return []
        return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal())


class AttemptFolder(msgspec.Struct, frozen=True):
    """One start of one container. A running shim holds the lock on the folder."""

    path: Path

    @property
    def launch(self) -> Path:
        return self.path / "launch.json"

    @property
    def state(self) -> Path:
        return self.path / "state.json"

    @property
    def exit(self) -> Path:
        """Written last: once it exists, the log is complete."""
        return self.path / "exit.json"

    @property
    def stopped(self) -> Path:
        """Exists if the container was stopped with the whole cluster: its exit code says nothing then."""
        return self.path / "stopped"

    @property
    def activation(self) -> Path:
        """What an understudy needs to become its member; until it exists, it sleeps on `activation_fifo`."""
        return self.path / "activation.json"

    @property
    def holding(self) -> Path:
        """Exists once the understudy has loaded its program."""
        return self.path / "holding"

    @property
    def activation_fifo(self) -> Path:
        return self.path / "activation.fifo"

    @property
    def fault(self) -> Path:
        """The traceback of a shim that failed."""
        return self.path / "fault"

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def termination_message(self) -> Path:
        return self.path / "termination-log"

    def logs(self) -> list[Path]:
        """All possible log files, oldest first."""
        return [self.path / f"log.{number}" for number in range(LOG_FILES - 1, 0, -1)] + [self.log]


def pod_folder(pods: Path, uid: str) -> PodFolder:
    if not _UID.fullmatch(uid):
        raise BadName(f"{uid!r} is not the uid of a pod")
    return PodFolder(pods / uid)
