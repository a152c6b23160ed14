"""Questions about who one is and what one may do: turns a review into its answer.

An embedded cluster has one kind of user, its administrator, who may do everything.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from understudy.embedded.api.errors import ApiError, Cause, bad_request, invalid
from understudy.objects.resources import Resource

_AUTHENTICATED = "system:authenticated"
_ADMINISTRATORS = "system:masters"


class Subject(Protocol):
    """Whoever sent a valid token."""

    @property
    def name(self) -> str: ...

    @property
    def groups(self) -> tuple[str, ...]: ...


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
    """All that any of the reviews asks with."""

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
    spec: Spec
    asking: Subject
    subject_of: Callable[[str], Subject | None]  # by token


Status = dict[str, Any]


def answer(
    resource: Resource, body: bytes, asking: Subject, subject_of: Callable[[str], Subject | None]
) -> dict[str, Any]:
    """The review with its status. `resource` is one of REVIEWS; `subject_of` knows whose a token is."""
    spec = _read(resource, body).spec
    status = _ANSWERS[resource.kind](Asked(spec, asking, subject_of))
    asked = {} if resource.kind == "SelfSubjectReview" else {"spec": spec}
    about = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": {}}
    return {**about, **asked, "status": status}


def _read(resource: Resource, body: bytes) -> Review:
    try:
        return msgspec.json.decode(body or b"{}", type=Review)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise bad_request(f"the {resource.kind} cannot be read: {error}") from None


def _own_access(asked: Asked) -> Status:
    _check_attributes("SelfSubjectAccessReview", asked.spec)
    return {"allowed": True, "reason": "everything is allowed in an embedded cluster"}


def _access(asked: Asked) -> Status:
    spec = asked.spec
    _check_attributes("SubjectAccessReview", spec)
    if not spec.user and not spec.groups:
        raise _invalid("SubjectAccessReview", "spec.user", "at least one of user or group must be specified")
    if spec.user == asked.asking.name or _ADMINISTRATORS in spec.groups:
        return {"allowed": True, "reason": "everything is allowed in an embedded cluster"}
    return {"allowed": False, "reason": f"an embedded cluster has no user {spec.user!r} but its administrator"}


def _rules(_: Asked) -> Status:
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    return {
        "resourceRules": [everything],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


def _oneself(asked: Asked) -> Status:
    return {"userInfo": _user_info(asked.asking)}


def _token(asked: Asked) -> Status:
    subject = asked.subject_of(asked.spec.token)
    if subject is None:
        return {"authenticated": False, "user": {}, "error": "the token is not valid here"}
    return {"authenticated": True, "user": _user_info(subject)}


def _user_info(subject: Subject) -> Status:
    return {"username": subject.name, "groups": list(dict.fromkeys([*subject.groups, _AUTHENTICATED]))}


def _check_attributes(kind: str, spec: Spec) -> None:
    if (spec.resource_attributes is None) == (spec.non_resource_attributes is None):
        problem = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise _invalid(kind, "spec.resourceAttributes", problem)


def _invalid(kind: str, field: str, problem: str) -> ApiError:
    return invalid(kind, "authorization.k8s.io", "", [Cause("FieldValueInvalid", f"Invalid value: {problem}", field)])


_ANSWERS: Mapping[str, Callable[[Asked], Status]] = {
    "SelfSubjectAccessReview": _own_access,
    "SelfSubjectRulesReview": _rules,
    "SubjectAccessReview": _access,
    "LocalSubjectAccessReview": _access,
    "SelfSubjectReview": _oneself,
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
