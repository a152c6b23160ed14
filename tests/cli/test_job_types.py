"""What people may write after -T."""

import pytest

from understudy.cli.errors import BadInput
from understudy.cli.job_types import TYPES, kind_named
from understudy.kinds.registry import JOB_RESOURCES


def test_every_kind_has_its_own_names() -> None:
    assert TYPES.keys() == {resource.kind for resource in JOB_RESOURCES}
    names = [name for known in TYPES.values() for name in known]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("word", "kind"), [("py", "PyTorchJob"), ("TFJob", "TFJob"), ("horovod", "MPIJob")])
def test_names_may_be_short_and_in_any_case(word: str, kind: str) -> None:
    assert kind_named(word) == kind


def test_an_unknown_type_brings_the_near_ones() -> None:
    with pytest.raises(BadInput, match=r"--type pytroch: no such type of job; did you mean pytorch"):
        kind_named("pytroch")
