"""Laws of server-side apply, for any sequence of managers."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from understudy.embedded.api.patches.field_sets import Shape, from_fields_v1, to_fields_v1
from understudy.embedded.api.patches.json_values import copied, same
from understudy.embedded.api.patches.managed_fields import Writer, owners_of
from understudy.embedded.api.patches.server_side_apply import FORCED, apply_configuration, track_update
from understudy.embedded.schema.errors import ApiError

KEYS: dict[str, tuple[str, ...]] = {"spec.items": ("name",), "spec.set": ()}
SHAPE = Shape(KEYS)
Document = dict[str, Any]

VALUES = st.integers(0, 2) | st.sampled_from([[], [1], {}])
ITEMS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abc")}, optional={"x": VALUES, "y": VALUES}),
    max_size=3,
    unique_by=lambda item: str(item["name"]),
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "x": VALUES,
        "y": st.fixed_dictionaries({}, optional={"x": VALUES, "y": VALUES}),
        "items": ITEMS,
        "set": st.lists(st.sampled_from("abc"), unique=True, max_size=3),
    },
)
CONFIGS = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({}, optional={"labels": st.dictionaries(st.sampled_from("ab"), st.just("v"))})},
    optional={"spec": SPECS},
)
DEEDS = st.tuples(st.sampled_from(["apply", "force", "update"]), st.sampled_from("mno"), CONFIGS)


def by(manager: str) -> Writer:
    return Writer(manager, "v1", "2026-01-01T00:00:00Z")


def unless_refused(live: Document, manager: str, config: Document, force: bool = False) -> Document | None:
    try:
        return apply_configuration(live, config, by(manager), KEYS, FORCED if force else ())
    except ApiError as refusal:
        if refusal.code != 409 or force:
            raise
        return None


def history(requests: list[tuple[str, str, Document]]) -> tuple[Document, dict[str, Document]]:
    """The object that comes of it, and the last configuration each manager applied without being refused."""
    live: Document = apply_configuration(None, {"metadata": {"name": "a"}, "spec": {"z": 1}}, by("first"), KEYS)
    configs: dict[str, Document] = {}
    for request, manager, config in requests:
        given_to_it, copies = live, (copied(live), copied(config))
        if request == "update":
            live = track_update(live, config, by(manager), KEYS)
        elif (result := unless_refused(live, manager, config, force=request == "force")) is not None:
            live = result
            configs[manager] = config
        assert (given_to_it, config) == copies
    return live, configs


@given(st.lists(DEEDS, max_size=6))
def test_what_a_manager_owns_is_there_and_is_what_it_applied(requests: list[tuple[str, str, Document]]) -> None:
    """So two managers own a field together only where they agree on its value."""
    live, configs = history(requests)
    fields = SHAPE.fields(live)
    for owner in owners_of(live):
        assert owner.paths <= fields.keys()
        if owner.operation == "Apply" and owner.manager in configs:
            wanted = SHAPE.fields(configs[owner.manager])
            assert all(same(fields[path], wanted[path]) for path in owner.paths)


@given(st.lists(DEEDS, max_size=6), CONFIGS)
def test_applying_twice_changes_nothing(requests: list[tuple[str, str, Document]], config: Document) -> None:
    live, _ = history(requests)
    once = apply_configuration(live, config, by("m"), KEYS, FORCED)
    assert apply_configuration(once, config, by("m"), KEYS) is once


@given(st.lists(DEEDS, max_size=6), CONFIGS)
def test_after_an_apply_everything_is_as_it_was_wanted(
    requests: list[tuple[str, str, Document]], config: Document
) -> None:
    live, _ = history(requests)
    result = apply_configuration(live, config, by("m"), KEYS, FORCED)
    fields = SHAPE.fields(result)
    assert all(path in fields and same(fields[path], value) for path, value in SHAPE.fields(config).items())


@given(st.lists(DEEDS, max_size=6), CONFIGS)
def test_a_manager_that_gives_up_leaves_no_trace(requests: list[tuple[str, str, Document]], config: Document) -> None:
    live, _ = history([request for request in requests if request[1] != "m"])
    fields = SHAPE.fields(live)
    applied = unless_refused(live, "m", config)
    if applied is None:
        return
    after = SHAPE.fields(apply_configuration(applied, {"metadata": {}}, by("m"), KEYS))
    assert all(path in after for owner in owners_of(live) for path in owner.paths)
    assert after.keys() <= fields.keys()


@given(st.lists(DEEDS, max_size=4))
def test_sets_of_fields_survive_being_written_down(requests: list[tuple[str, str, Document]]) -> None:
    live, _ = history(requests)
    for owner in owners_of(live):
        assert from_fields_v1(to_fields_v1(owner.paths)) == owner.paths
