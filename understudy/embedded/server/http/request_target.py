"""What a path points at: the resource, namespace, name and sub-resource."""

from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from understudy.embedded.api.served_resources import ServedResources
from understudy.embedded.schema.errors import ApiError
from understudy.embedded.schema.served_resource import ServedResource
from understudy.embedded.store.records import Key

# Below /api/v1/namespaces/{name}/ these are sub-resources of the namespace, all others are resources in the namespace.
_OF_THE_NAMESPACE = ("status", "finalize")


class Target(msgspec.Struct, frozen=True, gc=False):
    """Without a name: the collection. `version` is the requested one, not the stored one."""

    served: ServedResource
    version: str
    namespace: str = ""
    name: str = ""
    sub: str = ""

    @property
    def key(self) -> Key:
        return Key(self.served.resource.key, self.namespace, self.name)

    @property
    def api_version(self) -> str:
        group = self.served.resource.group
        return f"{group}/{self.version}" if group else self.version


def warnings_for(target: Target, found: Sequence[str]) -> Sequence[str]:
    """What is said with an answer to a write."""
    return (*found, target.served.warning) if target.served.warning and not target.sub else found


def not_allowed() -> ApiError:
    return ApiError(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )


def resource_parts(path: str) -> tuple[str, str, list[str]] | None:
    """Group, version and the rest of the path; None where the path has no group and version."""
    parts = path.split("/")
    match parts:
        case ["", "api", version, *rest]:
            return "", version, rest
        case ["", "apis", group, version, *rest] if group:
            return group, version, rest
        case _:
            return None


def scoped(rest: list[str]) -> tuple[str | None, list[str]]:
    """The namespace (None for a cluster-wide path) and the rest of a path below its group and version."""
    if len(rest) > 2 and rest[0] == "namespaces" and not (len(rest) == 3 and rest[2] in _OF_THE_NAMESPACE):
        return rest[1], rest[2:]
    return None, rest


def locate(resources: ServedResources, group: str, version: str, rest: list[str]) -> Target | None:
    """None where the resource is not served, or a cluster-wide resource is addressed in a namespace."""
    namespace, rest = scoped(rest)
    if namespace == "":
        return None
    namespace = namespace or ""
    served = resources.find(group, version, rest[0])
    if served is None or len(rest) > 3 or "" in rest or (namespace and not served.resource.namespaced):
        return None
    name = rest[1] if len(rest) > 1 else ""
    if name and served.resource.namespaced and not namespace:
        return None  # a namespaced object without its namespace
    return Target(served, version, namespace, name, rest[2] if len(rest) > 2 else "")
