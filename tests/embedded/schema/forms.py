"""Objects through the forms of their kinds, as the server puts them through."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from understudy.embedded.api.builtin_resources import BUILTIN
from understudy.embedded.schema.errors import ApiError
from understudy.embedded.schema.served_resource import Draft, Form, Lookup, Strictness
from understudy.embedded.schema.types.scheduling import PriorityClass
from understudy.objects.resources import Resource

FORMS: dict[str, Form] = {served.resource.kind: served.form for served in BUILTIN}
UID = "0b1a6f7e-1111-4222-8333-944445555666"


def no_object(_: Resource, __: str, ___: str) -> Draft | None:
    return None


def classes(**values: int) -> Lookup:
    """A cluster with these priority classes; the one called `default` is what pods get that name none."""
    made = {}
    for name, value in values.items():
        made[name] = PriorityClass(value=value)
        made[name].metadata.name = name

    def lookup(resource: Resource, _: str, name: str) -> Draft | None:
        return made.get(name or "default") if resource.kind == "PriorityClass" else None

    return lookup


def created(form: Form | str, document: Mapping[str, Any], lookup: Lookup = no_object) -> dict[str, Any]:
    """The object as it would be stored."""
    return draft_of(form, document, lookup).document()


def draft_of(form: Form | str, document: Mapping[str, Any], lookup: Lookup = no_object) -> Draft:
    chosen = FORMS[form] if isinstance(form, str) else form
    draft = chosen.read(json.dumps(document).encode(), Strictness.STRICT).draft
    draft.metadata.name = draft.metadata.name or "made"
    draft.metadata.uid = UID
    draft.metadata.creation_timestamp = "2024-05-01T10:00:00Z"
    chosen.admit_create(draft, lookup)
    return draft


def updated(form: Form | str, old: Draft, document: Mapping[str, Any], sub: str = "") -> dict[str, Any]:
    chosen = FORMS[form] if isinstance(form, str) else form
    draft = chosen.convert(document, Strictness.STRICT).draft
    chosen.admit_update(draft, old, sub, no_object)
    return draft.document()


def changed(old: Draft, *path: str | int, to: Any) -> dict[str, Any]:
    """The document of an object with one value replaced; None takes it away."""
    document = old.document()
    place: Any = document
    for step in path[:-1]:
        place = place[step] if isinstance(step, int) else place.setdefault(step, {})
    if to is None:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return document


class Refusal:
    """`with Refusal() as refusal: ...`, then what was said."""

    error: ApiError

    def __enter__(self) -> "Refusal":
        self._raises = pytest.raises(ApiError)
        self._info = self._raises.__enter__()
        return self

    def __exit__(self, *caught: Any) -> bool:
        swallowed = self._raises.__exit__(*caught)
        self.error = self._info.value
        return bool(swallowed)

    @property
    def code(self) -> int:
        return self.error.code

    @property
    def message(self) -> str:
        return self.error.message

    @property
    def causes(self) -> list[str]:
        details = self.error.details
        return [f"{cause.field}: {cause.message}" for cause in details.causes] if details else []


def refusal_of(form: Form | str, document: Mapping[str, Any], lookup: Lookup = no_object) -> Refusal:
    with Refusal() as refusal:
        created(form, document, lookup)
    return refusal


def pod(**spec: Any) -> dict[str, Any]:
    """The smallest pod, with this in its spec."""
    return {"metadata": {"name": "trainer"}, "spec": {"containers": [container()], **spec}}


def container(**given: Any) -> dict[str, Any]:
    return {"name": "main", "image": "python:3.11", **given}


def job(template: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """The smallest job. `template` is what the pod spec says besides."""
    inner = {"restartPolicy": "Never", "containers": [container()], **(template or {})}
    return {"metadata": {"name": "train"}, "spec": {"template": {"spec": inner}, **spec}}
