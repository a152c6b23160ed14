"""Tokens of service accounts: issued with Kubernetes' claims, and valid as long as the objects they are bound to
exist."""

import uuid
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

import msgspec

from understudy.embedded.server.authentication.authenticator import AUTHENTICATED, User
from understudy.embedded.server.authentication.signing_key import NotSigned, SigningKey
from understudy.embedded.store.records import Key, Record
from understudy.embedded.store.store import Store
from understudy.objects.resources import PODS, SECRETS, SERVICE_ACCOUNTS

ISSUER = "https://kubernetes.default.svc.cluster.local"
AUDIENCES = (ISSUER,)  # the audience of this API
PREFIX = "system:serviceaccount:"
ALL_ACCOUNTS = "system:serviceaccounts"
LEEWAY = 60.0  # seconds after its grace period in which the token of a deleted pod is still valid
_EXTRA = "authentication.kubernetes.io/"
_MOST_REMEMBERED = 10_000


class BoundObject(msgspec.Struct, frozen=True, gc=False):
    name: str
    uid: str


class KubernetesClaims(msgspec.Struct, frozen=True, gc=False):
    """The claim `kubernetes.io`: what the token is bound to."""

    namespace: str
    serviceaccount: BoundObject
    pod: BoundObject | None = None
    secret: BoundObject | None = None
    node: BoundObject | None = None


class Claims(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    aud: tuple[str, ...]
    exp: int
    iat: int
    iss: str
    jti: str
    nbf: int
    sub: str
    private: KubernetesClaims = msgspec.field(name="kubernetes.io")


class _Meta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    uid: str = ""
    deletion_timestamp: str = ""


class _Head(msgspec.Struct, frozen=True, gc=False):
    metadata: _Meta


class _VerifiedToken(msgspec.Struct):
    """A token with a valid signature. `bound` are the records it was bound to at the last check."""

    claims: Claims
    user: User
    bound: tuple[Record, ...] = ()


_head = msgspec.json.Decoder(_Head).decode
_claims = msgspec.json.Decoder(Claims).decode


def account_user(namespace: str, name: str) -> str:
    return f"{PREFIX}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, ...]:
    return (ALL_ACCOUNTS, f"{ALL_ACCOUNTS}:{namespace}", AUTHENTICATED)


class ServiceAccountTokens:
    def __init__(self, store: Store, key: SigningKey, now: Callable[[], float]) -> None:
        self._store = store
        self._key = key
        self._now = now
        self._known: dict[bytes, _VerifiedToken] = {}

    def issue(self, private: KubernetesClaims, audiences: Collection[str], seconds: int) -> tuple[str, int]:
        """The token, and when it expires."""
        now = int(self._now())
        claims = Claims(
            aud=tuple(audiences),
            exp=now + seconds,
            iat=now,
            iss=ISSUER,
            jti=str(uuid.uuid4()),
            nbf=now,
            sub=account_user(private.namespace, private.serviceaccount.name),
            private=private,
        )
        return self._key.sign(_document(claims)), claims.exp

    def user(self, token: bytes) -> User | None:
        """The user of a token for this API; None where the token is not valid."""
        return self.reviewed(token, AUDIENCES)[0]

    def reviewed(self, token: bytes, audiences: Collection[str]) -> tuple[User | None, tuple[str, ...]]:
        """The user of the token, and those of the audiences that it is for."""
        known = self._known.get(token) or self._verified(token)
        if known is None:
            return None, ()
        shared = tuple(one for one in audiences if one in known.claims.aud)
        now = self._now()
        if not shared or not known.claims.nbf <= now + LEEWAY or now >= known.claims.exp:
            return None, ()
        if not self._is_bound(known, now):
            self._known.pop(token, None)
            return None, ()
        return known.user, shared

    def _verified(self, token: bytes) -> _VerifiedToken | None:
        if token.count(b".") != 2:
            return None
        try:
            claims = _claims(self._key.verify(token))
        except (NotSigned, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if claims.iss != ISSUER:
            return None
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        known = self._known[token] = _VerifiedToken(claims, _user(claims))
        return known

    def _is_bound(self, known: _VerifiedToken, now: float) -> bool:
        """A changed object has a new record, so a record that was checked before need not be read again."""
        records = []
        for key, uid in _bound_objects(known.claims.private):
            record = self._store.newest(key)
            if record is None:
                return False
            if not any(record is one for one in known.bound) and not _is_alive(record, uid, now):
                return False
            records.append(record)
        known.bound = tuple(record for record in records if b'"deletionTimestamp"' not in record.body)
        return True


def _bound_objects(private: KubernetesClaims) -> list[tuple[Key, str]]:
    """The objects that have to exist, with their uids."""
    found = [(SERVICE_ACCOUNTS, private.serviceaccount), (PODS, private.pod), (SECRETS, private.secret)]
    return [(Key(resource.key, private.namespace, bond.name), bond.uid) for resource, bond in found if bond is not None]


def _is_alive(record: Record, uid: str, now: float) -> bool:
    meta = _head(record.body).metadata
    if meta.uid != uid:
        return False
    return not meta.deletion_timestamp or now <= _seconds(meta.deletion_timestamp) + LEEWAY


def _seconds(moment: str) -> float:
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return 0.0


def _user(claims: Claims) -> User:
    private = claims.private
    extra = {f"{_EXTRA}credential-id": (f"JTI={claims.jti}",)}
    for kind, named in (("pod", private.pod), ("node", private.node)):
        if named is not None:
            extra |= {f"{_EXTRA}{kind}-name": (named.name,), f"{_EXTRA}{kind}-uid": (named.uid,)}
    return User(
        name=account_user(private.namespace, private.serviceaccount.name),
        groups=account_groups(private.namespace),
        uid=private.serviceaccount.uid,
        extra=extra,
        pod=f"{private.namespace}/{private.pod.name}" if private.pod is not None else "",
    )


def _document(claims: Claims) -> Mapping[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(claims)
    plain["kubernetes.io"] = {key: value for key, value in plain["kubernetes.io"].items() if value is not None}
    return plain
