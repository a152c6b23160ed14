"""Service account tokens: requests them, writes them into a pod's folder, and replaces them before they expire."""

import asyncio
import base64
import binascii
import contextlib
import heapq
import itertools
import logging
import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from understudy.embedded.agent.api.pod_types import Pod, ProjectedVolume, TokenProjection
from understudy.embedded.shim.pod_folders import PodFolder
from understudy.objects.resources import SERVICE_ACCOUNTS
from understudy.ports import Cluster, Ref, Refused, Unreachable

RENEWAL_FRACTION = 0.8  # a token is replaced after this part of its lifetime,
LONGEST_USE_SECONDS = 24 * 3600.0  # and at this age at the latest
NEVER = float("inf")
TOKEN_MODE = 0o600
_PAUSE = 10.0  # seconds until a failed renewal is tried again
_LOOK = 60.0  # seconds after which the clock is read in any case: the machine may have been suspended
_AT_ONCE = 8
log = logging.getLogger(__name__)


class IssuedToken(msgspec.Struct, frozen=True, gc=False):
    token: str
    begins_at: float = 0.0
    expires_at: float = NEVER

    @property
    def renew_at(self) -> float:
        if self.expires_at == NEVER:
            return NEVER
        return self.begins_at + min((self.expires_at - self.begins_at) * RENEWAL_FRACTION, LONGEST_USE_SECONDS)


class TokenSource(Protocol):
    @property
    def binds(self) -> bool:
        """Whether each pod has tokens of its own, which may be reused until they expire."""
        ...

    async def issue(self, pod: Pod, wanted: TokenProjection) -> IssuedToken:
        """Raises Refused and Unreachable."""
        ...


class SharedToken:
    """One token for all pods: of clusters that are started with `--pod-access admin`."""

    binds = False

    def __init__(self, token: str) -> None:
        self._token = token

    async def issue(self, _pod: Pod, _wanted: TokenProjection) -> IssuedToken:
        return IssuedToken(self._token)


class _TokenStatus(msgspec.Struct, rename="camel"):
    token: str
    expiration_timestamp: datetime


class _TokenResponse(msgspec.Struct):
    status: _TokenStatus


class RequestedTokens:
    """A token for each pod, bound to it: valid as long as the pod and its service account exist."""

    binds = True

    def __init__(self, cluster: Cluster, now: Callable[[], float]) -> None:
        self._cluster = cluster
        self._now = now

    async def issue(self, pod: Pod, wanted: TokenProjection) -> IssuedToken:
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
        status = msgspec.json.decode(await self._cluster.create(account, body, sub="token"), type=_TokenResponse).status
        return IssuedToken(status.token, now, status.expiration_timestamp.timestamp())


class TokenFile(msgspec.Struct, frozen=True, eq=False):
    """A file with a token of a pod."""

    pod: Pod
    wanted: TokenProjection
    path: Path


