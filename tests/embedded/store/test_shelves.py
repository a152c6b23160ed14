"""Lists are in order whatever the order of writing, and other namespaces and resources are kept apart."""

from hypothesis import given
from hypothesis import strategies as st

from tests.embedded.store.writing import key
from understudy.embedded.store.records import Event, EventType, Key, Record
from understudy.embedded.store.shelves import Shelves

KEYS = st.builds(
    Key,
    st.sampled_from(["pods", "nodes"]),
    st.sampled_from(["", "a", "a-b", "b"]),
    st.sampled_from(["x", "x-1", "x.1", "y", "z"]),
)


def apply(shelves: Shelves, key: Key, *, revision: int, dead: bool = False) -> None:
    before = shelves.get(key)
    change = EventType.MODIFIED if before else EventType.ADDED
    record = Record(key, revision, b"")
    shelves.apply(Event(EventType.DELETED if dead else change, record, before))


@given(st.lists(st.tuples(KEYS, st.booleans(), st.booleans())))
def test_lists_are_those_of_a_plain_dict_sorted(steps: list[tuple[Key, bool, bool]]) -> None:
    shelves = Shelves()
    model: dict[Key, int] = {}
    for revision, (written, dead, listed) in enumerate(steps):
        if dead and written not in model:
            continue
        apply(shelves, written, revision=revision, dead=dead)
        model[written] = revision
        if dead:
            del model[written]
        if listed:  # a list in between settles the order that later writes disturb
            shelves.list(written.resource, written.namespace)
    for resource in ("pods", "nodes"):
        expected = [key for key in sorted(model) if key.resource == resource]
        assert [record.key for record in shelves.list(resource, "")] == expected
        for namespace in ("a", "a-b", "b"):
            inside = [key for key in expected if key.namespace == namespace]
            assert [record.key for record in shelves.list(resource, namespace)] == inside
    assert {key: record.revision for key in model if (record := shelves.get(key))} == model


def test_a_list_is_the_callers_to_keep() -> None:
    shelves = Shelves()
    apply(shelves, key("a"), revision=2)
    listed = shelves.list("pods", "default")
    apply(shelves, key("b"), revision=3)
    listed.clear()
    assert [record.key.name for record in shelves.list("pods", "default")] == ["a", "b"]
