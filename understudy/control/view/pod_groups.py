"""Members of pod groups: which pods name which group, and whether the group is the gang, or the one job that owns all
pods."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from understudy.kinds.gang_ref import GangRef
from understudy.kinds.pod_groups.definition import POD_GROUP, GroupDefinition, GroupRef
from understudy.kinds.pod_groups.lookup import definition_of
from understudy.objects.pod_groups import AnyGroup

PodName = tuple[str, str]  # (namespace, name)
GroupName = tuple[str, str]  # (namespace, name of the group)


class GroupMembers(msgspec.Struct):
    members: dict[PodName, str] = {}  # by the key of the gang that each would count for without the group
    owners: Counter[str] = msgspec.field(default_factory=Counter)

    @property
    def is_a_gang(self) -> bool:
        """False if all of its pods belong to one job: a job can be suspended, and specifies more."""
        return len(self.owners) != 1 or next(iter(self.owners)).startswith("Pod/")


class PodGroupIndex:
    def __init__(self) -> None:
        self._groups: dict[GroupName, GroupMembers] = {}
        self._of: dict[PodName, GroupName] = {}
        self._objects: dict[tuple[str, str, str], AnyGroup] = {}  # by API group, namespace and name

    def set_group(self, pod: PodName, group: GroupRef | None, own: GangRef) -> list[PodName]:
        """Records the group of a pod; None removes it. Returns the other pods of those groups whose gang changes
        because of it."""
        touched = {name for name in (self._of.get(pod), _group_name(group)) if name is not None}
        before = {name: entry.is_a_gang for name in touched if (entry := self._groups.get(name)) is not None}
        if (old := self._of.pop(pod, None)) is not None:
            self._remove_member(pod, old)
        if (new := _group_name(group)) is not None:
            entry = self._groups.setdefault(new, GroupMembers())
            entry.members[pod] = own.key
            entry.owners[own.key] += 1
            self._of[pod] = new
        turned = [name for name in before if name in self._groups and self._groups[name].is_a_gang != before[name]]
        return [other for name in turned for other in self._groups[name].members if other != pod]

    def _remove_member(self, pod: PodName, name: GroupName) -> None:
        entry = self._groups[name]
        own = entry.members.pop(pod)
        entry.owners[own] -= 1
        if not entry.owners[own]:
            del entry.owners[own]
        if not entry.members:
            del self._groups[name]

    def ref(self, group: GroupRef, own: GangRef) -> GangRef:
        """The gang that a pod of this group counts for."""
        if not self._groups[group.namespace, group.name].is_a_gang:
            return own
        return GangRef(group.key, POD_GROUP, group.namespace, group.name, group.name, own.slot)

    def put(self, group: AnyGroup) -> Iterable[PodName]:
        """Returns the pods of the group."""
        return self._set(group, group)

    def remove(self, group: AnyGroup) -> Iterable[PodName]:
        return self._set(group, None)

    def _set(self, group: AnyGroup, now: AnyGroup | None) -> Iterable[PodName]:
        meta = group.metadata
        key = (group.api_version.rpartition("/")[0], meta.namespace, meta.name)
        if now is None:
            self._objects.pop(key, None)
        else:
            self._objects[key] = now
        entry = self._groups.get((meta.namespace, meta.name))
        return entry.members if entry is not None else ()

    def definition(self, group: GroupRef) -> GroupDefinition:
        """Raises BadObject if the group's object is invalid."""
        if group.definition is not None:
            return group.definition
        found = self._objects.get((group.api, group.namespace, group.name))
        return GroupDefinition(group.title, absent=True) if found is None else definition_of(found)


def _group_name(group: GroupRef | None) -> GroupName | None:
    return None if group is None else (group.namespace, group.name)
