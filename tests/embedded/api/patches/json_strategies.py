"""Hypothesis strategies for JSON."""

from typing import Any

from hypothesis import strategies as st

KEYS = st.sampled_from(["a", "b", "c/d", "~e", ""])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["x", "y", ""]) | st.sampled_from([0.5, 1.0])


def below(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(children, max_size=3) | st.dictionaries(KEYS, children, max_size=3)


JSON = st.recursive(SCALARS, below, max_leaves=12)
DOCUMENTS = st.dictionaries(KEYS, JSON, max_size=4)


def without_nulls(value: Any) -> Any:
    """As a stored object is: no field is null. Lists keep theirs."""
    match value:
        case dict():
            return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
        case list():
            return [without_nulls(inner) for inner in value]
        case _:
            return value


def nested(depth: int) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for _ in range(depth):
        document = {"a": document}
    return document
