"""Tokens for pods: asked for at the API, as files of a pod's folder, and replaced before they expire."""

import asyncio
import base64
import binascii
import contextlib
import heapq
import itertools
import logging
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from understudy.embedded.agent.pods import Pod, TokenFile
from understudy.objects.resources import SERVICE_ACCOUNTS
from understudy.ports import Cluster, Ref, Refused, Unreachable

SPENT = 0.8  # the part of its time after which a token is replaced
LONGEST_USE = 24 * 3600.0  # and the age at which it is, however long it lasts
NEVER = float("inf")
TOKEN_MODE = 0o600
_PAUSE = 10.0  # seconds until a renewal that failed is tried again
_LOOK = 60.0  # seconds after which the clock is looked at in any case: a machine that slept has lost more time
_AT_ONCE = 8

log = logging.getLogger(__name__)


class Issued(msgspec.Struct, frozen=True, gc=False):
    token: str
    begins_at: float = 0.0
    expires_at: float = NEVER

    @property
    def renew_at(self) -> float:
        if self.expires_at == NEVER:
            return NEVER
        return self.begins_at + min((self.expires_at - self.begins_at) * SPENT, LONGEST_USE)


class TokenSource(Protocol):
    @property
    def binds(self) -> bool:
        """Whether each pod has tokens of its own, which can be used until they expire."""
        ...

    async def issue(self, pod: Pod, wanted: TokenFile) -> Issued:
        """Raises Refused and Unreachable."""
        ...


class SharedToken:
    """One for all pods, whatever they ask for: the way of clusters that are started with `--pod-access admin`."""

    binds = False

    def __init__(self, token: str) -> None:
        self._token = token

    async def issue(self, _pod: Pod, _wanted: TokenFile) -> Issued:
        return Issued(self._token)


class _Status(msgspec.Struct, rename="camel"):
    token: str
    expiration_timestamp: datetime


class _Answer(msgspec.Struct):
    status: _Status


class RequestedTokens:
    """One for each pod, bound to it: the API takes it for as long as the pod and its service account exist."""

    binds = True

    def __init__(self, cluster: Cluster, now: Callable[[], float]) -> None:
        self._cluster = cluster
        self._now = now

    async def issue(self, pod: Pod, wanted: TokenFile) -> Issued:
        meta = pod.metadata
        bound = {"apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid}
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {
                "audiences": [wanted.audience] if wanted.audience else [],
                "expirationSeconds": wanted.expiration_seconds,
                "boundObjectRef": bound,
            },
        }
        now = self._now()
        account = Ref(SERVICE_ACCOUNTS, meta.namespace, pod.spec.service_account_name)
        status = msgspec.json.decode(await self._cluster.create(account, body, sub="token"), type=_Answer).status
        return Issued(status.token, now, status.expiration_timestamp.timestamp())


class Holding(msgspec.Struct, frozen=True, eq=False):
    """A file with a token of a pod."""

    pod: Pod
    wanted: TokenFile
    path: Path


class Credentials:
    """All tokens of pods on this machine. `run` replaces them in time."""

    def __init__(self, source: TokenSource, now: Callable[[], float]) -> None:
        self.source = source
        self._now = now
        self._held: dict[str, dict[Path, Holding]] = {}  # by the uid of the pod
        self._due: list[tuple[float, int, Holding]] = []
        self._order = itertools.count()
        self._news = asyncio.Event()

    async def obtain(self, pod: Pod, wanted: TokenFile, path: Path) -> str:
        """For a file that the caller writes. What lies there is used again where it is this pod's and has time left."""
        found = _read(path, pod.metadata.uid) if self.source.binds else None
        issued = found if found is not None and self._now() < found.renew_at else await self.source.issue(pod, wanted)
        self._keep(Holding(pod, wanted, path), issued.renew_at)
        return issued.token

    def adopt(self, pod: Pod, wanted: TokenFile, path: Path) -> None:
        """A file that an agent before this one has written; one whose time has run out is replaced at once."""
        if path.exists():
            found = _read(path, pod.metadata.uid) if self.source.binds else None
            self._keep(Holding(pod, wanted, path), found.renew_at if found is not None else 0.0)

    def forget(self, uid: str) -> None:
        """Nothing of the pod runs any more, or another pod has its folder."""
        self._held.pop(uid, None)

    async def run(self) -> None:
        """For ever."""
        while True:
            self._news.clear()
            due = []
            while self._due and self._due[0][0] <= self._now():
                due.append(heapq.heappop(self._due)[2])
            gate = asyncio.Semaphore(_AT_ONCE)
            await asyncio.gather(*(self._renew(holding, gate) for holding in due if self._is_held(holding)))
            pause = min(max(self._due[0][0] - self._now(), 0.0), _LOOK) if self._due else None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), pause)

    def _keep(self, holding: Holding, renew_at: float) -> None:
        self._held.setdefault(holding.pod.metadata.uid, {})[holding.path] = holding
        if renew_at < NEVER:
            heapq.heappush(self._due, (renew_at, next(self._order), holding))
            self._news.set()

    def _is_held(self, holding: Holding) -> bool:
        return self._held.get(holding.pod.metadata.uid, {}).get(holding.path) is holding

    async def _renew(self, holding: Holding, gate: asyncio.Semaphore) -> None:
        async with gate:
            try:
                issued = await self.source.issue(holding.pod, holding.wanted)
                if not self._is_held(holding):
                    return
                replace_file(holding.path, issued.token.encode(), TOKEN_MODE)
                renew_at = issued.renew_at
            except (Refused, Unreachable, OSError) as problem:
                log.info("pod %s: its token is not renewed: %s", holding.pod.title, problem)
                renew_at = self._now() + _PAUSE
        if self._is_held(holding):
            self._keep(holding, renew_at)


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Whole: a container that reads it finds the old content or the new one."""
    aside = path.with_name(f".{path.name}.new")
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode), "wb") as stream:
        os.fchmod(stream.fileno(), mode)
        stream.write(content)
    os.replace(aside, path)


class _BoundPod(msgspec.Struct):
    uid: str = ""


class _Private(msgspec.Struct):
    pod: _BoundPod = msgspec.field(default_factory=_BoundPod)


class _Claims(msgspec.Struct):
    iat: float
    exp: float
    private: _Private = msgspec.field(name="kubernetes.io")


def _read(path: Path, uid: str) -> Issued | None:
    """None where there is no token of this pod. Whether it is a good one is for the API to say."""
    try:
        token = path.read_text()
        payload = token.split(".")[1]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), type=_Claims)
    except (OSError, ValueError, IndexError, binascii.Error):
        return None
    return Issued(token, claims.iat, claims.exp) if claims.private.pod.uid == uid else None
