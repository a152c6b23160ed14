"""Access reviews, token reviews and self subject reviews: a review into its answer."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from understudy.embedded.api.access_rules import Attributes, Decision, Rule
from understudy.embedded.schema.errors import ApiError, Cause, bad_request, invalid
from understudy.objects.resources import Resource

_AUTHENTICATED = "system:authenticated"


class Subject(Protocol):
    """A user with a valid token, or one that a review names."""

    @property
    def name(self) -> str: ...

    @property
    def groups(self) -> tuple[str, ...]: ...

    @property
    def uid(self) -> str: ...

    @property
    def extra(self) -> Mapping[str, Sequence[str]]: ...


class Authority(Protocol):
    """The server's knowledge of tokens, users and rights."""

    def asking(self, attributes: Attributes) -> Decision:
        """About the user who asks."""
        ...

    def about(self, name: str, groups: Sequence[str], attributes: Attributes) -> Decision:
        """About a user by name."""
        ...

    def rules(self, namespace: str) -> Sequence[Rule]:
        """Of the user who asks."""
        ...

    def owner_of(self, token: str, audiences: Collection[str]) -> tuple[Subject | None, Sequence[str]]:
        """The user of the token, and those of the audiences it is for. No audiences: those of the API."""
        ...


class _Part(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    pass


class ResourceAttributes(_Part, frozen=True):
    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""


class NonResourceAttributes(_Part, frozen=True):
    path: str = ""
    verb: str = ""


class Spec(_Part, frozen=True):
    """The spec fields of all reviews."""

    resource_attributes: ResourceAttributes | None = None
    non_resource_attributes: NonResourceAttributes | None = None
    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    namespace: str = ""
    token: str = ""
    audiences: tuple[str, ...] = ()


class Review(_Part, frozen=True):
    spec: Spec = Spec()


class Asked(msgspec.Struct, frozen=True):
    resource: Resource  # one of REVIEWS
    namespace: str  # of the path
    body: bytes
    user: Subject


ReviewStatus = dict[str, Any]


def answer(asked: Asked, authority: Authority) -> dict[str, Any]:
    """The review with its status."""
    resource = asked.resource
    spec = _read(resource, asked.body).spec
    status = _ANSWERS[resource.kind](asked, spec, authority)
    given = {} if resource.kind == "SelfSubjectReview" else {"spec": spec}
    about = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": {}}
    return {**about, **given, "status": status}


def _read(resource: Resource, body: bytes) -> Review:
    try:
        return msgspec.json.decode(body or b"{}", type=Review)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise bad_request(f"the {resource.kind} cannot be read: {error}") from None


def _own_access(_: Asked, spec: Spec, authority: Authority) -> ReviewStatus:
    return _decided(authority.asking(_attributes("SelfSubjectAccessReview", spec)))


def _access(asked: Asked, spec: Spec, authority: Authority) -> ReviewStatus:
    kind = asked.resource.kind
    attributes = _attributes(kind, spec)
    if not spec.user and not spec.groups:
        raise _invalid(kind, "spec.user", "at least one of user or group must be specified")
    if asked.resource.namespaced and attributes.namespace not in ("", asked.namespace):
        problem = f"must be {asked.namespace}, the namespace of the review"
        raise _invalid(kind, "spec.resourceAttributes.namespace", problem)
    if asked.resource.namespaced:
        attributes = msgspec.structs.replace(attributes, namespace=asked.namespace)
    return _decided(authority.about(spec.user, spec.groups, attributes))


def _decided(decision: Decision) -> ReviewStatus:
    return {"allowed": decision.allowed} | ({"reason": decision.reason} if decision.reason else {})


def _rules(_: Asked, spec: Spec, authority: Authority) -> ReviewStatus:
    rules = authority.rules(spec.namespace)
    return {
        "resourceRules": [rule.document() for rule in rules if not rule.paths],
        "nonResourceRules": [rule.document() for rule in rules if rule.paths],
        "incomplete": False,
    }


def _self_subject(asked: Asked, _: Spec, __: Authority) -> ReviewStatus:
    return {"userInfo": _user_info(asked.user)}


def _token(_: Asked, spec: Spec, authority: Authority) -> ReviewStatus:
    subject, audiences = authority.owner_of(spec.token, spec.audiences)
    if subject is None:
        return {"authenticated": False, "user": {}, "error": "the token is not valid here"}
    return {"authenticated": True, "user": _user_info(subject), "audiences": list(audiences)}


def _user_info(subject: Subject) -> ReviewStatus:
    info: ReviewStatus = {"username": subject.name, "groups": list(dict.fromkeys([*subject.groups, _AUTHENTICATED]))}
    if subject.uid:
        info["uid"] = subject.uid
    if subject.extra:
        info["extra"] = {key: list(values) for key, values in subject.extra.items()}
    return info


def _attributes(kind: str, spec: Spec) -> Attributes:
    _check_attributes(kind, spec)
    if plain := spec.non_resource_attributes:
        return Attributes(plain.verb, path=plain.path or "/")
    asked = spec.resource_attributes or ResourceAttributes()
    return Attributes(asked.verb, asked.namespace, asked.group, asked.resource, asked.subresource, asked.name)


def _check_attributes(kind: str, spec: Spec) -> None:
    if (spec.resource_attributes is None) == (spec.non_resource_attributes is None):
        problem = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise _invalid(kind, "spec.resourceAttributes", problem)


def _invalid(kind: str, field: str, problem: str) -> ApiError:
    return invalid(kind, "authorization.k8s.io", "", [Cause("FieldValueInvalid", f"Invalid value: {problem}", field)])


_ANSWERS: Mapping[str, Callable[[Asked, Spec, Authority], ReviewStatus]] = {
    "SelfSubjectAccessReview": _own_access,
    "SelfSubjectRulesReview": _rules,
    "SubjectAccessReview": _access,
    "LocalSubjectAccessReview": _access,
    "SelfSubjectReview": _self_subject,
    "TokenReview": _token,
}

REVIEWS = (
    Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False),
    Resource("authentication.k8s.io", "v1beta1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False),
    Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False),
    Resource("authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview"),
    Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False),
    Resource("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview", namespaced=False),
    Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False),
)
