"""`understudy config`: the settings in force, and where each of them is from."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from understudy.cli.clusters.selection import choose_cluster
from understudy.cli.errors import BadInput, one_line
from understudy.cli.input.settings import DEFAULT, EVERYWHERE, Origin, Settings, origins, settings_with_origins
from understudy.cli.options import VerbParser, add_cluster_options
from understudy.cli.output.formats import dump
from understudy.cli.output.tables import table
from understudy.cli.session import client_config
from understudy.control.loop import LoopSettings
from understudy.embedded.cluster_folder import OWN_ACCESS, PythonScope, home
from understudy.embedded.ended_pods import EndedPodLimits
from understudy.embedded.loop_settings import EMBEDDED_DEFAULTS, loop_settings

ABOUT = """\
Print the settings in force and where each is from: an option, a variable of the environment, a
file, or the default. Those of `policy` and `health` are what `understudy plan` decides with, and
what `understudy up` gives to the scheduler of a cluster; with --cluster, what that one runs with.
Those of `kube` are for `understudy serve`. The others say which cluster the verbs talk to."""

EXAMPLES = """\
examples:
  understudy config
  understudy config --settings understudy.yaml -o yaml
  understudy config --cluster slices
  UNDERSTUDY_POLICY_MIN_RUNTIME=300 understudy config"""


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("--settings", metavar="FILE", help="an understudy.yaml (default: $UNDERSTUDY_SETTINGS)")
    parser.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text", help="form (default: text)")
    add_cluster_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.cluster and options.settings:
        raise BadInput(
            "--cluster shows what a cluster runs with, --settings what a file would change: give one of them"
        )
    found = [*_target(options), *(_of_cluster(options.cluster) if options.cluster else origins(options.settings))]
    if options.output == "text":
        rows = [(one.key, _written(one.value), one.source) for one in found]
        sys.stdout.write("".join(f"{line}\n" for line in table([("SETTING", "VALUE", "FROM"), *rows])))
    else:
        settings = {one.key: {"value": one.value, "from": one.source} for one in found}
        sys.stdout.write(dump({"settings": settings}, options.output))
    return 0


def _target(options: argparse.Namespace) -> list[Any]:
    """The cluster that verbs talk to. It is no error if there is none: `config` shows that."""
    found = [Origin("home", str(home()), _home_source())]
    try:
        config = client_config(options)
    except BadInput as error:
        if options.cluster or options.kubeconfig or options.context or options.namespace:
            raise
        return [*found, Origin("server", None, one_line(str(error)))]
    found.append(Origin("server", config.server, _server_source(options, config.embedded)))
    namespace = options.namespace or config.namespace
    source = "--namespace" if options.namespace else "the context" if namespace != "default" else DEFAULT
    return [*found, Origin("namespace", namespace, source)]


def _of_cluster(name: str) -> list[Any]:
    """The settings that the scheduler of an embedded cluster runs with."""
    running = choose_cluster(name, "--cluster").settings
    loop = running.loop
    own, plain = (
        _by_key(settings_with_origins(settings, lambda *_: ""))
        for settings in (_settings(EMBEDDED_DEFAULTS), Settings())
    )

    def source(section: str, key: str) -> str:
        if key in loop.get(section, {}):
            return "understudy up"
        full = f"{section}.{key}"
        return DEFAULT if own[full] == plain[full] else f"{DEFAULT} of embedded clusters"

    access = Origin("podAccess", running.pod_access, DEFAULT if running.pod_access == OWN_ACCESS else "understudy up")
    logs = msgspec.convert(loop.get("logs", {}), EndedPodLimits)
    running_with = msgspec.structs.replace(_settings(loop_settings(loop)), logs=logs)
    shared = running.python_env is not PythonScope.POD
    pythons = Origin("pythonEnv", running.python_env.value, "understudy up" if shared else DEFAULT)
    return [access, pythons, *settings_with_origins(running_with, source, EVERYWHERE)]


def _settings(loop: LoopSettings) -> Settings:
    return Settings(policy=loop.policy, health=loop.limits)


def _by_key(origins: list[Any]) -> dict[str, Any]:
    return {one.key: one.value for one in origins}


def _home_source() -> str:
    return next((name for name in ("UNDERSTUDY_HOME", "XDG_STATE_HOME") if os.environ.get(name)), DEFAULT)


def _server_source(options: argparse.Namespace, embedded: bool) -> str:
    if given := [f"--{name}" for name in ("cluster", "kubeconfig", "context") if getattr(options, name)]:
        return ", ".join(given)
    if os.environ.get("KUBECONFIG"):
        return "KUBECONFIG"
    if embedded:
        return "the embedded cluster of this machine"
    return "~/.kube/config" if (Path.home() / ".kube" / "config").exists() else "the cluster this pod runs in"


def _written(value: object) -> str:
    if value is None:
        return "<none>"
    return value if isinstance(value, str) else json.dumps(value)
