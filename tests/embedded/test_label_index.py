"""Selectors and objects found by their labels, with a look at few of them."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.embedded import label_index
from understudy.embedded.label_index import LabeledObjects, LabelSelectors, matches

labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"), max_size=3)
owners = st.dictionaries(st.integers(0, 9), st.tuples(st.sampled_from(["one", "two"]), labels), max_size=8)


def count_matches(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    calls: list[None] = []

    def counted(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
        calls.append(None)
        return matches(selector, labels)

    monkeypatch.setattr(label_index, "matches", counted)
    return calls


@given(owners, owners, labels)
def test_the_index_finds_what_a_look_at_all_objects_finds(
    before: dict[int, tuple[str, dict[str, str]]], after: dict[int, tuple[str, dict[str, str]]], asked: dict[str, str]
) -> None:
    selectors: LabelSelectors[int] = LabelSelectors()
    objects: LabeledObjects[int] = LabeledObjects()
    for state in (before, after):
        for key, (namespace, given_labels) in state.items():
            selectors.put(key, namespace, given_labels)
            objects.put(key, namespace, given_labels)
    for key in before.keys() - after.keys():
        selectors.remove(key)
        objects.remove(key)
    of_one = {key: given_labels for key, (namespace, given_labels) in after.items() if namespace == "one"}
    assert sorted(selectors.matching("one", asked)) == sorted(k for k, s in of_one.items() if matches(s, asked))
    assert sorted(objects.matching("one", asked)) == sorted(k for k, o in of_one.items() if matches(asked, o))


def test_the_work_for_one_member_of_a_gang_does_not_grow_with_the_gang(monkeypatch: pytest.MonkeyPatch) -> None:
    selectors: LabelSelectors[int] = LabelSelectors()
    objects: LabeledObjects[int] = LabeledObjects()
    of_member = [{"job-name": "big", "type": "worker", "index": str(index)} for index in range(1000)]
    for index, member in enumerate(of_member):
        selectors.put(index, "default", member)
        objects.put(index, "default", member)
    calls = count_matches(monkeypatch)
    assert selectors.matching("default", of_member[700]) == [700]
    assert objects.matching("default", of_member[700]) == [700]
    assert len(calls) <= 10
