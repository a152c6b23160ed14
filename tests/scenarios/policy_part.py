"""The control part of a cluster with a policy of its own: `python -m tests.scenarios.policy_part control FOLDER`.

The policy lies in the folder. The parts themselves cannot be given one yet.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from understudy.decide.policy import Policy
from understudy.embedded import control_role
from understudy.embedded.__main__ import main
from understudy.embedded.clusters.parts import part_command
from understudy.embedded.clusters.processes import CONTROL
from understudy.embedded.folders import ClusterFolder


def policy_file(folder: ClusterFolder) -> Path:
    return folder.path.with_name("policy.json")


def command(part: str, folder: ClusterFolder) -> Sequence[str]:
    if part != CONTROL:
        return part_command(part, folder)
    return [sys.executable, "-u", "-m", "tests.scenarios.policy_part", part, str(folder.path)]


if __name__ == "__main__":
    policy = msgspec.json.decode(policy_file(ClusterFolder(Path(sys.argv[2]))).read_bytes(), type=Policy)
    control_role.EMBEDDED = msgspec.structs.replace(control_role.EMBEDDED, policy=policy)
    sys.exit(main(sys.argv[1:]))
