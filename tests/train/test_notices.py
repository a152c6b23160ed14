"""A job hears that a machine of it will go, saves once, reports that at once, and goes on."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.eventually import eventually
from tests.train.test_checkpoints import VARIABLES, Model, saved
from understudy import train
from understudy.train import checkpoints, job_environment, notices, stop_signals
from understudy.train.notices import CHECKPOINT_BY, NoticeWatch, from_file
from understudy.train.reports import Reporter

BY = "2026-01-31T12:00:00Z"
MOMENT = 1769860800.0


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (*VARIABLES, "KUBERNETES_SERVICE_HOST", job_environment.ANNOTATIONS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(notices, "FILE_PAUSE", 0.01)
    yield
    if notices._watch is not None:
        notices._watch.end()
    notices._forget()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "annotations"
    monkeypatch.setenv(job_environment.ANNOTATIONS, str(found))
    return found


def ask(file: Path, by: str) -> None:
    file.write_text(f'a="1"\n{CHECKPOINT_BY}="{by}"\nz="{CHECKPOINT_BY}"\n')


def test_the_file_of_the_downward_api_is_read(tmp_path: Path) -> None:
    file = tmp_path / "annotations"
    assert from_file(file) == ""
    file.write_text('a="1"\n')
    assert from_file(file) == ""
    ask(file, BY)
    assert from_file(file) == BY


def test_a_notice_comes_changes_and_goes(file: Path) -> None:
    assert train.notice() is None
    ask(file, BY)
    found = eventually(train.notice)
    assert found == train.Notice(MOMENT)
    assert found.seconds_left == 0.0
    assert train.Notice(time.time() + 100.0).seconds_left == pytest.approx(100.0, abs=60.0)
    ask(file, "2026-01-31T12:00:30.5Z")
    eventually(train.notice, until=train.Notice(MOMENT + 30.5).__eq__)
    file.unlink()
    eventually(lambda: train.notice() is None)


def test_outside_of_a_cluster_there_is_none() -> None:
    assert train.notice() is None
    assert notices._watch is None


def test_what_cannot_be_read_is_said_once_and_looked_at_again(caplog: pytest.LogCaptureFixture) -> None:
    texts = iter(["soon", "later", BY])
    watch = NoticeWatch(lambda: next(texts, BY), 0.001)
    eventually(lambda: watch.notice)
    watch.end()
    assert watch.notice == train.Notice(MOMENT)
    assert len(caplog.records) == 1


def test_it_saves_once_for_each_notice_and_goes_on(file: Path, tmp_path: Path) -> None:
    model = Model()

    def disturb(step: int) -> None:
        if step == 3:
            ask(file, BY)
            eventually(train.notice)
        if step == 6:
            ask(file, "2026-01-31T11:00:00Z")
            eventually(train.notice, until=train.Notice(MOMENT - 3600.0).__eq__)

    folder = tmp_path / "saved"
    model.run(train.Checkpoints(folder, model.write, model.read), 10, disturb)
    assert saved(folder) == ["step-000000004", "step-000000007"]


def test_a_disk_that_is_full_is_not_tried_at_every_step(file: Path, tmp_path: Path) -> None:
    tried = []
    model = Model()

    def write(path: Path) -> None:
        tried.append(path)
        raise OSError("no space left on device")

    ask(file, BY)
    eventually(train.notice)
    model.run(train.Checkpoints(tmp_path / "saved", write, model.read), 10)
    assert len(tried) == 1


def test_all_ranks_save_after_the_same_step(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first rank hears of the notice; the others learn of it where they agree."""
    folder = tmp_path / "saved"
    barrier, words = threading.Barrier(2, timeout=60), {}
    monkeypatch.setattr(stop_signals, "watch", lambda: None)
    monkeypatch.setattr(stop_signals, "stopping", lambda: None)

    def agree(number: int) -> int:
        words[threading.get_ident()] = number
        barrier.wait()
        greatest = max(words.values())
        barrier.wait()
        return greatest

    def rank(number: int) -> None:
        def disturb(step: int) -> None:
            if number == 0 and step == 3:
                ask(file, BY)
                eventually(train.notice)

        model = Model()
        model.run(
            train.Checkpoints(folder, model.write, model.read, rank=number, shared=False, agree=agree), 6, disturb
        )

    threads = [threading.Thread(target=rank, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert saved(folder / "rank-0") == saved(folder / "rank-1") == ["step-000000004"]


def test_the_checkpoint_is_reported_at_once(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(checkpoints, "_reporter", lambda: Reporter(sent.append, pause=1000.0))
    model = Model()

    def disturb(step: int) -> None:
        if step == 2:
            eventually(lambda: sent)
            ask(file, BY)
            eventually(train.notice)
        if step == 3:
            eventually(lambda: len(sent) == 2)

    model.run(train.Checkpoints(tmp_path / "saved", model.write, model.read, every_steps=2), 4, disturb)
    assert json.loads((tmp_path / "saved" / "step-000000003").read_text()) == sum(range(3))
