"""`understudy serve`: runs Understudy for a Kubernetes cluster; it is what the container of its Deployment runs."""

import argparse
import asyncio
import os
import secrets
import socket
import sys
from typing import Any

from understudy.cli.errors import BadInput
from understudy.cli.input.addresses import parse_listen
from understudy.cli.input.settings import read
from understudy.cli.options import VerbParser, add_log_level, add_service_cluster_options
from understudy.cli.session import service_config
from understudy.client.config import BadConfig, Config
from understudy.kube.server import ServeOptions, log_to_stderr, serve
from understudy.kube.settings import SCHEDULER_NAME

ABOUT = """\
Run Understudy for a Kubernetes cluster, until it is told to end: schedule, preempt and repair the
jobs whose pods name it as their scheduler. Several may run; one leads by a Lease, the others
follow and take over at once when it ends, or when it has been silent for the lease's duration.

In a pod it uses the service account; elsewhere the cluster that a kubeconfig names."""

EXAMPLES = """\
examples:
  understudy serve --context prod                          for the cluster of this context, from here
  understudy serve --settings understudy.yaml --listen 0.0.0.0:8080
  understudy serve --no-election                           where no second one runs

--listen answers /healthz, /readyz and /metrics (Prometheus).

exit codes: 0 it was told to end, 1 it failed, 2 the input is wrong"""

LISTEN = "127.0.0.1:8080"
FAILED = 1


def add_flags(parser: VerbParser) -> None:
    add = parser.add_argument
    add("--settings", metavar="FILE", help="an understudy.yaml (default: $UNDERSTUDY_SETTINGS)")
    add("--listen", metavar="HOST:PORT", default=LISTEN, help=f"where probes and metrics are answered ({LISTEN})")
    add("--scheduler-name", metavar="NAME", default=SCHEDULER_NAME,
        help=f"take the pods whose spec.schedulerName is this ({SCHEDULER_NAME})")  # fmt: skip
    add_log_level(parser, "the log says")
    add("--log-format", choices=("text", "json"), default="text", help="form of the log (default: text)")
    group = parser.add_argument_group("who leads")
    group.add_argument("--lease-namespace", metavar="NAME",
        help="where the Lease `understudy` is (default: $POD_NAMESPACE, the service account's, default)")  # fmt: skip
    group.add_argument("--identity", metavar="NAME",
        help="the unique name of this replica there (default: $POD_NAME, else made up)")  # fmt: skip
    group.add_argument("--no-election", action="store_true", help="lead from the first moment: no second one runs")
    add_service_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    serving = serving_of(options)
    log_to_stderr(options.log_format, options.loglevel)
    try:
        _runner(asyncio.run)(serve(serving))
    except BadConfig as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        print(f"understudy: --listen {options.listen}: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        return FAILED
    return 0


def serving_of(options: argparse.Namespace) -> ServeOptions:
    settings = read(options.settings)
    host, port = parse_listen(options.listen, LISTEN)
    return ServeOptions(
        config=service_config(options),
        scheduler_name=options.scheduler_name,
        identity="" if options.no_election else options.identity or own_name(),
        lease_namespace=options.lease_namespace or own_namespace(),
        host=host,
        port=port,
        policy=settings.policy,
        limits=settings.health,
        kube=settings.kube,
        autoscaler=settings.autoscaler,
    )


def own_name() -> str:
    """Pod names are unique, so a restarted container keeps its identity, and with it the lease."""
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}_{secrets.token_hex(4)}"


def own_namespace() -> str:
    if named := os.environ.get("POD_NAMESPACE"):
        return named
    return Config.in_cluster().namespace if Config.is_in_cluster() else "default"


def _runner(plain: Any) -> Any:
    try:
        import uvloop
    except ImportError:
        return plain
    return uvloop.run
