"""Where a pod and its containers keep their files: names and uids, checked, into paths.

A pod has one folder; in it, each start of each container has one of its own, numbered from 0.
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
        """What the agent gave the pod: address, devices, node."""
        return self.path / "record.json"

    @property
    def root(self) -> Path:
        """Where its processes start, and where what they write beside their volumes goes."""
        return self.path / "root"

    @property
    def private(self) -> Path:
        """Stand-ins for folders of this machine in which the pod has a mount point that the machine has not."""
        return self.path / "private"

    @property
    def volumes(self) -> Path:
        return self.path / "volumes"

    @property
    def account(self) -> Path:
        """What client libraries need to talk to the API."""
        return self.path / "account"

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
        """The starts of a container that left traces, oldest first."""
        folder = self.container(name)
        if not folder.is_dir():
            return []
        return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal())


class AttemptFolder(msgspec.Struct, frozen=True):
    """One start of one container. A shim that is alive holds a lock on the folder itself."""

    path: Path

    @property
    def launch(self) -> Path:
        return self.path / "launch.json"

    @property
    def state(self) -> Path:
        return self.path / "state.json"

    @property
    def exit(self) -> Path:
        """Written last: whoever sees it sees the whole log, too."""
        return self.path / "exit.json"

    @property
    def stopped(self) -> Path:
        """There if the container was asked to end because the whole cluster goes down: how it ended tells nothing."""
        return self.path / "stopped"

    @property
    def activation(self) -> Path:
        """What an understudy needs to know to become the member it steps in for; it is asleep on `cue_call` before."""
        return self.path / "activation.json"

    @property
    def holding(self) -> Path:
        """There once it has loaded all it can."""
        return self.path / "holding"

    @property
    def activation_fifo(self) -> Path:
        return self.path / "activation.fifo"

    @property
    def fault(self) -> Path:
        """What went wrong in a shim that ended before its time."""
        return self.path / "fault"

    @property
    def log(self) -> Path:
        return self.path / "log"

    @property
    def termination_message(self) -> Path:
        return self.path / "termination-log"

    def logs(self) -> list[Path]:
        """All log files there may be, oldest first."""
        return [self.path / f"log.{number}" for number in range(LOG_FILES - 1, 0, -1)] + [self.log]


def pod_folder(pods: Path, uid: str) -> PodFolder:
    if not _UID.fullmatch(uid):
        raise BadName(f"{uid!r} is not the uid of a pod")
    return PodFolder(pods / uid)
