"""The API server: its version and clock, and which of Understudy's requests it permits."""

import asyncio
import re
from typing import Any

import msgspec

from understudy.cli.doctor.facts import CheckupRequest, ClusterFacts, DeniedRequest, Rights, Served
from understudy.cli.doctor.findings import Finding, care, note, well, wrong
from understudy.client import KubeClient
from understudy.kube.permissions import OWN, PERMISSIONS, Permission
from understudy.ports import Refused

OLDEST = (1, 29)  # that the chart takes
TOLERABLE, TOO_MUCH = 2.0, 15.0  # seconds; a node is suspected after some ten seconds of silence


def check_server(facts: ClusterFacts) -> list[Finding]:
    who = f" as {facts.user}" if facts.user else ""
    return [_version(facts, f"at {facts.address}, asked{who}"), _clock(facts.skew)]


def _version(facts: ClusterFacts, where: str) -> Finding:
    numbers = re.match(r"v(\d+)\.(\d+)", facts.version)
    if facts.embedded or numbers is None or (int(numbers[1]), int(numbers[2])) >= OLDEST:
        return well(f"Kubernetes {facts.version} {where}")
    return care(
        f"Kubernetes {facts.version} {where}", f"Understudy is not tested with less than v{OLDEST[0]}.{OLDEST[1]}"
    )


def _clock(skew: float | None) -> Finding:
    if skew is None:
        return note(
            "the clock of the cluster was not read: that takes the right to create a ConfigMap (it is not kept)"
        )
    text = f"the cluster's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} ours"
    fix = "let both follow the same time service (NTP): silence of nodes is measured in seconds"
    if abs(skew) > TOO_MUCH:
        return wrong(text, fix)
    return care(text, fix) if abs(skew) > TOLERABLE else well("its clock and ours agree")


_SERVICE_ACCOUNT = "system:serviceaccount:"
_MOST = 12


async def user_of(client: KubeClient) -> str:
    """The name of the user; '' where the cluster does not say."""
    path, body = "/apis/authentication.k8s.io/v1/selfsubjectreviews", {"kind": "SelfSubjectReview"}
    try:
        review = await client.request("POST", path, {"apiVersion": "authentication.k8s.io/v1", **body})
    except Refused:
        return ""
    return str(msgspec.json.decode(review)["status"].get("userInfo", {}).get("username", ""))


async def rights_of(client: KubeClient, request: CheckupRequest, served: Served) -> Rights:
    wanted = [(one, verb) for one in PERMISSIONS if _matters(one, served) for verb in one.verbs]
    try:
        answers = await asyncio.gather(*(_allowed(client, request, one, verb) for one, verb in wanted))
    except Refused as error:
        return Rights(trouble=error.message)
    pairs = zip(wanted, answers, strict=True)
    return Rights(len(wanted), tuple(DeniedRequest(one, verb) for (one, verb), allowed in pairs if not allowed))


def _matters(permission: Permission, served: Served) -> bool:
    """A kind that the cluster does not serve needs no permission."""
    plural = permission.resource.partition("/")[0]
    return not permission.optional or any(plural in kinds for kinds in served.get(permission.group, {}).values())


async def _allowed(client: KubeClient, request: CheckupRequest, permission: Permission, verb: str) -> bool:
    plural, _, sub = permission.resource.partition("/")
    attributes = {
        "group": permission.group,
        "resource": plural,
        "subresource": sub,
        "verb": verb,
        "namespace": request.home if permission.namespace == OWN else permission.namespace,
        "name": permission.name,
    }
    kind = "SubjectAccessReview" if request.account else "SelfSubjectAccessReview"
    spec: dict[str, Any] = {"resourceAttributes": {key: value for key, value in attributes.items() if value}}
    if request.account:
        spec |= {"user": request.account, "groups": _groups(request.account)}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    review = await client.request("POST", f"/apis/authorization.k8s.io/v1/{kind.lower()}s", body)
    return bool(msgspec.json.decode(review)["status"].get("allowed"))


def _groups(user: str) -> list[str]:
    """The groups that a user belongs to by its name."""
    if not user.startswith(_SERVICE_ACCOUNT):
        return ["system:authenticated"]
    namespace = user.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
    return ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]


def check_permissions(facts: ClusterFacts) -> list[Finding]:
    who = facts.request.account or facts.user or "you"
    rights = facts.rights
    if rights.trouble:
        return [care(f"the permissions of {who} are unknown: {rights.trouble}", "ask as a user who may review access")]
    if not rights.denied:
        return [well(f"{who} may make all of the {rights.asked} kinds of requests that Understudy makes")]
    if not (facts.request.account or facts.user.startswith(_SERVICE_ACCOUNT)):
        text = f"{who} may not make {len(rights.denied)} of the {rights.asked} kinds of requests that Understudy makes"
        account = f"{_SERVICE_ACCOUNT}{facts.request.home}:understudy"
        return [care(text, f"no harm, unless Understudy runs as {who}; else look at its account: --as {account}")]
    missing: dict[Permission, list[str]] = {}
    for one in rights.denied:
        missing.setdefault(one.permission, []).append(one.verb)
    found = [
        wrong(f"{who} may not {', '.join(verbs)} {_where(one, facts.request)}: it {one.why}", "")
        for one, verbs in missing.items()
    ]
    more = f"and {len(found) - _MOST} more; " if len(found) > _MOST else ""
    fix = "apply the roles of deploy/kustomize, or upgrade the release of the chart (rbac.create)"
    shown = found[:_MOST]
    return [*shown[:-1], msgspec.structs.replace(shown[-1], fix=more + fix)]


def _where(permission: Permission, request: CheckupRequest) -> str:
    place = request.home if permission.namespace == OWN else permission.namespace
    return f"{permission.title} in {place}" if place else permission.title
