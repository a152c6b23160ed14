"""Which nodes of an embedded cluster have failed, and stay so until they are recovered: a file, kept by the agent."""

from pathlib import Path

import msgspec

from understudy.embedded.shim import container_files

_FILE = "failed-nodes.json"


class FailedNodes(msgspec.Struct, frozen=True):
    dead: set[str] = set()
    unplugged: set[str] = set()  # alive, and not heard

    @property
    def names(self) -> set[str]:
        return self.dead | self.unplugged


def load(folder: Path) -> FailedNodes:
    """None have failed where there is no such file."""
    try:
        return msgspec.json.decode((folder / _FILE).read_bytes(), type=FailedNodes)
    except (OSError, msgspec.DecodeError):
        return FailedNodes()


def save(folder: Path, failed: FailedNodes) -> None:
    container_files.write(folder / _FILE, failed)
