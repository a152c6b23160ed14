"""`python -m understudy.embedded PART FOLDER`: one part of a cluster as a process of its own."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.process_lock import AGENT, CONTROL, SERVER, SUPERVISOR, AlreadyRunning, hold_lock
from understudy.embedded.niceness import guard_priority, raise_priority

MODULES = {
    SERVER: "understudy.embedded.server.process",
    CONTROL: "understudy.embedded.controllers.manager",
    AGENT: "understudy.embedded.agent.main",
    SUPERVISOR: "understudy.embedded.clusters.supervisor",
}
WRONG = 2


def main(arguments: Sequence[str]) -> int:
    match arguments:
        case [part, path] if part in MODULES and Path(path).is_dir():
            folder = ClusterFolder(Path(path))
        case _:
            sys.stderr.write(f"usage: python -m understudy.embedded {{{'|'.join(MODULES)}}} FOLDER\n")
            return WRONG
    try:
        if part != SUPERVISOR:
            raise_priority()
            guard_priority()
        with hold_lock(folder.processes / part):
            importlib.import_module(MODULES[part]).run(folder)
    except AlreadyRunning as taken:
        sys.stderr.write(f"{folder.path.name}: the {taken}\n")
        return WRONG
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
