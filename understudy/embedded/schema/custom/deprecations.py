"""Deprecated versions of a custom resource: the warning that every request through such a version is answered with."""

import re
from collections.abc import Iterator

from msgspec import UNSET

from understudy.embedded.schema import causes
from understudy.embedded.schema.causes import child
from understudy.embedded.schema.errors import Cause
from understudy.embedded.schema.types.apiextensions import CustomResourceDefinitionSpec, CustomResourceDefinitionVersion

_LONGEST = 256
_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


def version_order(name: str) -> tuple[int, int, int, str]:
    """Sorts by maturity: v1alpha1, v1beta1, v1, v2. Names of another form come before all of these."""
    match = _VERSION.fullmatch(name)
    if match is None:
        return (-1, 0, 0, name)
    major, stage, minor = match.groups()
    return (_STAGES[stage], int(major), int(minor or 0), name)


def deprecations(spec: CustomResourceDefinitionSpec) -> tuple[tuple[str, str], ...]:
    """The deprecated versions that are served, each with its warning."""
    return tuple(
        (version.name, version.deprecation_warning or _default_warning(spec, version.name))
        for version in spec.versions
        if version.served and version.deprecated is True
    )


def _default_warning(spec: CustomResourceDefinitionSpec, name: str) -> str:
    said = f"{spec.group}/{name} {spec.names.kind} is deprecated"
    others = [version.name for version in spec.versions if version.served and version.deprecated is not True]
    newer = [other for other in others if version_order(other) > version_order(name)]
    return f"{said}; use {spec.group}/{max(newer, key=version_order)} {spec.names.kind}" if newer else said


def check_deprecation(version: CustomResourceDefinitionVersion, where: str) -> Iterator[Cause]:
    warning = version.deprecation_warning
    if warning is UNSET:
        return
    field = child(where, "deprecationWarning")
    if version.deprecated is not True:
        yield causes.bad_value(field, warning, "can only be set for deprecated versions")
    if not warning:
        yield causes.bad_value(field, warning, "must not be an empty string")
    elif len(warning.encode()) > _LONGEST:
        yield causes.too_long(field, _LONGEST)
    elif not warning.isprintable():
        yield causes.bad_value(field, warning, "must only contain printable characters")
