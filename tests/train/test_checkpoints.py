"""A loop that saves when it is time to, stops when it is told to, and goes on where it was."""

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from understudy import train
from understudy.train import job_environment, stop_signals

VARIABLES = (
    "RANK",
    "PROCESS_ID",
    "WORLD_SIZE",
    "NUM_PROCESSES",
    "JOB_COMPLETION_INDEX",
    job_environment.ACCESS,
    job_environment.GRACE,
)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (*VARIABLES, "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    yield
    stop_signals._listener.forget()


class Model:
    def __init__(self) -> None:
        self.value = 0

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(self.value))

    def read(self, path: Path) -> None:
        self.value = json.loads(path.read_text())

    def run(self, checkpoints: train.Checkpoints, steps: int, on_step: Callable[[int], None] = lambda _: None) -> int:
        """Where it began."""
        with checkpoints:
            begin = checkpoints.resume()
            for step in range(begin, steps):
                self.value += step
                on_step(step)
                checkpoints.after(step + 1)
        return begin


def saved(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_it_goes_on_from_the_newest(tmp_path: Path) -> None:
    first, second = Model(), Model()
    assert first.run(train.Checkpoints(tmp_path, first.write, first.read, every_steps=4), 10) == 0
    assert saved(tmp_path) == ["step-000000004", "step-000000008"]
    assert second.run(train.Checkpoints(tmp_path, second.write, second.read, every_steps=4), 10) == 8
    assert second.value == first.value == sum(range(10))


def test_told_to_go_it_saves_and_leaves(tmp_path: Path) -> None:
    model, other = Model(), Model()

    def disturb(step: int) -> None:
        if step == 6:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit) as left:
        model.run(train.Checkpoints(tmp_path, model.write, model.read), 10, disturb)
    assert left.value.code == train.STOPPED
    assert saved(tmp_path) == ["step-000000007"]
    stop_signals._listener.forget()
    assert other.run(train.Checkpoints(tmp_path, other.write, other.read), 10) == 7
    assert other.value == sum(range(10))


def test_it_saves_when_so_many_seconds_have_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    model = Model()
    checkpoints = train.Checkpoints(tmp_path, model.write, model.read)
    for step in range(1, 9):
        now = step * 200.0
        assert checkpoints.due(step) is (step in (3, 6))
        if checkpoints.due(step):
            checkpoints.save(step)


@pytest.mark.parametrize("content", ["", '{"half of', "[]garbage"])
def test_one_that_cannot_be_read_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str) -> None:
    model = Model()
    model.run(train.Checkpoints(tmp_path, model.write, model.read, every_steps=4), 10)
    (tmp_path / "step-000000008").write_text(content)
    again = Model()
    assert again.run(train.Checkpoints(tmp_path, again.write, again.read, every_steps=4), 10) == 4
    assert "the checkpoint of step 8 is skipped: JSONDecodeError" in caplog.text
    assert again.value == sum(range(10))
    assert json.loads((tmp_path / "step-000000008").read_text()) == sum(range(8))


def test_where_none_can_be_read_it_does_not_begin_anew(tmp_path: Path) -> None:
    (tmp_path / "step-000000008").write_text("")
    model = Model()
    with pytest.raises(train.NoneReadable, match="move them away to begin anew"):
        model.run(train.Checkpoints(tmp_path, model.write, model.read), 10)
    assert saved(tmp_path) == ["step-000000008"]


