"""Checkpoints on disk: whole or not there, the newest kept."""

from functools import partial
from pathlib import Path

import pytest

from understudy.train.checkpoint_folder import CheckpointFolder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_newest_are_kept(tmp_path: Path) -> None:
    shelf = CheckpointFolder(tmp_path / "deep" / "run", keep=2)
    assert shelf.newest() == 0
    for step in (5, 10, 15, 1_000_000_000_000):
        shelf.put(step, lambda path: path.write_text(path.name))
    assert shelf.steps() == [15, 1_000_000_000_000]
    assert shelf.newest() == 1_000_000_000_000
    assert shelf.newest(below=1_000_000_000_000) == 15
    assert shelf.place(15).read_text().startswith("new-15-")


def test_a_folder_is_as_good_as_a_file_and_can_be_written_again(tmp_path: Path) -> None:
    shelf = CheckpointFolder(tmp_path, keep=1)

    def write(words: str, path: Path) -> None:
        (path / "shards").mkdir(parents=True)
        (path / "shards" / "0").write_text(words)

    for words in ("first", "second"):
        shelf.put(7, partial(write, words))
    assert (shelf.place(7) / "shards" / "0").read_text() == "second"
    assert names(tmp_path) == ["step-000000007"]


def test_who_breaks_off_leaves_everything_as_it_was(tmp_path: Path) -> None:
    shelf = CheckpointFolder(tmp_path, keep=1)
    shelf.put(1, lambda path: path.write_text("good"))

    def broken(path: Path) -> None:
        path.write_text("ha")
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        shelf.put(2, broken)
    assert names(tmp_path) == ["step-000000001"]


def test_who_was_killed_leaves_something_that_is_cleared_up_and_never_read(tmp_path: Path) -> None:
    shelf = CheckpointFolder(tmp_path, keep=1)
    (tmp_path / "new-9-123").write_text("ha")
    (tmp_path / "new-old-step-000000007").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    assert shelf.steps() == []
    shelf.clear_up()
    assert names(tmp_path) == ["notes.txt"]


def test_later_ones_do_not_push_out_the_one_just_written(tmp_path: Path) -> None:
    """The training went back to step 5 since those could not be read."""
    shelf = CheckpointFolder(tmp_path, keep=1)
    for step in (8, 9):
        (tmp_path / f"step-{step:09d}").write_text("damaged")
    shelf.put(5, lambda path: path.write_text("good"))
    shelf.put(6, lambda path: path.write_text("good"))
    assert shelf.steps() == [6, 8, 9]


def test_a_library_that_writes_elsewhere_is_found_out(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"left nothing at .*add an ending"):
        CheckpointFolder(tmp_path, keep=1).put(1, lambda path: path.with_suffix(".npz").write_text("data"))


def test_at_least_one_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keep=0"):
        CheckpointFolder(tmp_path, keep=0)
