"""The nodes of an embedded cluster that were failed on purpose and not recovered yet: a file that the agent writes."""

from pathlib import Path

import msgspec

from understudy.embedded.shim import container_files

_FILE = "failed-nodes.json"


class FailedNodes(msgspec.Struct, frozen=True):
    dead: set[str] = set()
    unplugged: set[str] = set()  # running, but cut off

    @property
    def names(self) -> set[str]:
        return self.dead | self.unplugged


def load(folder: Path) -> FailedNodes:
    """An absent file means that no node has failed."""
    try:
        return msgspec.json.decode((folder / _FILE).read_bytes(), type=FailedNodes)
    except (OSError, msgspec.DecodeError):
        return FailedNodes()


def save(folder: Path, failed: FailedNodes) -> None:
    container_files.write(folder / _FILE, failed)
