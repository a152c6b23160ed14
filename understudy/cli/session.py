"""Which cluster a job verb talks to, in which namespace: options into a session, and what goes wrong into one line.

The first of these that applies: --kubeconfig or --context; --cluster; $KUBECONFIG, its files read as one; the embedded
cluster of this machine (the only one there is, else the one called default); ~/.kube/config; in a pod, its own cluster.
"""

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path

import msgspec

from understudy.cli.errors import BadInput
from understudy.client import KubeClient, connect
from understudy.client.config import BadConfig, Config
from understudy.ports import Refused, Unreachable

FAILED = 1
CONNECTIONS = 4  # for a handful of small requests, waiting a turn is cheaper than one more handshake
_BAD_INPUT = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY)  # the input is wrong
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


class Session(msgspec.Struct, frozen=True):
    client: KubeClient
    namespace: str


Work = Callable[[Session], Awaitable[int]]


def run_in_session(options: argparse.Namespace, work: Work) -> int:
    """Runs `work` with the cluster that the options name. A refusal is printed in one line; 2: the input is wrong."""
    config = client_config(options)
    try:
        return asyncio.run(_run(config, options.namespace, work))
    except Refused as error:
        if error.code in _BAD_INPUT:
            raise BadInput(error.message) from None
        print(f"understudy: {error.message}", file=sys.stderr)
    except Unreachable as error:
        hint = "; `understudy status` tells whether it is up" if config.embedded else ""
        print(f"understudy: no answer from {config.server}: {error}{hint}", file=sys.stderr)
    return FAILED


def try_in_session(options: argparse.Namespace, work: Work, limit: float) -> None:
    """Runs `work` if the target is an embedded cluster that answers within `limit` seconds; otherwise does nothing."""
    try:
        config = client_config(options)
        if config.embedded:
            asyncio.run(asyncio.wait_for(_run(config, options.namespace, work), limit))
    except (BadInput, Refused, Unreachable, TimeoutError):
        return


async def _run(config: Config, namespace: str | None, work: Work) -> int:
    async with connect(msgspec.structs.replace(config, connections=CONNECTIONS)) as client:
        return await work(Session(client, namespace or config.namespace))


def client_config(options: argparse.Namespace) -> Config:
    if options.namespace is not None and not _NAMESPACE.fullmatch(options.namespace):
        raise BadInput(
            f"--namespace {options.namespace}: no name for a namespace; use lower-case letters, digits and dashes"
        )
    if options.cluster is not None and (options.kubeconfig or options.context):
        raise BadInput("--cluster names an embedded cluster, --kubeconfig and --context any other: give one of them")
    try:
        if (paths := _kubeconfigs(options)) is None:
            return Config.in_cluster()
        from understudy.client.kubeconfig import read_kubeconfigs

        return read_kubeconfigs(paths, options.context)
    except BadConfig as error:
        raise BadInput(str(error)) from None


def service_config(options: argparse.Namespace) -> Config:
    """The config for a verb that runs as a service: in a pod its own cluster goes first, unless the options name
    another."""
    if options.kubeconfig or options.context or options.cluster or not Config.is_in_cluster():
        return client_config(options)
    try:
        return Config.in_cluster()
    except BadConfig as error:
        raise BadInput(str(error)) from None


def _kubeconfigs(options: argparse.Namespace) -> list[Path] | None:
    """The files that are merged; None: this is a pod, and its own cluster is the target."""
    if options.kubeconfig:
        return [Path(options.kubeconfig)]
    if options.cluster is not None:
        return [_embedded(options.cluster)]
    if named := [Path(name) for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name]:
        return named
    own = Path.home() / ".kube" / "config"
    if options.context or (own.exists() and not _any_embedded()):
        return [own]
    return None if Config.is_in_cluster() and not _any_embedded() else [_embedded(None)]


def _any_embedded() -> bool:
    from understudy.cli.clusters.selection import local_clusters

    return bool(local_clusters())


def _embedded(name: str | None) -> Path:
    from understudy.cli.clusters.selection import choose_cluster

    return choose_cluster(name, "--cluster").folder.kubeconfig
