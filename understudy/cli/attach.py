"""`understudy attach`: a shell, or a command, inside an instance of a job."""

import argparse
from collections.abc import Sequence
from typing import Any

from understudy.cli.arguments import OneLineParser
from understudy.cli.jobtypes import add_type
from understudy.cli.target import Session, add_target, with_session

_ABOUT = """\
Run a command beside an instance of a job, in its surroundings: its first instance (launcher or master, else the
one with index 0), or the one that -i names. Without a command: a shell. On a terminal the command gets one, too."""

_EXAMPLES = """\
examples:
  understudy attach medium
  understudy attach medium -i worker-0 -- nvidia-smi
  echo 'ls /data' | understudy attach medium -- sh

The exit code is that of the command."""

SHELL = ("sh", "-c", "command -v bash >/dev/null && exec bash; exec sh")


class _CommandParser(OneLineParser):
    """What follows `--` is the command, options and all; argparse would take it for more jobs."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        given = list(args or ())
        cut = given.index("--") if "--" in given else len(given)
        found, unknown = super().parse_known_args(given[:cut], namespace)
        found.command = given[cut + 1 :]
        return found, unknown


def add_to(verbs: Any) -> None:
    parser: argparse.ArgumentParser = verbs.add_parser(
        "attach", help="run a shell or a command in an instance of a job", description=_ABOUT, epilog=_EXAMPLES,
        usage="understudy attach JOB [-i NAME] [-c NAME] [-T TYPE] [which cluster] [-- COMMAND ...]",
    )  # fmt: skip
    parser.__class__ = _CommandParser
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("-i", "--instance", metavar="NAME", help="an instance, as `understudy get` lists them")
    parser.add_argument("-c", "--container", metavar="NAME", help="a container of the instance (default: its first)")
    add_type(parser)
    add_target(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from understudy.cli.jobs.choosing import chosen, container_of
    from understudy.cli.jobs.kubelets import through_kubelet
    from understudy.cli.jobs.reading import job_named
    from understudy.cli.jobs.terminals import Errand, carried_out, nobody_there

    async def work(session: Session) -> int:
        job = await job_named(session, options.job, options.type)
        instance = chosen(job, options.instance)
        if instance is None or instance.status != "RUNNING":
            return nobody_there(job, instance)
        container = container_of(instance, options.container)
        command = tuple(options.command) or SHELL
        with through_kubelet(instance):
            return await carried_out(session.client, Errand(job.namespace, instance.name, container, command))

    return with_session(options, work)
