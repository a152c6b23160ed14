"""`understudy version`: which version this command has, and which the cluster it would talk to."""

import argparse
import asyncio
import platform

import msgspec

from understudy import __version__
from understudy.cli.errors import BadInput, one_line
from understudy.cli.options import VerbParser, add_cluster_options
from understudy.cli.output.formats import dump
from understudy.cli.session import client_config
from understudy.client import connect
from understudy.client.config import Config
from understudy.ports import Refused, Unreachable

ABOUT = """\
Print the version of this command, and of the cluster that other verbs would talk to. Where there
is no cluster, or it does not answer, that is said; it is no error."""

EXAMPLES = """\
examples:
  understudy version
  understudy version --short          only the number
  understudy version -o json"""

SECONDS = 5.0


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("--short", action="store_true", help="only the number of this command")
    parser.add_argument("--client", action="store_true", help="do not ask the cluster")
    parser.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text", help="form (default: text)")
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.short:
        print(__version__)
        return 0
    client = {"version": __version__, "python": platform.python_version(), "platform": _here()}
    server, trouble = (None, "") if options.client else _server(options)
    if options.output == "text":
        print(f"Client: understudy {__version__} (Python {client['python']}, {client['platform']})")
        if server:
            print(f"Server: {server['version']} ({server['platform']}) at {server['address']}")
        elif trouble:
            print(f"Server: none; {trouble}")
        return 0
    print(dump({"client": client, "server": server, "trouble": trouble}, options.output), end="")
    return 0


def _here() -> str:
    return f"{platform.system().lower()}/{platform.machine()}"


def _server(options: argparse.Namespace) -> tuple[dict[str, str] | None, str]:
    """The version of the server, or why it is not known."""
    try:
        config = client_config(options)
        return asyncio.run(_asked(config)), ""
    except BadInput as error:
        if options.cluster or options.kubeconfig or options.context:
            raise
        return None, one_line(str(error))
    except (Refused, Unreachable, TimeoutError) as error:
        return None, f"no answer from {config.server}: {one_line(str(error)) or 'it takes too long'}"


async def _asked(config: Config) -> dict[str, str]:
    async with asyncio.timeout(SECONDS), connect(config) as client:
        said = msgspec.json.decode(await client.request("GET", "/version"))
    return {"version": said["gitVersion"], "platform": said.get("platform", ""), "address": config.server}
