"""A parser of arguments whose complaints are one line, like every other complaint; and an option verbs share."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from understudy.cli.job_types import TYPES

# What a shell offers for a value, by the name of the value in the help. `understudy completion` defines the functions.
_FILES = {"bash": "_understudy_files", "zsh": "_files", "fish": "(__fish_complete_path (commandline -ct))"}
_COMPLETIONS = {
    "FILE": _FILES,
    "DIR": _FILES,
    "JOB": {"bash": "_understudy_jobs", "zsh": "_understudy_jobs", "fish": "(__understudy_jobs)"},
    "NODE": {"bash": "_understudy_nodes", "zsh": "_understudy_nodes", "fish": "(__understudy_nodes)"},
    "TYPE": {"bash": "_understudy_types", "zsh": "_understudy_types", "fish": "(__understudy_types)"},
}


class _StoreValue(argparse.Action):
    """argparse's action "store", with the attribute from which shtab takes what a shell offers."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        if isinstance(self.metavar, str) and self.metavar in _COMPLETIONS:
            self.complete = _COMPLETIONS[self.metavar]

    def __call__(
        self, _parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, _flag: str | None = None
    ) -> None:
        setattr(namespace, self.dest, values)


class _AppendValue(_StoreValue):
    """argparse's action "append"."""

    def __call__(
        self, _parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, _flag: str | None = None
    ) -> None:
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or ()), values])


class OneLineParser(argparse.ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **settings)
        self.register("action", None, _StoreValue)
        self.register("action", "append", _AppendValue)

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}; see `{self.prog} --help`", file=sys.stderr)
        sys.exit(2)


class VerbParser(OneLineParser):
    """The parser of a verb. It imports the module of the verb and takes its flags when it first parses something.

    `understudy --help` and every verb so load no other verb.
    """

    def __init__(self, *, module: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self.takes_command = False  # what follows `--` is a command, options and all
        self._module = module

    def load(self) -> None:
        if self._module:
            verb = importlib.import_module(self._module)
            self._module = ""
            self.description, self.epilog = verb.ABOUT, getattr(verb, "EXAMPLES", None)
            verb.add_flags(self)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        self.load()
        given = list(args or ())
        cut = given.index("--") if self.takes_command and "--" in given else len(given)
        found, unknown = super().parse_known_args(given[:cut], namespace)
        if self.takes_command:
            found.command = given[cut + 1 :]
        return found, unknown


def add_cluster_name(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--name", metavar="NAME", help="which cluster (default: the only one there is, else the one called default)"
    )


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which cluster")
    group.add_argument("-n", "--namespace", metavar="NAME", help="namespace (default: the context's, else default)")
    group.add_argument(
        "--cluster", metavar="NAME", help="an embedded cluster of this machine, as `understudy status` lists them"
    )
    group.add_argument("--context", metavar="NAME", help="a context of the kubeconfig")
    group.add_argument(
        "--kubeconfig", metavar="FILE", help="a kubeconfig (default: $KUBECONFIG, an embedded cluster, ~/.kube/config)"
    )


def add_type(parser: argparse.ArgumentParser) -> None:
    known = ", ".join(names[0] for names in TYPES.values())
    parser.add_argument("-T", "--type", metavar="TYPE", help=f"only jobs of this type: {known}")
