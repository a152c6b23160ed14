"""Checks whether the nodes of a cluster could hold a job if they were empty: roles and nodes into a sentence."""

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from understudy.cli.errors import BadInput
from understudy.cli.queries.installation import is_embedded
from understudy.cli.queries.lists import follow_nodes
from understudy.cli.queries.objects import NodeInfo
from understudy.cli.session import Session
from understudy.cli.submit.request import Document
from understudy.kinds.annotations import PREFIX
from understudy.kinds.registry import KINDS
from understudy.kinds.roles import Amounts, JobRole, total_requests
from understudy.model.nodes import is_accelerator
from understudy.model.quantity import format_quantity, parse_quantity
from understudy.ports import Refused

MIN_MEMBERS = f"{PREFIX}min-members"
# The beginnings of labels and annotations that autoscalers put on the nodes they make.
AUTOSCALERS = ("karpenter.sh/", "cluster-autoscaler.kubernetes.io/", "eks.amazonaws.com/compute-type")
PODS = "pods"


class Shortfall(msgspec.Struct, frozen=True):
    """Why a job cannot start on the nodes that a cluster has."""

    words: str
    may_end: bool  # whether nodes may be added without a person


class ClusterSize(msgspec.Struct):
    """The nodes seen so far, and how many pods of each role they have room for."""

    roles: list[JobRole]
    nodes: int = 0
    amounts: Amounts = {}
    most: Amounts = {}  # on one node
    room: list[int] = []
    autoscaled: bool = False

    def add(self, node: NodeInfo) -> None:
        offers = {name: parse_quantity(amount, name) for name, amount in node.status.allocatable.items()}
        self.nodes += 1
        for name, amount in offers.items():
            self.amounts[name] = self.amounts.get(name, 0) + amount
            self.most[name] = max(self.most.get(name, 0), amount)
        known = self.room or [0] * len(self.roles)
        self.room = [there + _fits(role, offers) for there, role in zip(known, self.roles, strict=True)]
        marks = (*node.metadata.labels, *node.metadata.annotations)
        self.autoscaled = self.autoscaled or any(mark.startswith(AUTOSCALERS) for mark in marks)

    @property
    def suffices(self) -> bool:
        return self.shortfall() is None

    def shortfall(self) -> str | None:
        """Why the nodes cannot hold the job. None also without nodes: a cluster that has just been started may still
        get some."""
        if not self.nodes:
            return None
        wanted = total_requests(self.roles)
        lacking = [name for name, amount in wanted.items() if amount > self.amounts.get(name, 0)]
        for role in self.roles:
            large = [name for name, amount in role.requests.items() if amount > self.most.get(name, 0)]
            if role.count and large and all(self.amounts.get(name) for name in large):
                return self._too_large(role, min(large, key=_scarcest_first))
        if lacking:
            return self._too_many(wanted, min(lacking, key=_scarcest_first))
        for role, room in zip(self.roles, self.room, strict=True):
            if role.count > room:
                return self._does_not_pack(role, room)
        return None

    def _too_large(self, role: JobRole, name: str) -> str:
        return (
            f"the largest of the cluster's {_count(self.nodes, 'node')} has {_amount(self.most[name], name)}; "
            f"a pod of this job wants {_amount(role.requests[name], name)}: "
            "it cannot start before larger nodes are added"
        )

    def _too_many(self, wanted: Amounts, name: str) -> str:
        has = _amount(self.amounts.get(name, 0), name)
        pods = _count(sum(role.count for role in self.roles), "pod")
        both = pods if name == PODS else f"{pods} with {_amount(wanted[name], name)}"
        there = f"with room for {has}" if name == PODS else f"with {has}"
        return (
            f"the cluster has {_count(self.nodes, 'node')} {there}; this job wants {both}: "
            "it cannot start before nodes are added"
        )

    def _does_not_pack(self, role: JobRole, room: int) -> str:
        asked = " and ".join(_amount(role.requests[name], name) for name in sorted(role.requests) if name != PODS)
        return (
            f"the cluster has {_count(self.nodes, 'node')} with room for {_count(room, 'pod')} of {asked} each; "
            f"this job wants {role.count:,}: it cannot start before nodes are added"
        )


async def shortfall_of(session: Session, document: Document) -> Shortfall | None:
    """Reads no more nodes than it takes to hold the job. A user who may not list nodes is told nothing."""
    roles = _least_roles(document)
    size = ClusterSize(roles)
    embedded = is_embedded(session.client)
    try:
        async for node in follow_nodes(session.client):
            size.add(node)
            if size.suffices:
                return None
    except (Refused, ValueError):
        return None
    words = size.shortfall()
    return None if words is None else Shortfall(words, size.autoscaled or not embedded)


async def is_wanted(session: Session, options: argparse.Namespace, document: Document) -> bool:
    """Asks on a terminal whether a job that cannot start is to be submitted; elsewhere --yes says so."""
    found = await shortfall_of(session, document)
    if found is None:
        return True
    if options.yes or found.may_end or options.dry_run:
        print(f"understudy: {found.words}", file=sys.stderr)
        return True
    if not sys.stdin.isatty():
        raise BadInput(f"{found.words}; say --yes to submit it all the same")
    answer = input(f"{found.words[:1].upper()}{found.words[1:]}. Submit it all the same? [y/N] ")
    return answer.strip().lower() in ("y", "yes")


def _least_roles(document: Document) -> list[JobRole]:
    """The roles with as many pods as the job needs to run. What cannot be read is left to the API server to refuse."""
    try:
        roles = KINDS[document["kind"]].roles_in(document.get("spec") or {})
        least = _minimum(document, roles)
    except (TypeError, ValueError, AttributeError):
        return []
    found: list[JobRole] = []
    for role in roles:
        count = min(role.count, max(0, least - sum(each.count for each in found)))
        found.append(msgspec.structs.replace(role, count=count, requests={PODS: 1, **role.requests}))
    return found


def _minimum(document: Mapping[str, Any], roles: Iterable[JobRole]) -> int:
    size = sum(role.count for role in roles)
    written = (document["metadata"].get("annotations") or {}).get(MIN_MEMBERS)
    elastic = (document.get("spec") or {}).get("elasticPolicy") or {}
    if written is not None:
        return min(size, int(written))
    return min(size, int(elastic["minReplicas"])) if elastic.get("minReplicas") is not None else size


def _fits(role: JobRole, offers: Mapping[str, int]) -> int:
    return min((offers.get(name, 0) // amount for name, amount in role.requests.items() if amount), default=role.count)


def _scarcest_first(name: str) -> tuple[bool, bool, str]:
    return (not is_accelerator(name), name == PODS, name)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _amount(amount: int, name: str) -> str:
    if name == PODS:
        return _count(amount, "pod")
    if not amount:
        return f"no {name}"
    return f"{amount:,} {name}" if is_accelerator(name) else f"{format_quantity(amount, name)} {name}"
