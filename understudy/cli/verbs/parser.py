"""The table of all verbs, and the parser of the command line. A verb's module is imported when the verb is typed."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import NamedTuple

from understudy import __version__
from understudy.cli.options import CLUSTER_FLAGS, OneLineParser, VerbParser, add_log_level

_ABOUT = """\
Keeps distributed training jobs running on shared accelerators.

When a node dies, a spare steps in. When no spare is left, the least important job
gives up its place, whole, and comes back later by itself."""

_EXAMPLES = """\
examples:
  understudy up                                                 a cluster on this machine, for kubectl and friends
  understudy submit pytorch --name train --gpus 1 --workers 2 "python train.py"
  understudy get train                                          its status, its instances and where they run
  understudy why train                                          why it waits, or how it came to be where it is
  understudy plan -f cluster.yaml --what-if fail-node=node-7    what if this node died now?
  understudy demo                                               see a hot swap happen, with real processes

`understudy VERB --help` tells more about a verb."""


class Verb(NamedTuple):
    name: str
    module: str  # below understudy.cli.verbs; it has ABOUT, add_flags and, but for verbs with parts, EXAMPLES
    summary: str
    aliases: tuple[str, ...] = ()


# In the order of the help: clusters, jobs, what jobs run on, the rest.
VERBS = (
    Verb("up", "cluster.up", "start a cluster on this machine"),
    Verb("status", "cluster.status", "show which clusters there are and how they are doing"),
    Verb("down", "cluster.down", "stop a cluster and its pods"),
    Verb("kubeconfig", "cluster.kubeconfig", "print a cluster's kubeconfig, or merge it into yours"),
    Verb("reset", "cluster.reset", "remove a cluster and everything it has"),
    Verb("demo", "demo", "see a hot swap happen, with real processes"),
    Verb("examples", "examples", "list, print or copy the examples that come with this command"),
    Verb("submit", "jobs.submit", "submit a training job"),
    Verb("apply", "jobs.apply", "create or change objects of any kind"),
    Verb("list", "jobs.list_jobs", "list jobs of all kinds", ("ls",)),
    Verb("get", "jobs.get", "show a job and its instances"),
    Verb("why", "jobs.why", "say why a job waits, and how it got there"),
    Verb("logs", "jobs.logs", "print what an instance of a job prints", ("log",)),
    Verb("events", "jobs.events", "show what happened to a job and its pods"),
    Verb("incidents", "jobs.incidents", "show what disrupted jobs, and how fast they recovered"),
    Verb("describe", "jobs.describe", "show everything about a job"),
    Verb("attach", "jobs.attach", "run a shell or a command in an instance of a job"),
    Verb("suspend", "jobs.suspend", "pause jobs until they are resumed"),
    Verb("resume", "jobs.resume", "let suspended jobs go on"),
    Verb("delete", "jobs.delete", "delete jobs of any kind", ("del",)),
    Verb("prune", "jobs.prune", "delete jobs that finished a while ago"),
    Verb("top", "jobs.top", "show who holds the GPUs"),
    Verb("node", "node", "list, cordon and drain nodes; rehearse their failures"),
    Verb("spares", "jobs.spares", "show the spares, and who has them on loan"),
    Verb("priority", "jobs.priority", "list or create PriorityClasses", ("pc",)),
    Verb("plan", "plan", "print what Understudy would do now, and why"),
    Verb("serve", "serve", "run Understudy for a Kubernetes cluster"),
    Verb("node-agent", "node_agent", "write notices and GPU health of a machine on its node"),
    Verb("doctor", "doctor", "look over a cluster: is it fit for Understudy, and is all well?"),
    Verb("config", "cluster.config", "print the settings in force and where they are from"),
    Verb("version", "version", "print the versions of this command and of the cluster"),
    Verb("completion", "completion", "print a completion script for a shell"),
)


class RootParser(OneLineParser):
    """Arena's global flags may come before the verb. A verb that has no use for one refuses it."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Namespace | None = None
    ) -> tuple[Namespace, list[str]]:
        found, unknown = super().parse_known_args(args, namespace)
        known = getattr(found, "cluster_flags", ())
        if useless := [f"--{flag}" for flag in CLUSTER_FLAGS if getattr(found, flag) and flag not in known]:
            self.error(f"{', '.join(useless)}: `understudy {found.verb}` has no such flag")
        return found, unknown


def root_parser(*, load_all: bool = False) -> ArgumentParser:
    """`load_all` imports the modules of all verbs: completion scripts are about all of them."""
    root = RootParser(prog="understudy", description=_ABOUT, epilog=_EXAMPLES)
    root.add_argument("--version", action="version", version=f"understudy {__version__}", help="print the version")
    _add_global_flags(root)
    added = root.add_subparsers(title="verbs", metavar="VERB", dest="verb", required=True, parser_class=VerbParser)
    for name, module, summary, aliases in VERBS:
        verb = added.add_parser(name, aliases=aliases, help=summary, module=f"understudy.cli.verbs.{module}")
        if load_all:
            verb.load()
            verb.description = summary
    return root


def _add_global_flags(root: ArgumentParser) -> None:
    group = root.add_argument_group("before or after the verb")
    add = group.add_argument
    add("-n", "--namespace", metavar="NAME", help="namespace (default: the context's, else default)")
    add("--cluster", metavar="NAME", help="an embedded cluster of this machine")
    add("--context", metavar="NAME", help="a context of the kubeconfig")
    add("--kubeconfig", metavar="FILE", help="a kubeconfig")
    add_log_level(group, "`submit` and `serve` say", "info")
