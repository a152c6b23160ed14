"""Errors of the API, each of which becomes a Kubernetes Status."""

from collections.abc import Sequence
from http import HTTPStatus

import msgspec


class Cause(msgspec.Struct, frozen=True, omit_defaults=True):
    """One wrong field. `reason` is a Kubernetes constant: FieldValueRequired, FieldValueInvalid, ..."""

    reason: str
    message: str
    field: str = ""


class Details(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    name: str = ""
    group: str = ""
    kind: str = ""  # the plural of the resource, or the kind where fields are wrong
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class ApiError(Exception):
    """Becomes the response to the request. The request has changed nothing."""

    def __init__(self, code: int, reason: str, message: str, details: Details | None = None) -> None:
        super().__init__(message)
        self.code = int(code)
        self.reason = reason
        self.message = message
        self.details = details


def bad_request(message: str) -> ApiError:
    return ApiError(HTTPStatus.BAD_REQUEST, "BadRequest", message)


def forbidden(plural: str, group: str, name: str, why: str) -> ApiError:
    where = f"{plural}.{group}" if group else plural
    return ApiError(
        HTTPStatus.FORBIDDEN, "Forbidden", f'{where} "{name}" is forbidden: {why}', Details(name, group, plural)
    )


def not_found(plural: str, group: str, name: str) -> ApiError:
    where = f"{plural}.{group}" if group else plural
    return ApiError(HTTPStatus.NOT_FOUND, "NotFound", f'{where} "{name}" not found', Details(name, group, plural))


def no_such_path() -> ApiError:
    return ApiError(HTTPStatus.NOT_FOUND, "NotFound", "the server could not find the requested resource")


def already_exists(plural: str, group: str, name: str) -> ApiError:
    where = f"{plural}.{group}" if group else plural
    return ApiError(
        HTTPStatus.CONFLICT, "AlreadyExists", f'{where} "{name}" already exists', Details(name, group, plural)
    )


def conflict(plural: str, group: str, name: str, why: str) -> ApiError:
    where = f"{plural}.{group}" if group else plural
    message = f'Operation cannot be fulfilled on {where} "{name}": {why}'
    return ApiError(HTTPStatus.CONFLICT, "Conflict", message, Details(name, group, plural))


def gone(message: str) -> ApiError:
    return ApiError(HTTPStatus.GONE, "Expired", message)


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> ApiError:
    where = f"{kind}.{group}" if group else kind
    said = [f"{cause.field}: {cause.message}" for cause in causes]
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    message = f'{where} "{name}" is invalid: {text}'
    return ApiError(
        HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, Details(name, group, kind, causes=tuple(causes))
    )
