"""`understudy node-agent`: what a machine learns about its end and its GPUs, written on its Node."""

import argparse
import asyncio
import os
import signal
import sys
from http import HTTPStatus
from pathlib import Path

from understudy.cli.errors import BadInput
from understudy.cli.input.addresses import parse_listen
from understudy.cli.input.times import parse_duration
from understudy.cli.options import VerbParser, add_log_level, add_service_cluster_options
from understudy.cli.session import service_config
from understudy.client import KubeClient, connect
from understudy.client.config import BadConfig, Config
from understudy.kube.probe_server import Endpoints, Reply, served
from understudy.kube.server import log_to_stderr
from understudy.node_agent.agent import AgentOptions, NodeAgent, NoSuchNode
from understudy.node_agent.gpus.xid_log import FATAL, KERNEL_LOG
from understudy.node_agent.notices.metadata_server import BadAddress, MetadataServer
from understudy.node_agent.notices.sources import CLOUDS, IGNORED
from understudy.ports import Refused

ABOUT = """\
Run the node agent for one node, until it is told to end. It polls the metadata server of the
cloud, and writes the notice that its machine will go as the annotation understudy.dev/notice of
its Node; the scheduler then moves gangs away before the deadline. And it looks at the NVIDIA GPUs
of the machine, and writes the conditions GPUMissing, GPUUnhealthy and XIDErrors of its Node.

In a pod it uses the service account; elsewhere the cluster that a kubeconfig names."""

EXAMPLES = f"""\
examples:
  understudy node-agent                                    in a pod whose $NODE_NAME names its node
  understudy node-agent --node gpu-7 --cloud azure
  understudy node-agent --node gpu-7 --cloud aws --metadata http://127.0.0.1:1338
  understudy node-agent --ignore none                      {" and ".join(IGNORED)} are notices, too

exit codes: 0 it was told to end, 1 it failed, 2 the input is wrong"""

LISTEN = "127.0.0.1:9809"
FAILED = 1


def add_flags(parser: VerbParser) -> None:
    add = parser.add_argument
    add("--node", metavar="NODE", help="the node whose machine this is (default: $NODE_NAME)")
    add("--listen", metavar="HOST:PORT", default=LISTEN, help=f"where probes are answered ({LISTEN})")
    add_log_level(parser, "the log says")
    add("--log-format", choices=("text", "json"), default="text", help="form of the log (default: text)")
    group = parser.add_argument_group("notices")
    group.add_argument("--cloud", choices=("auto", *CLOUDS, "none"), default="auto",
        help="whose metadata server is polled (default: auto, by the provider ID of the node)")  # fmt: skip
    group.add_argument("--metadata", metavar="URL", default="", help="of another metadata server than the cloud's own")
    group.add_argument("--ignore", metavar="CAUSES", default=",".join(IGNORED),
        help=f"announcements that are no notice, or none (default: {','.join(IGNORED)})")  # fmt: skip
    group.add_argument("--gcp-notice", metavar="TIME", default="30s",
        help="how long before its end a spot VM of Google Cloud is told (default: 30s)")  # fmt: skip
    group = parser.add_argument_group("GPUs")
    group.add_argument("--gpus", choices=("auto", "nvidia-smi", "nvml", "none"), default="auto",
        help="who is asked about them (default: auto, nvidia-smi, else NVML by nvidia-ml-py)")  # fmt: skip
    group.add_argument("--kernel-log", metavar="FILE", default=str(KERNEL_LOG),
        help=f"where Xid errors are looked for ({KERNEL_LOG})")  # fmt: skip
    group.add_argument("--fatal-xids", metavar="NUMBERS", default=",".join(map(str, sorted(FATAL))),
        help="Xid errors after which a GPU is not fit for work (default: %(default)s)")  # fmt: skip
    add_service_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    wanted, (host, port) = agent_options(options), parse_listen(options.listen, LISTEN)
    config = service_config(options)
    log_to_stderr(options.log_format, options.loglevel)
    try:
        asyncio.run(_run(config, wanted, host, port))
    except NoSuchNode as error:
        raise BadInput(f"--node: {error}") from None
    except BadConfig as error:
        raise BadInput(str(error)) from None
    except Refused as error:
        print(f"understudy: {error.message}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"understudy: --listen {options.listen}: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        return FAILED
    return 0


def agent_options(options: argparse.Namespace) -> AgentOptions:
    if not (node := options.node or os.environ.get("NODE_NAME", "")):
        raise BadInput("--node: name the node whose machine this is, or set $NODE_NAME")
    if (spot_notice := parse_duration(options.gcp_notice, "--gcp-notice")) <= 0:
        raise BadInput(f"--gcp-notice {options.gcp_notice}: a notice has some length; write 30s or 120s")
    if options.metadata:
        try:
            MetadataServer(options.metadata)
        except BadAddress as error:
            raise BadInput(f"--metadata: {error}") from None
    return AgentOptions(
        node=node,
        cloud=options.cloud,
        endpoint=options.metadata,
        ignored=frozenset() if options.ignore == "none" else frozenset(_words(options.ignore)),
        spot_notice=spot_notice,
        gpus=options.gpus,
        kernel_log=Path(options.kernel_log),
        fatal_xids=_numbers(options.fatal_xids),
    )


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(text: str) -> frozenset[int]:
    words = _words(text)
    if wrong := [word for word in words if not (word.isascii() and word.isdigit())]:
        raise BadInput(f"--fatal-xids: {wrong[0]!r} is no number of an Xid; write some, such as 48,79")
    return frozenset(map(int, words))


async def _run(config: Config, wanted: AgentOptions, host: str, port: int) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    client: KubeClient
    async with connect(config) as client:
        agent = NodeAgent(client, wanted)
        async with served(endpoints(agent), host, port):
            await agent.run(stopped)


def endpoints(agent: NodeAgent) -> Endpoints:
    """A part that fails ends the process, and a process that hangs answers nothing: then the kubelet restarts it."""
    return {
        "/healthz": lambda: Reply(HTTPStatus.OK, "ok\n"),
        "/readyz": lambda: (
            Reply(HTTPStatus.OK, "ok\n")
            if agent.ready
            else Reply(HTTPStatus.SERVICE_UNAVAILABLE, "the node was not read yet\n")
        ),
    }
