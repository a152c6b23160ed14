"""Access reviews and token reviews."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest

from understudy.embedded.api import reviews
from understudy.embedded.api.access_rules import Attributes, Decision, Rule
from understudy.embedded.api.reviews import REVIEWS, Asked
from understudy.embedded.schema.errors import ApiError

BY_KIND = {resource.kind: resource for resource in reversed(REVIEWS)}


class Person(NamedTuple):
    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = {}


ADMIN = Person("admin", ("system:masters",))


class OneAdmin:
    """A server with one user, who may do everything and has the token `secret`."""

    def asking(self, attributes: Attributes) -> Decision:
        return Decision(True, attributes.verb)

    def about(self, name: str, groups: Sequence[str], attributes: Attributes) -> Decision:
        return Decision(name == ADMIN.name or "system:masters" in groups, attributes.verb)

    def rules(self, namespace: str) -> Sequence[Rule]:
        every = frozenset("*")
        return [Rule(every, every, every, frozenset([namespace])), Rule(every, paths=every)]

    def owner_of(self, token: str, audiences: Collection[str]) -> tuple[Person | None, Sequence[str]]:
        return (ADMIN, [*audiences]) if token == "secret" else (None, ())


def ask(kind: str, spec: Any = None, body: bytes = b"") -> Any:
    asked = Asked(BY_KIND[kind], "", body or msgspec.json.encode({"spec": spec or {}}), ADMIN)
    document = reviews.answer(asked, OneAdmin())
    assert document["kind"] == kind
    return msgspec.json.decode(msgspec.json.encode(document))


def refusal(kind: str, spec: Any = None, body: bytes = b"") -> ApiError:
    with pytest.raises(ApiError) as refused:
        ask(kind, spec, body)
    return refused.value


@pytest.mark.parametrize(
    "spec",
    [
        {"resourceAttributes": {"verb": "delete", "resource": "nodes"}},
        {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}},
    ],
)
def test_the_administrator_may_do_everything(spec: dict[str, Any]) -> None:
    answer = ask("SelfSubjectAccessReview", spec)
    assert answer["apiVersion"] == "authorization.k8s.io/v1"
    assert answer["spec"] == spec
    assert answer["status"]["allowed"] is True


@pytest.mark.parametrize("kind", ["SubjectAccessReview", "LocalSubjectAccessReview"])
@pytest.mark.parametrize(
    ("who", "allowed"),
    [
        ({"user": "admin"}, True),
        ({"groups": ["system:masters"]}, True),
        ({"user": "mallory", "groups": ["guests"]}, False),
    ],
)
def test_other_users_have_no_rights(kind: str, who: dict[str, Any], allowed: bool) -> None:
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods"}, **who}
    assert ask(kind, spec)["status"]["allowed"] is allowed


def test_a_local_review_is_about_its_own_namespace() -> None:
    spec = {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "other"}, "user": "admin"}
    assert refusal("LocalSubjectAccessReview", spec).code == 422


def test_users_are_told_with_uid_and_extras() -> None:
    robot = Person("robot", (), "u-1", {"pod": ("p",)})
    document = reviews.answer(Asked(BY_KIND["SelfSubjectReview"], "", b"", robot), OneAdmin())
    told = document["status"]["userInfo"]
    assert told == {"username": "robot", "groups": ["system:authenticated"], "uid": "u-1", "extra": {"pod": ["p"]}}


def test_all_rules_at_once() -> None:
    answer = ask("SelfSubjectRulesReview", {"namespace": "team"})
    assert answer["spec"] == {"namespace": "team"}
    assert answer["status"] == {
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "resourceNames": ["team"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


def test_who_am_i() -> None:
    answer = ask("SelfSubjectReview", body=b"{}")
    assert "spec" not in answer
    assert answer["status"] == {"userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"]}}


def test_who_am_i_is_answered_in_the_version_asked() -> None:
    versions = [one for one in REVIEWS if one.kind == "SelfSubjectReview"]
    answers = [reviews.answer(Asked(one, "", b"", ADMIN), OneAdmin())["apiVersion"] for one in versions]
    assert answers == ["authentication.k8s.io/v1", "authentication.k8s.io/v1beta1"]


def test_whose_token_is_this() -> None:
    known = ask("TokenReview", {"token": "secret", "audiences": ["a"]})["status"]
    assert known["audiences"] == ["a"]
    assert (known["authenticated"], known["user"]["username"]) == (True, "admin")
    unknown = ask("TokenReview", {"token": "guess"})["status"]
    assert (unknown["authenticated"], unknown["user"]) == (False, {})


@pytest.mark.parametrize(
    ("kind", "spec", "complaint"),
    [
        ("SelfSubjectAccessReview", {}, "exactly one of nonResourceAttributes or resourceAttributes"),
        (
            "SelfSubjectAccessReview",
            {"resourceAttributes": {}, "nonResourceAttributes": {}},
            "exactly one of nonResourceAttributes or resourceAttributes",
        ),
        ("SubjectAccessReview", {"resourceAttributes": {}}, "at least one of user or group"),
    ],
)
def test_a_question_that_is_none_is_refused(kind: str, spec: dict[str, Any], complaint: str) -> None:
    refused = refusal(kind, spec)
    assert refused.code == 422
    assert complaint in refused.message


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b'{"spec":{"resourceAttributes":{"verb":1}}}', b'{"spec":' * 5000, b'{"spec":"\xff"}']
)
def test_what_cannot_be_read_is_refused(body: bytes) -> None:
    assert refusal("SelfSubjectAccessReview", body=body).code == 400