class TokenManager:
    """All tokens of pods on this machine. `run` replaces them before they expire."""

    def __init__(self, source: TokenSource, now: Callable[[], float]) -> None:
        self.source = source
        self._now = now
        self._held: dict[str, dict[Path, TokenFile]] = {}  # by the uid of the pod
        self._due: list[tuple[float, int, TokenFile]] = []
        self._order = itertools.count()
        self._news = asyncio.Event()

    async def obtain(self, pod: Pod, wanted: TokenProjection, path: Path) -> str:
        """A token for a file that the caller writes. A valid token of this pod in the file is reused."""
        found = _read(path, pod.metadata.uid) if self.source.binds else None
        issued = found if found is not None and self._now() < found.renew_at else await self.source.issue(pod, wanted)
        self._hold_token(TokenFile(pod, wanted, path), issued.renew_at)
        return issued.token

    def adopt(self, pod: Pod, wanted: TokenProjection, path: Path) -> None:
        """Takes over a file of an earlier agent; an expired token is replaced at once."""
        if path.exists():
            found = _read(path, pod.metadata.uid) if self.source.binds else None
            self._hold_token(TokenFile(pod, wanted, path), found.renew_at if found is not None else 0.0)

    def forget(self, uid: str) -> None:
        """The pod has ended, or another pod has taken over its folder."""
        self._held.pop(uid, None)

    async def run(self) -> None:
        """For ever."""
        while True:
            self._news.clear()
            due = []
            while self._due and self._due[0][0] <= self._now():
                due.append(heapq.heappop(self._due)[2])
            gate = asyncio.Semaphore(_AT_ONCE)
            await asyncio.gather(*(self._renew(file, gate) for file in due if self._is_held(file)))
            pause = min(max(self._due[0][0] - self._now(), 0.0), _LOOK) if self._due else None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), pause)

    def _hold_token(self, file: TokenFile, renew_at: float) -> None:
        self._held.setdefault(file.pod.metadata.uid, {})[file.path] = file
        if renew_at < NEVER:
            heapq.heappush(self._due, (renew_at, next(self._order), file))
            self._news.set()

    def _is_held(self, file: TokenFile) -> bool:
        return self._held.get(file.pod.metadata.uid, {}).get(file.path) is file

    async def _renew(self, file: TokenFile, gate: asyncio.Semaphore) -> None:
        async with gate:
            try:
                issued = await self.source.issue(file.pod, file.wanted)
                if not self._is_held(file):
                    return
                replace_file(file.path, issued.token.encode(), TOKEN_MODE)
                renew_at = issued.renew_at
            except (Refused, Unreachable, OSError) as problem:
                log.info("pod %s: its token is not renewed: %s", file.pod.title, problem)
                renew_at = self._now() + _PAUSE
        if self._is_held(file):
            self._hold_token(file, renew_at)


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Replaces the file atomically: readers see the old content or the new."""
    aside = path.with_name(f".{path.name}.new")
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode), "wb") as stream:
        os.fchmod(stream.fileno(), mode)
        stream.write(content)
    os.replace(aside, path)


class _BoundPod(msgspec.Struct):
    uid: str = ""


class _PrivateClaims(msgspec.Struct):
    pod: _BoundPod = msgspec.field(default_factory=_BoundPod)


class _Claims(msgspec.Struct):
    iat: float
    exp: float
    private: _PrivateClaims = msgspec.field(name="kubernetes.io")


def _read(path: Path, uid: str) -> IssuedToken | None:
    """None where the file holds no token of this pod. The signature is not checked."""
    try:
        token = path.read_text()
        payload = token.split(".")[1]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), type=_Claims)
    except (OSError, ValueError, IndexError, binascii.Error):
        return None
    return IssuedToken(token, claims.iat, claims.exp) if claims.private.pod.uid == uid else None


TOKEN_SECONDS = 3607  # the lifetime that Kubernetes gives to tokens that it mounts by itself
SERVICE_ACCOUNT_TOKEN = TokenProjection("token", expiration_seconds=TOKEN_SECONDS)
_READABLE = 0o644


def wants_service_account(pod: Pod) -> bool:
    return pod.spec.automount_service_account_token


def token_paths(pod: Pod, folder: PodFolder) -> Iterator[tuple[TokenProjection, Path]]:
    """All tokens of a pod, with the paths of their files."""
    if wants_service_account(pod):
        yield SERVICE_ACCOUNT_TOKEN, folder.account / SERVICE_ACCOUNT_TOKEN.path
    for volume in pod.spec.volumes:
        for file in token_projections(volume.projected):
            yield file, folder.volumes / volume.name / file.path


def token_projections(projected: ProjectedVolume | None) -> Iterator[TokenProjection]:
    for projection in projected.sources if projected else ():
        if projection.service_account_token:
            yield projection.service_account_token


def adopt_tokens(token_manager: TokenManager, pod: Pod, folder: PodFolder, authority: bytes) -> None:
    """Takes over the tokens of an earlier agent, and replaces the authority's certificate if it has changed."""
    for wanted, path in token_paths(pod, folder):
        token_manager.adopt(pod, wanted, path)
    certificate = folder.account / "ca.crt"
    if certificate.exists() and certificate.read_bytes() != authority:
        replace_file(certificate, authority, _READABLE)


async def write_service_account(token_manager: TokenManager, pod: Pod, folder: PodFolder, authority: bytes) -> None:
    """Raises OSError, Refused and Unreachable."""
    place = folder.account
    place.mkdir(mode=0o755, parents=True, exist_ok=True)
    token = await token_manager.obtain(pod, SERVICE_ACCOUNT_TOKEN, place / SERVICE_ACCOUNT_TOKEN.path)
    replace_file(place / SERVICE_ACCOUNT_TOKEN.path, token.encode(), 0o600)
    replace_file(place / "ca.crt", authority, _READABLE)
    replace_file(place / "namespace", pod.metadata.namespace.encode(), _READABLE)
