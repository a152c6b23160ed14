"""`understudy up`: starts a cluster on this machine and says how to reach it."""

import argparse
import ipaddress
import shutil

from understudy.cli.clusters import cluster_file
from understudy.cli.clusters.selection import check_cluster_name
from understudy.cli.clusters.start import start_cluster
from understudy.cli.errors import BadInput
from understudy.cli.input.settings import given
from understudy.cli.options import VerbParser
from understudy.embedded.cluster_folder import DEFAULT_NAME, PYTHON_SCOPES
from understudy.embedded.clusters.machine import this_machine
from understudy.embedded.clusters.nodes import pool_nodes
from understudy.embedded.clusters.pools import BadPool
from understudy.embedded.clusters.settings import RequestedSettings

ABOUT = """\
Start a cluster on this machine: a Kubernetes API on loopback, nodes that run pods as local
processes, and the scheduler. kubectl and every client library work with it.

Without a file this machine is offered as one node, with its CPUs, memory and NVIDIA GPUs.
With -f FILE the cluster has the pools of virtual nodes the file describes; see
docs/reference/cluster-file.md and examples/clusters.

Images are not pulled: the command of a container runs on this machine, as your user. With
--runtime docker or podman it runs in a container of its image instead."""
EXAMPLES = """\
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


def add_flags(parser: VerbParser) -> None:
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
    add(
        "--python-env",
        choices=PYTHON_SCOPES,
        help="with which other pods a pod shares what it installs with pip (default: pod, with none, or as it was)",
    )
    add("--wait", metavar="SECONDS", type=float, default=WAIT,
        help=f"for how long to wait until it is ready; what runs goes on either way (default: {WAIT:g})")  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    return start_cluster(wanted_cluster(options), options)


def wanted_cluster(options: argparse.Namespace) -> RequestedSettings:
    name, runtime, nodes, pod_access = options.name, options.runtime, None, options.pod_access
    file = cluster_file.read(options.file) if options.file is not None else None
    if file is not None:
        name, runtime, pod_access = name or file.name, runtime or file.runtime, pod_access or file.pod_access or None
        try:
            nodes = pool_nodes(file.pools, this_machine())
        except BadPool as error:
            raise BadInput(f"{options.file}: {error}") from None
    place = "--name" if options.name else f"{options.file}: name:"
    return RequestedSettings(
        name=check_cluster_name(name or DEFAULT_NAME, place),
        address=_address(options.address),
        port=_port(options.port),
        runtime=_runtime(runtime),
        pod_access=pod_access,
        python_env=options.python_env or (file.python_env if file is not None else None) or None,
        nodes=nodes,
        loop=given(options.settings),
    )


def _address(text: str | None) -> str | None:
    try:
        return None if text is None else str(ipaddress.ip_address(text))
    except ValueError:
        raise BadInput(f"--address {text}: no address; write one of this machine, or 0.0.0.0 for all") from None


def _port(port: int | None) -> int | None:
    if port is not None and not 0 <= port < 1 << 16:
        raise BadInput(f"--port {port}: no port; write one from 1 to 65535, or leave it out")
    return port


def _runtime(runtime: str | None) -> str | None:
    if runtime in ("docker", "podman") and shutil.which(runtime) is None:
        raise BadInput(f"--runtime {runtime}: not found on this machine; install it, or leave the option out")
    return runtime or None
