"""Content negotiation: an Accept header into the view of an object."""

import enum
from collections.abc import Collection
from functools import lru_cache
from http import HTTPStatus

from understudy.embedded.schema.errors import ApiError


class View(enum.Enum):
    """The views of an object. All are JSON; a client that asks for protobuf has to accept another type as well."""

    OBJECT = "object"
    TABLE = "Table"
    PARTIAL = "PartialObjectMetadata"  # of one object, or of each event of a watch
    PARTIAL_LIST = "PartialObjectMetadataList"
    DISCOVERY_V2 = "v2"
    DISCOVERY_V2BETA1 = "v2beta1"


RESOURCE_VIEWS = frozenset({View.OBJECT, View.TABLE, View.PARTIAL, View.PARTIAL_LIST})
DISCOVERY_VIEWS = frozenset({View.OBJECT, View.DISCOVERY_V2, View.DISCOVERY_V2BETA1})

_JSON = frozenset({"application/json", "application/*", "*/*"})
_MAX_LENGTH = 4096  # characters; real headers have a few hundred
_TRANSFORMED = {
    ("Table", "meta.k8s.io", "v1"): View.TABLE,
    ("PartialObjectMetadata", "meta.k8s.io", "v1"): View.PARTIAL,
    ("PartialObjectMetadataList", "meta.k8s.io", "v1"): View.PARTIAL_LIST,
    ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2"): View.DISCOVERY_V2,
    ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2beta1"): View.DISCOVERY_V2BETA1,
}


def negotiated(accept: str, offered: Collection[View]) -> View:
    """The most wanted view that is offered; ApiError 406 without one. A missing header means plain objects."""
    for view in wanted(accept):
        if view in offered:
            return view
    raise ApiError(
        HTTPStatus.NOT_ACCEPTABLE, "NotAcceptable", "only the following media types are accepted: application/json"
    )


@lru_cache(128)
def wanted(accept: str) -> tuple[View, ...]:
    """The views a client accepts, the best first; of equals, the first in the header."""
    if not accept.strip():
        return (View.OBJECT,)
    clauses = [_clause(text) for text in accept[:_MAX_LENGTH].split(",")]
    ranked = sorted(clauses, key=lambda clause: -clause[1])
    return tuple(dict.fromkeys(view for view, weight in ranked if view is not None and weight > 0))


def _clause(text: str) -> tuple[View | None, float]:
    """`application/json;as=Table;v=v1;g=meta.k8s.io;q=0.5`: the view it names and its weight."""
    media_type, *rest = (part.strip() for part in text.split(";"))
    parameters = {name.strip().lower(): value.strip() for name, _, value in (part.partition("=") for part in rest)}
    if media_type.lower() not in _JSON:
        return None, 0
    weight = _weight(parameters.get("q", "1"))
    if kind := parameters.get("as"):
        return _TRANSFORMED.get((kind, parameters.get("g", ""), parameters.get("v", ""))), weight
    return View.OBJECT, weight


def _weight(text: str) -> float:
    try:
        return min(float(text), 1.0)
    except ValueError:
        return 1.0
