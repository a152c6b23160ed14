"""What has been seen is set apart from what the garbage collector looks at, once and not before it is complete."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from understudy.kube import garbage_collector
from understudy.kube.garbage_collector import THRESHOLDS, freeze_after_sync


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


def test_nothing_is_set_apart_before_all_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collector, "LOOK", 0.0)
    frozen: list[int] = []

    def synced() -> bool:
        frozen.append(gc.get_freeze_count())
        return len(frozen) == 3

    asyncio.run(freeze_after_sync(synced))
    assert frozen == [0, 0, 0]
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == THRESHOLDS
