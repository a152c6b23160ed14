"""What the API says no with: a Kubernetes Status, made from what is wrong."""

from collections.abc import Sequence

import msgspec


class Cause(msgspec.Struct, frozen=True, omit_defaults=True):
    """One field that is wrong. `reason` is Kubernetes' word: FieldValueRequired, FieldValueInvalid, ..."""

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
    """Becomes the answer to the request that caused it; nothing was changed."""

    def __init__(self, code: int, reason: str, message: str, details: Details | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def forbidden(plural: str, group: str, name: str, why: str) -> ApiError:
    where = f"{plural}.{group}" if group else plural
    return ApiError(403, "Forbidden", f'{where} "{name}" is forbidden: {why}', Details(name, group, plural))


def not_found(plural: str, group: str, name: str) -> ApiError:
    where = f"{plural}.{group}" if group else plural
    return ApiError(404, "NotFound", f'{where} "{name}" not found', Details(name, group, plural))


def already_exists(plural: str, group: str, name: str) -> ApiError:
    where = f"{plural}.{group}" if group else plural
    return ApiError(409, "AlreadyExists", f'{where} "{name}" already exists', Details(name, group, plural))


def conflict(plural: str, group: str, name: str, why: str) -> ApiError:
    where = f"{plural}.{group}" if group else plural
    message = f'Operation cannot be fulfilled on {where} "{name}": {why}'
    return ApiError(409, "Conflict", message, Details(name, group, plural))


def gone(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> ApiError:
    where = f"{kind}.{group}" if group else kind
    said = [f"{cause.field}: {cause.message}" for cause in causes]
    text = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
    message = f'{where} "{name}" is invalid: {text}'
    return ApiError(422, "Invalid", message, Details(name, group, kind, causes=tuple(causes)))
