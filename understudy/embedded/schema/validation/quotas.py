"""Checks of ResourceQuotas: names and amounts of what is limited, and scopes, which do not change."""

import re
from collections.abc import Iterator

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import member
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.served_resource import Lookup
from understudy.embedded.schema.types.quotas import ResourceQuota, ResourceQuotaStatus
from understudy.embedded.schema.types.values import amount_of
from understudy.embedded.schema.validation import names

_STANDARD = re.compile(
    r"(requests\.|limits\.)?(cpu|memory|ephemeral-storage)|(requests\.)?(storage|hugepages-.+)|pods|services"
    r"|services\.(loadbalancers|nodeports)|replicationcontrollers|resourcequotas|secrets|configmaps|persistentvolumeclaims"
)
_OF_PODS = re.compile(r"pods|count/pods|(requests\.|limits\.)?(cpu|memory|ephemeral-storage)|requests\..+")
_OPPOSITES = (("Terminating", "NotTerminating"), ("BestEffort", "NotBestEffort"))


def begin(quota: ResourceQuota, _: Lookup) -> None:
    quota.status = ResourceQuotaStatus()


def check(quota: ResourceQuota) -> Iterator[Cause]:
    spec = quota.spec
    for name, amount in (spec.hard or {}).items():
        where = member("spec.hard", name)
        if "/" in name:
            if problem := names.qualified(name):
                yield causes.bad_value(where, name, problem)
        elif not _STANDARD.fullmatch(name):
            yield causes.bad_value(where, name, "must be a standard resource type or fully qualified")
        if amount_of(amount) < 0:
            yield causes.bad_value(where, amount, "must be greater than or equal to 0")
    scopes = list(spec.scopes or ())
    requirements = (spec.scope_selector.match_expressions or []) if spec.scope_selector else []
    for pair in _OPPOSITES:
        if {*pair} <= {*scopes, *(one.scope_name for one in requirements)}:
            yield causes.bad_value("spec.scopes", scopes, "conflicting scopes")
    if (scopes or requirements) and (other := [n for n in spec.hard or {} if not _OF_PODS.fullmatch(n)]):
        yield causes.bad_value("spec.scopes", scopes, f"unsupported scope applied to resource {other[0]}")
    for i, one in enumerate(requirements):
        where = member("spec.scopeSelector.matchExpressions", i)
        takes = one.operator in ("In", "NotIn")
        if takes and not one.values:
            yield causes.required(f"{where}.values", "must be at least one value when `operator` is 'In' or 'NotIn'")
        if not takes and one.values:
            problem = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield causes.bad_value(f"{where}.values", one.values, problem)
        if one.scope_name != "PriorityClass" and one.operator != "Exists":
            problem = "must be 'Exist' when scope is any of the 4 non-priority scopes"
            yield causes.bad_value(f"{where}.operator", one.operator, problem)


def changed(new: ResourceQuota, old: ResourceQuota) -> Iterator[Cause]:
    if new.spec.scopes != old.spec.scopes:
        yield causes.bad_value("spec.scopes", new.spec.scopes or [], "field is immutable")
