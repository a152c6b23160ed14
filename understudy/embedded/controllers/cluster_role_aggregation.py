"""Aggregated ClusterRoles: their rules are those of all ClusterRoles that their selectors match."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from understudy.embedded.controllers.runtime.controller import ChangeHandler
from understudy.embedded.controllers.runtime.object_version import ObjectChange
from understudy.embedded.controllers.runtime.work_queue import WorkQueue
from understudy.kinds.children.partial_objects import PartialObject
from understudy.objects.meta import LabelSelector, Part
from understudy.objects.resources import CLUSTER_ROLES, Resource
from understudy.objects.selectors import selector_of
from understudy.ports import Clock, Cluster, PatchForm, Ref, Refused

_GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
Rule = dict[str, Any]


class _Aggregation(Part, frozen=True):
    cluster_role_selectors: tuple[LabelSelector, ...] = ()


class SeenRole(PartialObject, frozen=True, kw_only=True):
    aggregation_rule: _Aggregation | None = None
    rules: tuple[Rule, ...] = ()


class ClusterRoleAggregator:
    """Keys are names of ClusterRoles."""

    name = "cluster role aggregation"

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self.queue: WorkQueue[str] = WorkQueue(clock)
        self._cluster = cluster
        self._roles: dict[str, SeenRole] = {}

    def watches(self) -> Mapping[Resource, ChangeHandler]:
        return {CLUSTER_ROLES: self._on_change}

    def _on_change(self, change: ObjectChange) -> None:
        role = change.read(SeenRole)
        if change.is_deleted:
            self._roles.pop(role.metadata.name, None)
        else:
            self._roles[role.metadata.name] = role
        for name, one in self._roles.items():
            if one.aggregation_rule is not None:
                self.queue.add(name)

    async def reconcile(self, key: str) -> float | None:
        role = self._roles.get(key)
        if role is None or role.aggregation_rule is None:
            return None
        wanted = aggregated(role, self._roles)
        if wanted != list(role.rules):
            patch = {"metadata": {"uid": role.metadata.uid}, "rules": wanted}
            try:
                await self._cluster.patch(Ref(CLUSTER_ROLES, "", key), patch, form=PatchForm.MERGE)
            except Refused as error:
                if error.code not in _GONE:
                    raise
        return None


def aggregated(role: SeenRole, roles: Mapping[str, SeenRole]) -> list[Rule]:
    """The rules of all selected roles, in the order of their names, each rule once."""
    rule = role.aggregation_rule or _Aggregation()
    selectors = [selector_of(one) for one in rule.cluster_role_selectors]
    found: list[Rule] = []
    for name in sorted(roles):
        one = roles[name]
        if name == role.metadata.name:
            continue
        if any(selector is not None and selector.matches(one.metadata.labels) for selector in selectors):
            found += [rule for rule in one.rules if rule not in found]
    return found
