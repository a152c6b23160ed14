"""A parser of arguments that reports errors in one line; and the options that verbs share."""

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from understudy.cli.errors import close_names, suggestion
from understudy.cli.job_types import TYPES

CLUSTER_FLAGS = ("namespace", "cluster", "context", "kubeconfig")  # they may come before the verb, too

LOG_LEVELS = ("debug", "info", "warn", "error")

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
        see = " See" if message.endswith("?") else "; see"
        print(f"{self.prog}: {message}{see} `{self.prog} --help`", file=sys.stderr)
        sys.exit(2)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """The parser that has the flags refuses the unknown ones: its help page is the right one."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._near_flags(unknown)}")
        return found, unknown

    def _near_flags(self, unknown: Sequence[str]) -> str:
        words = [word.partition("=")[0] for word in unknown if word.startswith("--")]
        near = [name for word in words for name in close_names(word, self._option_string_actions)[:1]]
        return f"; did you mean {' '.join(near)}?" if near else ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            words = suggestion(str(value), map(str, action.choices), "there are")
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {words}")


class VerbParser(OneLineParser):
    """The parser of a verb. It imports the module of the verb and takes its flags when it first parses something.

    `understudy --help` and every verb so load no other verb.
    """

    def __init__(self, *, module: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self.takes_command = False  # what follows `--` is a command, options and all
        self.mark_command: Callable[[Sequence[str], argparse.ArgumentParser], list[str]] | None = None
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
        given = self.mark_command(args or (), self) if self.mark_command else list(args or ())
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
    """Adds the flags that choose a cluster, without defaults: the root parser has them, and a flag that came before the
    verb keeps its value."""
    add = parser.add_argument_group("which cluster", argument_default=argparse.SUPPRESS).add_argument
    add("-n", "--namespace", metavar="NAME", help="namespace (default: the context's, else default)")
    add("--cluster", metavar="NAME", help="an embedded cluster of this machine, as `understudy status` lists them")
    add("--context", metavar="NAME", help="a context of the kubeconfig")
    add("--kubeconfig", metavar="FILE",
        help="a kubeconfig (default: $KUBECONFIG, an embedded cluster, ~/.kube/config)")  # fmt: skip
    parser.set_defaults(cluster_flags=CLUSTER_FLAGS)


def add_service_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that choose a cluster to a verb that runs as a service, which has no use for a namespace."""
    add = parser.add_argument_group("which cluster", argument_default=argparse.SUPPRESS).add_argument
    add("--cluster", metavar="NAME", help="an embedded cluster of this machine")
    add("--context", metavar="NAME", help="a context of the kubeconfig")
    add("--kubeconfig", metavar="FILE",
        help="a kubeconfig (default: in a pod, its service account; else $KUBECONFIG, ~/.kube/config)")  # fmt: skip
    parser.set_defaults(cluster_flags=("cluster", "context", "kubeconfig"))


def add_log_level(parser: argparse._ActionsContainer, what: str, default: str = argparse.SUPPRESS) -> None:
    parser.add_argument("--loglevel", choices=LOG_LEVELS, default=default, help=f"how much {what} (default: info)")


def add_all_namespaces(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("-A", "--all-namespaces", "--allNamespaces", action="store_true", help=f"{what} all namespaces")


def add_type(parser: argparse.ArgumentParser) -> None:
    known = ", ".join(names[0] for names in TYPES.values())
    parser.add_argument("-T", "--type", metavar="TYPE", help=f"only jobs of this type: {known}")
