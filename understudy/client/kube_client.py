"""KubeClient: the Cluster port as requests to a Kubernetes API over HTTPS."""

import contextlib
import os
import random
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from understudy.client.binding import bind_pods
from understudy.client.config import Config
from understudy.client.deferred_writes import DeferredWrites
from understudy.client.errors import error_from, successful_body
from understudy.client.evictions import evict_pods
from understudy.client.kubeconfig import read_kubeconfig
from understudy.client.pool import ConnectionPool, WriteGate
from understudy.client.reflector import Reflector, Selection
from understudy.client.retry import Request, Retrier
from understudy.objects.resources import Resource
from understudy.ports import Change, PatchForm, PodBinding, PodEviction, Ref, Refused

if TYPE_CHECKING:
    from understudy.client.websocket import WebSocket

JSON = "application/json"
FIELD_MANAGER = "understudy"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9.:_~-]")
_encode = msgspec.json.Encoder().encode


def connect(config: Config | str | os.PathLike[str], gate: WriteGate | None = None) -> "KubeClient":
    """A client for the cluster of this configuration, or of the kubeconfig file of this name."""
    return KubeClient(config if isinstance(config, Config) else read_kubeconfig(config), gate=gate)


class KubeClient:
    """Connects with the first request. Close it, or use it with `async with`."""

    def __init__(self, config: Config, chance: random.Random | None = None, gate: WriteGate | None = None) -> None:
        self.config = config
        self._pool = ConnectionPool(config, gate)
        self._chance = chance or random.Random()
        self._retrier = Retrier(self._pool, self._chance, config.attempts)
        self.metrics = self._retrier.metrics
        self._followers: set[Reflector] = set()
        self._errands = DeferredWrites()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        self._errands.cancel()
        await self._pool.close()

    def follow(
        self, resource: Resource, *, namespace: str = "", labels: str = "", fields: str = "", decoded: bool = False
    ) -> AsyncIterator[Change]:
        """Ends only with Refused: no such resource, or no permission."""
        return self._followed(Selection(resource, namespace, labels, fields, decoded))

    async def _followed(self, selection: Selection) -> AsyncIterator[Change]:
        follower = Reflector(self._pool, selection, self._chance, self.config.silence)
        self._followers.add(follower)
        try:
            async with contextlib.aclosing(follower.changes()) as changes:
                async for change in changes:
                    yield change
        finally:
            self._followers.discard(follower)

    def age(self) -> float:
        return max((follower.age for follower in tuple(self._followers)), default=0.0)

    async def get(self, ref: Ref) -> bytes:
        return await self.request("GET", _path(ref))

    async def create(self, ref: Ref, body: Mapping[str, Any], sub: str = "") -> bytes:
        """Creates an object at `ref`; with `sub`, such as `eviction`, posts to that subresource of an existing
        object."""
        return await self.request("POST", _path(ref, sub), body, repeatable=sub == "eviction" and _names_a_uid(body))

    async def patch(self, ref: Ref, patch: Any, *, sub: str = "", form: PatchForm = PatchForm.STRATEGIC) -> bytes:
        query = f"?fieldManager={FIELD_MANAGER}&force=true" if form is PatchForm.APPLY else ""
        return await self.request("PATCH", _path(ref, sub) + query, patch, form, _is_idempotent(patch, form))

    async def delete(self, ref: Ref, *, grace: int | None = None, uid: str = "", propagation: str = "") -> None:
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if uid:
            options["preconditions"] = {"uid": uid}
        if propagation:
            options["propagationPolicy"] = propagation
        await self.request("DELETE", _path(ref), options, repeatable=bool(uid))

    async def bind(self, namespace: str, bindings: Sequence[PodBinding]) -> None:
        """All or nothing if the server supports it; otherwise pod by pod, and the exception names the pods that were
        bound."""
        if self.config.gang_binding:
            path = f"/apis/understudy.dev/v1/namespaces/{namespace}/seatings"
            await self.request("POST", path, {"seatings": bindings})
        else:
            with self._errands.urgent():
                await bind_pods(self, namespace, bindings)

    async def post_binding(self, ref: Ref, body: Any) -> None:
        """Safe to repeat: a binding names its pod by uid, and a pod is bound only once."""
        await self.request("POST", _path(ref, "binding"), body, repeatable=True)

    async def release(self, namespace: str, releases: Sequence[PodEviction]) -> None:
        """In one request if the server supports it."""
        if self.config.gang_binding:
            path = f"/apis/understudy.dev/v1/namespaces/{namespace}/departures"
            await self.request("POST", path, {"departures": releases})
        else:
            with self._errands.urgent():
                await evict_pods(self, namespace, releases, self._errands.add)

    async def settled(self) -> None:
        """Returns when no deferred write is left."""
        await self._errands.settled()

    async def request(
        self, method: str, path: str, body: Any = None, content_type: str = JSON, repeatable: bool = False
    ) -> bytes:
        """The response body of any request. `path` may carry a query; `body` is encoded as JSON, bytes are sent as is.
        Reads, and `repeatable` writes, are retried if the response is lost or the server fails.
        """
        data = b"" if body is None else body if isinstance(body, bytes) else _encode(body)
        asked = Request(method, path, data, content_type, repeatable or method == "GET")
        return successful_body(await self._retrier.fetch(asked))

    async def socket(self, path: str, protocols: Sequence[str]) -> "WebSocket":
        """A WebSocket, with the first of these protocols that the server accepts. Imported on first use."""
        from understudy.client.websocket import open_websocket

        return await open_websocket(self._pool, path, protocols)

    async def stream(self, path: str) -> AsyncIterator[bytes]:
        """The response to a GET, piece by piece as it arrives, for example a log."""
        async with self._pool.stream(path) as (status, pieces):
            if status >= 300:
                raise error_from(status, b"".join([piece async for piece in pieces]))
            async for piece in pieces:
                yield piece


def _path(ref: Ref, sub: str = "") -> str:
    """Names may come from inside objects, such as the secret a pod mounts. None may lead to another path."""
    for name in (ref.namespace, ref.name):
        if name and (_NOT_IN_NAMES.search(name) or name in (".", "..")):
            raise Refused(HTTPStatus.BAD_REQUEST, "BadRequest", f"{name!r} cannot be the name of an object")
    return ref.path(sub)


def _names_a_uid(eviction: Mapping[str, Any]) -> bool:
    """Whether the eviction names a uid: then repeating it cannot evict another pod of the same name."""
    return bool(eviction.get("deleteOptions", {}).get("preconditions", {}).get("uid"))


def _is_idempotent(patch: Any, form: PatchForm) -> bool:
    """Whether the patch may be sent twice. A patch that names a resourceVersion would be refused the second time. One
    that names no uid could change another object of the same name."""
    metadata = patch.get("metadata") if isinstance(patch, Mapping) else None
    if not isinstance(metadata, Mapping) or form is PatchForm.JSON:
        return False
    return bool(metadata.get("uid")) and not metadata.get("resourceVersion")