def test_a_full_disk_costs_a_checkpoint_and_not_the_training(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, full = Model(), True

    def write(path: Path) -> None:
        if full:
            raise OSError("No space left on device")
        model.write(path)

    def tidy_up(step: int) -> None:
        nonlocal full
        full = step < 6

    model.run(train.Checkpoints(tmp_path, write, model.read, every_steps=4), 10, tidy_up)
    assert "step 4 is not saved: No space left" in caplog.text
    assert saved(tmp_path) == ["step-000000008"]


def test_a_mistake_in_the_callers_own_code_comes_through(tmp_path: Path) -> None:
    model = Model()
    with pytest.raises(ZeroDivisionError):
        model.run(train.Checkpoints(tmp_path, lambda _: 1 / 0, model.read, every_steps=1), 10)
    assert saved(tmp_path) == []


@pytest.mark.parametrize("variable", ["RANK", "PROCESS_ID", "JOB_COMPLETION_INDEX"])
def test_only_the_first_rank_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "1")
    model = Model()
    model.run(train.Checkpoints(tmp_path / "of one", model.write, model.read, every_steps=4), 10)
    assert saved(tmp_path / "of one") == []
    model.run(train.Checkpoints(tmp_path, model.write, model.read, every_steps=4, shared=False), 10)
    assert saved(tmp_path / "rank-1") == ["step-000000004", "step-000000008"]


def test_ranks_that_do_not_agree_are_warned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "8")
    model = Model()
    model.run(train.Checkpoints(tmp_path, model.write, model.read), 1)
    assert "8 ranks and no agree=" in caplog.text


class Ranks:
    """Threads that agree as processes would: each brings a number, and all get the greatest."""

    def __init__(self, count: int) -> None:
        self.said: dict[int, int] = {}
        self._all = threading.Barrier(count)

    def agree(self, rank: int, number: int) -> int:
        self.said[rank] = number
        self._all.wait(60)
        greatest = max(self.said.values())
        self._all.wait(60)
        return greatest

    def run(self, work: Callable[[int], None]) -> None:
        threads = [threading.Thread(target=work, args=(rank,)) for rank in range(self._all.parties)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)


@pytest.mark.parametrize(("every", "last"), [(1, 3), (4, 4)])
def test_all_ranks_leave_after_the_same_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int, last: int
) -> None:
    """Rank 1 alone is told to go, in its third step."""
    ranks, left = Ranks(3), dict[int, int]()
    steps = threading.local()
    stop = train.Stop("SIGTERM", 0.0, 30.0)
    monkeypatch.setattr(stop_signals, "watch", lambda: None)
    monkeypatch.setattr(stop_signals, "stopping", lambda: stop if steps.rank == 1 and steps.done >= 3 else None)

    def work(rank: int) -> None:
        model, steps.rank, steps.done = Model(), rank, 0
        checkpoints = train.Checkpoints(
            tmp_path, model.write, model.read, rank=rank, agree=partial(ranks.agree, rank), agree_every=every
        )
        with contextlib.suppress(SystemExit), checkpoints:
            for step in range(checkpoints.resume(), 10):
                steps.done = step + 1
                checkpoints.after(step + 1)
        left[rank] = steps.done

    ranks.run(work)
    assert left == {0: last, 1: last, 2: last}
    assert saved(tmp_path) == [f"step-00000000{last}"]


def test_ranks_with_folders_of_their_own_go_on_from_what_all_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has a newer one, and one has the newest that both have damaged."""
    monkeypatch.setattr(stop_signals, "watch", lambda: None)
    for rank, steps in ((0, (10, 20, 30, 40)), (1, (10, 20, 30))):
        folder = tmp_path / f"rank-{rank}"
        folder.mkdir()
        for step in steps:
            (folder / f"step-{step:09d}").write_text(str(step + rank))
    (tmp_path / "rank-1" / "step-000000030").write_text("")
    ranks, found = Ranks(2), dict[int, tuple[int, int]]()

    def work(rank: int) -> None:
        model = Model()
        checkpoints = train.Checkpoints(
            tmp_path, model.write, model.read, rank=rank, shared=False, agree=partial(ranks.agree, rank)
        )
        found[rank] = checkpoints.resume(), model.value

    ranks.run(work)
    assert found == {0: (20, 20), 1: (20, 21)}


def test_a_rule_that_cannot_be_meant_is_refused(tmp_path: Path) -> None:
    model = Model()
    for rule in ("every_steps", "agree_every"):
        wrong: dict[str, Any] = {rule: 0}
        with pytest.raises(ValueError, match=f"{rule}=0"):
            train.Checkpoints(tmp_path, model.write, model.read, **wrong)
