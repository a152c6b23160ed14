"""The rights of every pod: to read itself and the jobs it belongs to, and to report checkpoints on them.

understudy.train needs them. RBAC cannot express them, because the jobs depend on the pod.
"""

from collections.abc import Iterator

import msgspec

from understudy.embedded.api.access_rules import Attributes, Decision, Rule
from understudy.embedded.api.served_resources import ServedResources
from understudy.embedded.schema.errors import ApiError
from understudy.embedded.server.authentication.authenticator import User
from understudy.embedded.server.authorization.request_attributes import forbidden_request
from understudy.embedded.server.http.request import Message, Request
from understudy.embedded.server.http.request_body import media_type, read_body
from understudy.embedded.store.records import Key
from understudy.embedded.store.store import Store
from understudy.kinds.registry import JOB_RESOURCES
from understudy.objects.resources import PODS
from understudy.ports import PatchForm
from understudy.train.job_client import LAST_CHECKPOINT

_MOST_OWNERS = 8  # above a pod; a TrainJob is the third
_VERBS = ("get", "patch")
_JOBS = {resource.key for resource in JOB_RESOURCES}


class _Owner(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class _Meta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    uid: str = ""
    owner_references: tuple[_Owner, ...] = ()


class _Head(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta


class ObjectPath(msgspec.Struct, frozen=True, gc=False):
    """One object, as the path of a request names it."""

    group: str
    resource: str
    namespace: str
    name: str

    @property
    def key(self) -> Key:
        return Key(f"{self.resource}.{self.group}" if self.group else self.resource, self.namespace, self.name)


_head = msgspec.json.Decoder(_Head).decode


class PodAuthorizer:
    def __init__(self, store: Store, registry: ServedResources) -> None:
        self._store = store
        self._registry = registry

    def decide(self, user: User, asked: Attributes) -> Decision:
        if not user.pod or asked.verb not in _VERBS or asked.subresource or asked.path:
            return Decision(allowed=False)
        path = ObjectPath(asked.group, asked.resource, asked.namespace, asked.name)
        if not any(path == one for one in self._objects(user)):
            return Decision(allowed=False)
        if asked.verb == "get":
            return Decision(True, "a pod may read itself and the jobs it belongs to")
        why = f"a pod may set the annotation {LAST_CHECKPOINT} on itself and the jobs it belongs to, and nothing else"
        return Decision(True, why, reports_only=True)

    def rules(self, user: User, namespace: str) -> Iterator[Rule]:
        for path in self._objects(user):
            if path.namespace == namespace:
                yield Rule(
                    frozenset(_VERBS), frozenset([path.group]), frozenset([path.resource]), frozenset([path.name])
                )

    def _objects(self, user: User) -> Iterator[ObjectPath]:
        """The pod and the jobs that control it, each found through the owner reference of the one before."""
        namespace, _, name = user.pod.partition("/")
        path: ObjectPath | None = ObjectPath("", PODS.plural, namespace, name) if name else None
        for _ in range(_MOST_OWNERS):
            if path is None:
                return
            record = self._store.get(path.key)
            if record is None:
                return
            yield path
            path = self._controller(_head(record.body).metadata, namespace)

    def _controller(self, meta: _Meta, namespace: str) -> ObjectPath | None:
        owner = next((one for one in meta.owner_references if one.controller), None)
        if owner is None:
            return None
        group = owner.api_version.rpartition("/")[0]
        for served in self._registry.all:
            resource = served.resource
            if (resource.group, resource.kind) == (group, owner.kind) and resource.key in _JOBS:
                path = ObjectPath(group, resource.plural, namespace, owner.name)
                record = self._store.get(path.key)
                return path if record is not None and _head(record.body).metadata.uid == owner.uid else None
        return None


async def check_checkpoint_report(request: Request, asked: Attributes) -> Request:
    """The same request, if all that it does is to report a checkpoint. Its body has been read then, and is kept."""
    body = await read_body(request)
    media = media_type(request.headers.get(b"content-type", b""))
    if media not in (PatchForm.MERGE, PatchForm.STRATEGIC) or not _is_report(body):
        raise _more_than_a_report(request.user, asked)

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return msgspec.structs.replace(request, receive=receive)


def _is_report(body: bytes) -> bool:
    try:
        given = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    match given:
        case {"metadata": {"annotations": {**annotations}, **other_meta}, **others}:
            return not others and not other_meta and set(annotations) == {LAST_CHECKPOINT}
        case _:
            return False


def _more_than_a_report(user: User, asked: Attributes) -> ApiError:
    return forbidden_request(user, asked, f"of its own job a pod may change the annotation {LAST_CHECKPOINT} alone")
