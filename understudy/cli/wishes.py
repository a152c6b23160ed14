"""The options of `understudy up`, and the cluster file they name, into what the cluster is wanted to be."""

import argparse
import ipaddress
import shutil

from understudy.cli import clusterfile
from understudy.cli.clusters import checked_name
from understudy.cli.complaint import BadInput
from understudy.cli.settings import given
from understudy.embedded.cluster_folder import DEFAULT_NAME
from understudy.embedded.clusters.machine import this_machine
from understudy.embedded.clusters.nodes import pool_nodes
from understudy.embedded.clusters.pools import BadPool
from understudy.embedded.clusters.settings import RequestedSettings


def wanted_of(options: argparse.Namespace) -> RequestedSettings:
    name, runtime, nodes, pod_access = options.name, options.runtime, None, options.pod_access
    if options.file is not None:
        file = clusterfile.read(options.file)
        name, runtime, pod_access = name or file.name, runtime or file.runtime, pod_access or file.pod_access or None
        try:
            nodes = pool_nodes(file.pools, this_machine())
        except BadPool as error:
            raise BadInput(f"{options.file}: {error}") from None
    place = "--name" if options.name else f"{options.file}: name:"
    return RequestedSettings(
        name=checked_name(name or DEFAULT_NAME, place),
        address=_address(options.address),
        port=_port(options.port),
        runtime=_runtime(runtime),
        pod_access=pod_access,
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
