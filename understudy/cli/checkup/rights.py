"""Who we are to a cluster, and which of the requests that Understudy makes it would let somebody make."""

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from understudy.cli.checkup.findings import Finding, care, well, wrong
from understudy.cli.checkup.seen import Denied, Rights, Seen, Served, Wish
from understudy.kube.permissions import OWN, PERMISSIONS, Permission
from understudy.ports import Refused

if TYPE_CHECKING:
    from understudy.client import KubeClient

_SERVICE_ACCOUNT = "system:serviceaccount:"
_MOST = 12


async def user_of(client: "KubeClient") -> str:
    """'' where the cluster does not say."""
    path, body = "/apis/authentication.k8s.io/v1/selfsubjectreviews", {"kind": "SelfSubjectReview"}
    try:
        review = await client.request("POST", path, {"apiVersion": "authentication.k8s.io/v1", **body})
    except Refused:
        return ""
    return str(msgspec.json.decode(review)["status"].get("userInfo", {}).get("username", ""))


async def rights_of(client: "KubeClient", wish: Wish, served: Served) -> Rights:
    wanted = [(one, verb) for one in PERMISSIONS if _matters(one, served) for verb in one.verbs]
    try:
        answers = await asyncio.gather(*(_allowed(client, wish, one, verb) for one, verb in wanted))
    except Refused as error:
        return Rights(trouble=error.message)
    pairs = zip(wanted, answers, strict=True)
    return Rights(len(wanted), tuple(Denied(one, verb) for (one, verb), allowed in pairs if not allowed))


def _matters(permission: Permission, served: Served) -> bool:
    """What nobody brought to the cluster needs no permission."""
    plural = permission.resource.partition("/")[0]
    return not permission.optional or any(plural in kinds for kinds in served.get(permission.group, {}).values())


async def _allowed(client: "KubeClient", wish: Wish, permission: Permission, verb: str) -> bool:
    plural, _, sub = permission.resource.partition("/")
    attributes = {
        "group": permission.group,
        "resource": plural,
        "subresource": sub,
        "verb": verb,
        "namespace": wish.home if permission.namespace == OWN else permission.namespace,
        "name": permission.name,
    }
    kind = "SubjectAccessReview" if wish.account else "SelfSubjectAccessReview"
    spec: dict[str, Any] = {"resourceAttributes": {key: value for key, value in attributes.items() if value}}
    if wish.account:
        spec |= {"user": wish.account, "groups": _groups(wish.account)}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    review = await client.request("POST", f"/apis/authorization.k8s.io/v1/{kind.lower()}s", body)
    return bool(msgspec.json.decode(review)["status"].get("allowed"))


def _groups(user: str) -> list[str]:
    """Those that a service account is in by its name."""
    if not user.startswith(_SERVICE_ACCOUNT):
        return ["system:authenticated"]
    namespace = user.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
    return ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]


def check(seen: Seen) -> list[Finding]:
    who = seen.wish.account or seen.user or "you"
    rights = seen.rights
    if rights.trouble:
        return [care(f"nobody says what {who} may do: {rights.trouble}", "ask as somebody who may review access")]
    if not rights.denied:
        return [well(f"{who} may make all of the {rights.asked} kinds of requests that Understudy makes")]
    if not (seen.wish.account or seen.user.startswith(_SERVICE_ACCOUNT)):
        text = f"{who} may not make {len(rights.denied)} of the {rights.asked} kinds of requests that Understudy makes"
        account = f"{_SERVICE_ACCOUNT}{seen.wish.home}:understudy"
        return [care(text, f"no harm, unless Understudy runs as {who}; else look at its account: --as {account}")]
    missing: dict[Permission, list[str]] = {}
    for one in rights.denied:
        missing.setdefault(one.permission, []).append(one.verb)
    found = [
        wrong(f"{who} may not {', '.join(verbs)} {_where(one, seen.wish)}: it {one.why}", "")
        for one, verbs in missing.items()
    ]
    more = f"and {len(found) - _MOST} more; " if len(found) > _MOST else ""
    fix = "apply the roles of deploy/kustomize, or upgrade the release of the chart (rbac.create)"
    shown = found[:_MOST]
    return [*shown[:-1], msgspec.structs.replace(shown[-1], fix=more + fix)]


def _where(permission: Permission, wish: Wish) -> str:
    place = wish.home if permission.namespace == OWN else permission.namespace
    return f"{permission.title} in {place}" if place else permission.title
