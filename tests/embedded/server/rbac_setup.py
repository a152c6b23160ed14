"""Service accounts, roles and tokens for tests of the server."""

from collections.abc import Mapping
from typing import Any

from tests.embedded.server.in_process_server import Json, Reply, Server

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES, ROLE_BINDINGS = f"{RBAC}/namespaces/default/roles", f"{RBAC}/namespaces/default/rolebindings"
CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS = f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
REVIEWS = "/apis/authorization.k8s.io/v1"


def rule(resources: str, verbs: str, group: str = "", **more: Any) -> Json:
    """Words of each are separated by spaces."""
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split(), **more}


async def account(ask: Server, name: str = "robot") -> None:
    await ask.post(ACCOUNTS, {"metadata": {"name": name}})


async def token(ask: Server, name: str = "robot", **spec: Any) -> str:
    answer = await ask.post(f"{ACCOUNTS}/{name}/token", {"spec": spec})
    return str(answer["status"]["token"])


async def pod_token(ask: Server, pod: Json, **spec: Any) -> str:
    """As the agent gets it for a pod that is in the API."""
    meta = pod["metadata"]
    bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    return await token(ask, pod["spec"]["serviceAccountName"], boundObjectRef=bound, **spec)


async def grant(ask: Server, *rules: Mapping[str, Any], name: str = "rights", to: str = "robot") -> None:
    await ask.post(ROLES, {"metadata": {"name": name}, "rules": rules})
    await bind(ask, {"kind": "Role", "name": name}, name, to)


async def bind(ask: Server, role: Json, name: str, to: str = "robot") -> None:
    subject = {"kind": "ServiceAccount", "name": to, "namespace": "default"}
    await ask.post(ROLE_BINDINGS, {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]})


class As:
    """Requests with one token."""

    def __init__(self, ask: Server, held: str) -> None:
        self._ask = ask
        self.token = held

    async def __call__(self, method: str, url: str, body: Json = None, **more: Any) -> Reply:
        return await self._ask(method, url, body, token=self.token, **more)

    async def code(self, method: str, url: str, body: Json = None, **more: Any) -> int:
        return (await self(method, url, body, **more)).code
