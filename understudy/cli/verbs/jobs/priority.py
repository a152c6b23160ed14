"""`understudy priority list|create`: the PriorityClasses of a cluster as a table, and new ones from flags."""

import argparse
import json
import re
import sys
from typing import Any

import msgspec

from understudy.cli.errors import BadInput
from understudy.cli.options import VerbParser, add_cluster_options
from understudy.cli.output.manifests import as_yaml
from understudy.cli.output.tables import table
from understudy.cli.session import Session, run_in_session
from understudy.objects.resources import PRIORITY_CLASSES
from understudy.ports import Ref

ABOUT = """\
Show or create PriorityClasses: `--priority NAME` of `understudy submit` names one. A job is
preempted only for one of a higher value, and never by one of a class that says so."""

EXAMPLES = """\
examples:
  understudy priority list
  understudy priority create critical --value 1100000 --description "cannot wait"
  understudy priority create polite --value 500000 --never-preempt"""

HIGHEST = 1_000_000_000  # what is above belongs to Kubernetes itself
_SYSTEM = "system-"


def add_flags(parser: VerbParser) -> None:
    verbs = parser.add_subparsers(title="what to do", metavar="list|create", required=True)
    shown = verbs.add_parser("list", aliases=["ls"], help="the classes there are, the highest first")
    shown.add_argument("-o", "--output", choices=("text", "wide", "json", "yaml", "name"), default="text",
                       help="form (default: text)")  # fmt: skip
    add_cluster_options(shown)
    shown.set_defaults(run=run_list)
    _add_create(verbs)


def _add_create(verbs: Any) -> None:
    parser: argparse.ArgumentParser = verbs.add_parser("create", help="a new class")
    add = parser.add_argument
    add("name", metavar="NAME", help="what it is called")
    add("--value", metavar="N", type=int, required=True, help="the higher, the more important; -2147483648 to 10^9")
    add("--global-default", action="store_true", help="for pods that name no class")
    add("--never-preempt", action="store_true", help="jobs of this class wait in front, and never preempt")
    add("--description", metavar="TEXT", default="", help="what it is for")
    add("--dry-run", action="store_true", help="print the YAML; ask no cluster, change nothing")
    add_cluster_options(parser)
    parser.set_defaults(run=run_create)


def run_list(options: argparse.Namespace) -> int:
    async def work(session: Session) -> int:
        found = msgspec.json.decode(await session.client.get(Ref(PRIORITY_CLASSES)))
        found["items"].sort(key=lambda one: (-one["value"], one["metadata"]["name"]))
        sys.stdout.write(_shown(found, options.output))
        return 0

    return run_in_session(options, work)


def _shown(found: dict[str, Any], form: str) -> str:
    if form == "json":
        return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    if form == "yaml":
        return as_yaml([found])
    if form == "name":
        return "".join(f"priorityclass.scheduling.k8s.io/{one['metadata']['name']}\n" for one in found["items"])
    rows = [["NAME", "VALUE", "GLOBAL-DEFAULT", "PREEMPTION POLICY", "DESCRIPTION"], *map(_row, found["items"])]
    return "".join(f"{line}\n" for line in table(rows if form == "wide" else [row[:4] for row in rows]))


def _row(one: dict[str, Any]) -> list[str]:
    default = str(bool(one.get("globalDefault"))).lower()
    policy = one.get("preemptionPolicy") or "PreemptLowerPriority"
    return [one["metadata"]["name"], str(one["value"]), default, policy, one.get("description", "")]


def run_create(options: argparse.Namespace) -> int:
    document = _document(options)
    if options.dry_run:
        sys.stdout.write(as_yaml([document]))
        return 0

    async def work(session: Session) -> int:
        if options.global_default:
            await _check_only_default(session)
        await session.client.create(Ref(PRIORITY_CLASSES), document)
        print(f"priorityclass.scheduling.k8s.io/{options.name} created")
        return 0

    return run_in_session(options, work)


def _document(options: argparse.Namespace) -> dict[str, Any]:
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", options.name, re.ASCII):
        raise BadInput(f"NAME {options.name}: no name for a PriorityClass; use lower-case letters, digits, '-' and '.'")
    if options.name.startswith(_SYSTEM):
        raise BadInput(f"NAME {options.name}: names that begin with {_SYSTEM} are Kubernetes' own")
    if not -(2**31) <= options.value <= HIGHEST:
        raise BadInput(f"--value {options.value}: must lie between {-(2**31)} and {HIGHEST}")
    fields: dict[str, Any] = {"value": options.value}
    if options.global_default:
        fields["globalDefault"] = True
    if options.never_preempt:
        fields["preemptionPolicy"] = "Never"
    if options.description:
        fields["description"] = options.description
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": options.name}}
    return {**head, **fields}


async def _check_only_default(session: Session) -> None:
    for one in msgspec.json.decode(await session.client.get(Ref(PRIORITY_CLASSES)))["items"]:
        if one.get("globalDefault"):
            raise BadInput(f"--global-default: {one['metadata']['name']} is that already; a cluster has one")
