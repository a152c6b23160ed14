"""Lists in pages. A continue token holds the revision of the first page and the last object given out.

All pages carry the revision of the first, so that a watch from there sends the changes made while the pages were read.
"""

import base64
import binascii
from bisect import bisect_right
from collections.abc import Sequence
from http import HTTPStatus

import msgspec

from understudy.embedded.schema.errors import ApiError, Cause, Details, bad_request
from understudy.embedded.store.records import Record


class ContinueMark(msgspec.Struct, frozen=True, array_like=True):
    revision: int
    namespace: str
    name: str  # of the last object on the page


class Page(msgspec.Struct, frozen=True):
    records: Sequence[Record]
    revision: int
    token: str = ""
    remaining: int | None = None


_decode = msgspec.json.Decoder(ContinueMark).decode
_encode = msgspec.json.Encoder().encode


def encode(mark: ContinueMark) -> str:
    return base64.urlsafe_b64encode(_encode(mark)).decode().rstrip("=")


def decode(token: str) -> ContinueMark:
    try:
        return _decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (ValueError, binascii.Error, msgspec.DecodeError):
        raise bad_request("continue key is not valid: use the one of the last page, unchanged") from None


def first_page(records: Sequence[Record], revision: int, limit: int, *, count: bool) -> Page:
    """The first `limit` records. `count`: whether to add how many remain, which is known only without selectors."""
    if not limit or len(records) <= limit:
        return Page(records, revision)
    last = records[limit - 1].key
    remaining = len(records) - limit if count else None
    return Page(records[:limit], revision, encode(ContinueMark(revision, last.namespace, last.name)), remaining)


def after_mark(records: Sequence[Record], mark: ContinueMark) -> Sequence[Record]:
    place = (mark.namespace, mark.name)
    return records[bisect_right(records, place, key=lambda record: (record.key.namespace, record.key.name)) :]


def check_revision(asked: str, match: str, revision: int) -> None:
    """Kubernetes' rules for the resourceVersion of a list. Only the current state is kept, so an older exact one is a
    410."""
    if match not in ("", "Exact", "NotOlderThan"):
        raise bad_request(f'resourceVersionMatch: Unsupported value: "{match}": use Exact or NotOlderThan')
    if match and not asked:
        raise bad_request("resourceVersionMatch: Forbidden: it is forbidden unless resourceVersion is provided")
    wanted = whole_number(asked)
    if wanted > revision:
        raise too_new(wanted, revision)
    if match == "Exact" and wanted != revision:
        raise ApiError(HTTPStatus.GONE, "Expired", f"The resourceVersion for the provided list is too old: {wanted}")


def whole_number(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise bad_request(f'resourceVersion: Invalid value: "{text}": use one that this API gave out')
    return int(text)


def too_new(wanted: int, revision: int) -> ApiError:
    details = Details(causes=(Cause("ResourceVersionTooLarge", "Too large resource version"),), retry_after_seconds=1)
    message = f"Timeout: Too large resource version: {wanted}, current: {revision}"
    return ApiError(HTTPStatus.GATEWAY_TIMEOUT, "Timeout", message, details)
