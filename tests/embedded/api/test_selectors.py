"""Label and field selectors, matched against stored objects."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.embedded.api import selectors
from understudy.embedded.schema.errors import ApiError


def labelled(**labels: str) -> bytes:
    return msgspec.json.encode({"metadata": {"name": "a", "labels": labels}, "spec": {"labels": {"app": "decoy"}}})


@pytest.mark.parametrize(
    ("text", "matching", "other"),
    [
        ("app=web", {"app": "web"}, {"app": "db"}),
        ("app==web", {"app": "web"}, {}),
        ("app!=web", {"app": "db"}, {"app": "web"}),
        ("app!=web", {}, {"app": "web"}),
        ("app in (web, db)", {"app": "db"}, {"app": "cache"}),
        ("app in (web, db)", {"app": "web"}, {}),
        ("app notin (web,db)", {"app": "cache"}, {"app": "web"}),
        ("app notin (web,db)", {}, {"app": "db"}),
        ("app", {"app": ""}, {"tier": "a"}),
        ("!app", {"tier": "a"}, {"app": "web"}),
        ("! app", {}, {"app": "web"}),
        ("app=", {"app": ""}, {"app": "web"}),
        ("app in (,web)", {"app": ""}, {"app": "db"}),
        ("app=web,tier=a", {"app": "web", "tier": "a"}, {"app": "web"}),
        ("  app  =  web  ,  tier  in  ( a , b )  ", {"app": "web", "tier": "b"}, {"app": "web", "tier": "c"}),
        ("in in (in),notin notin (notin)", {"in": "in"}, {"in": "in", "notin": "notin"}),
        ("a.b/c_d-e=x", {"a.b/c_d-e": "x"}, {"c_d-e": "x"}),
        ("gpus>4", {"gpus": "8"}, {"gpus": "4"}),
        ("gpus<4", {"gpus": "1"}, {"gpus": "many"}),
    ],
)
def test_label_selectors(text: str, matching: dict[str, str], other: dict[str, str]) -> None:
    selection = selectors.labels(text)
    assert selection.matches(labelled(**matching))
    assert not selection.matches(labelled(**other))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (",", "found ',', expected: !, identifier"),
        ("app,", "found '', expected: identifier after ','"),
        ("app web", "found 'web', expected: in, notin, ="),
        ("app=web=db", "found '=', expected: ',' or 'end of string'"),
        ("app in", "found '', expected: '('"),
        ("app in (web", "found '', expected: ',' or ')'"),
        ("app in (web db)", "found 'db', expected: ',' or ')'"),
        ("app in ()", "values set can't be empty"),
        ("app=,,", "found ',', expected: identifier after ','"),
        ("=web", "found '=', expected: !, identifier"),
        ("!", "found '', expected: identifier"),
        ("-app=web", 'Invalid value: "-app"'),
        ("a/b/c=web", 'Invalid value: "a/b/c"'),
        ("A/b=web", 'Invalid value: "A/b"'),
        (f"{'a' * 64}=b", "at most 63 letters"),
        (f"a={'b' * 64}", "at most 63 letters"),
        ("app=wéb", 'Invalid value: "wéb"'),
        ("gpus>many", "whole number"),
        ("a" * 20_000, "20000 characters"),
    ],
)
def test_a_label_selector_that_makes_no_sense_is_refused_in_words(text: str, complaint: str) -> None:
    with pytest.raises(ApiError, match=re.escape(complaint)) as refusal:
        selectors.labels(text)
    assert refusal.value.code == 400


POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "team"},
    "spec": {"nodeName": "n1", "restartPolicy": "Never"},
    "status": {"phase": "Running", "podIP": "10.0.0.1"},
}
EVENT: dict[str, Any] = {
    "metadata": {"name": "e", "namespace": "team"},
    "involvedObject": {"kind": "Pod", "name": "p", "uid": "u"},
    "reason": "Preempted",
    "type": "Normal",
    "reportingComponent": "scheduler",
}


@pytest.mark.parametrize(
    ("resource", "text", "body", "expected"),
    [
        ("pods", "spec.nodeName=n1", POD, True),
        ("pods", "spec.nodeName==n1,status.phase!=Succeeded,status.phase!=Failed", POD, True),
        ("pods", "status.phase!=Running", POD, False),
        ("pods", "metadata.name=p,metadata.namespace=team", POD, True),
        ("pods", "spec.nodeName=", POD, False),
        ("pods", "status.nominatedNodeName=", POD, True),
        ("pods", "spec.hostNetwork=false", POD, True),
        ("pods", ",,status.podIP=10.0.0.1,", POD, True),
        ("events", "involvedObject.uid=u,involvedObject.name=p,involvedObject.kind=Pod", EVENT, True),
        ("events", "reason=Preempted,type=Normal", EVENT, True),
        ("events", "source=scheduler", EVENT, True),
        ("events", "source=kubelet", EVENT | {"source": {"component": "kubelet"}}, True),
        ("events", "involvedObject.fieldPath!=", EVENT, False),
        ("nodes", "spec.unschedulable=false", {"metadata": {"name": "n"}}, True),
        ("nodes", "spec.unschedulable=true", {"spec": {"unschedulable": True}}, True),
        ("jobs.batch", "status.successful=0", {}, True),
        ("jobs.batch", "status.successful=2", {"status": {"succeeded": 2}}, True),
        ("secrets", "type!=Opaque", {"type": "Opaque"}, False),
        ("namespaces", "status.phase=Active", {"status": {"phase": "Active"}}, True),
        ("trials.kubeflow.org", r"metadata.name=a\,b\=c\\", {"metadata": {"name": r"a,b=c" + "\\"}}, True),
    ],
)
def test_field_selectors(resource: str, text: str, body: dict[str, Any], expected: bool) -> None:
    assert selectors.fields(text, resource).matches(msgspec.json.encode(body)) is expected


@pytest.mark.parametrize(
    ("resource", "text", "complaint"),
    [
        ("pods", "spec.foo=1", "field label not supported: spec.foo"),
        ("configmaps", "status.phase=Running", "field label not supported: status.phase"),
        ("trials.kubeflow.org", "spec.nodeName=a", "field label not supported: spec.nodeName"),
        ("pods", "=a", "field label not supported: "),
        ("pods", "status.phase", "invalid selector: 'status.phase'; can't understand 'status.phase'"),
        ("pods", "metadata.name=" + "x" * 20_000, "20014 characters"),
    ],
)
def test_a_field_that_is_not_offered_is_refused(resource: str, text: str, complaint: str) -> None:
    with pytest.raises(ApiError, match=re.escape(complaint)) as refusal:
        selectors.fields(text, resource)
    assert refusal.value.code == 400


def test_both_selectors_of_a_request_must_agree() -> None:
    selection = selectors.selection("app=web", "status.phase=Running", "pods")
    running = POD | {"metadata": {"name": "p", "labels": {"app": "web"}}}
    assert selection.matches(msgspec.json.encode(running))
    assert not selection.matches(msgspec.json.encode(POD))
    assert not selection.matches(msgspec.json.encode(running | {"status": {"phase": "Failed"}}))


def test_a_custom_resource_offers_the_fields_its_definition_names() -> None:
    selection = selectors.selection("", "spec.color=red,spec.size!=0", "shirts.shop.io", (".spec.color", ".spec.size"))
    assert selection.matches(b'{"spec": {"color": "red", "size": 3}}')
    assert not selection.matches(b'{"spec": {"color": "red", "size": 0}}')
    assert not selection.matches(b'{"spec": "a text where an object is expected"}')


def test_nothing_asked_selects_everything_without_a_look() -> None:
    selection = selectors.selection("", "", "pods")
    assert selection.everything
    assert selection.matches(b"not even JSON")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("metadata.name=p", "p"),
        ("status.phase=Running,metadata.name==p", "p"),
        ("metadata.name!=p", None),
        ("status.phase=Running", None),
    ],
)
def test_a_selection_of_one_name_says_so(text: str, name: str | None) -> None:
    assert selectors.fields(text, "pods").name == name


def code_of(labels: str, fields: str) -> int:
    """200, or what the request is refused with."""
    try:
        selectors.selection(labels, fields, "pods").matches(labelled(a="b"))
    except ApiError as refusal:
        return refusal.code
    return 200


@given(st.text(alphabet="ab=!,()<> inot/.-\\\n", max_size=40))
def test_any_text_is_understood_or_refused(text: str) -> None:
    assert code_of(text, "") in (200, 400)
    assert code_of("", text) in (200, 400)
