"""`understudy up`: starts a cluster on this machine and says how to reach it."""

import argparse
from typing import Any

_ABOUT = """\
Start a cluster on this machine: a Kubernetes API on loopback, nodes that run pods as local
processes, and the scheduler. kubectl and every client library work with it.

Without a file this machine is offered as one node, with its CPUs, memory and NVIDIA GPUs.
With -f FILE the cluster has the pools of virtual nodes the file describes; see
docs/reference/cluster-file.md and examples/clusters.

Images are not pulled: the command of a container runs on this machine, as your user. With
--runtime docker or podman it runs in a container of its image instead."""

_EXAMPLES = """\
examples:
  understudy up                                this machine as one node, until Ctrl-C
  understudy up --detach                       the same, in the background
  understudy up -f examples/clusters/slices.yaml --detach
  understudy up --name second --detach         another one beside it

A cluster that was down comes back with its objects. `understudy down` stops it,
`understudy reset` forgets it.

Nodes that are not ready are named, and the cluster is up all the same. Nothing that runs is stopped.

exit codes: 0 it is up (or was already), 1 it does not answer, 2 the input is wrong"""

WAIT = 30.0


def add_to(verbs: Any) -> None:
    summary = "start a cluster on this machine"
    parser: argparse.ArgumentParser = verbs.add_parser("up", help=summary, description=_ABOUT, epilog=_EXAMPLES)
    add = parser.add_argument
    add("-f", "--filename", metavar="FILE", dest="file", help="which nodes it has (default: this machine)")
    add("--name", metavar="NAME", help="what it is called (default: as the file says, else default)")
    add("--detach", action="store_true", help="leave it running in the background")
    add("--port", metavar="N", type=int,
        help="of the API (default: one that is free, and the same one while it can be had)")  # fmt: skip
    add("--address", metavar="ADDR", help="where the API listens (default: 127.0.0.1, this machine alone)")
    add("--settings", metavar="FILE",
        help="an understudy.yaml for its scheduler (default: $UNDERSTUDY_SETTINGS, else as before)")  # fmt: skip
    add("--runtime", choices=("process", "docker", "podman"),
        help="what runs containers (default: process, without their images)")  # fmt: skip
    add("--pod-access", choices=("service-account", "admin"),
        help="whose rights pods have at the API: their service account's, or an administrator's, as all had "
             "before (default: service-account, or as it was)")  # fmt: skip
    add("--wait", metavar="SECONDS", type=float, default=WAIT,
        help=f"for how long to wait until it is ready; what runs goes on either way (default: {WAIT:g})")  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from understudy.cli.bringup import bring_up
    from understudy.cli.wishes import wanted_of

    return bring_up(wanted_of(options), options)
