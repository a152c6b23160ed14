"""`understudy reset`: everything goes, and only when it is meant."""

import sys

import pytest

from tests.cli.homes import make_cluster
from tests.cli.shell import Shell


def test_elsewhere_than_on_a_terminal_it_wants_a_yes(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_cluster("default")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert shell.refuses("reset") == (
        "understudy: reset removes all objects, logs and volumes of cluster default; say --yes if that is meant"
    )
    assert folder.settings.exists()


def test_everything_of_that_cluster_goes_and_nothing_of_others(shell: Shell) -> None:
    folder, other = make_cluster("default"), make_cluster("other")
    outside = shell.folder / "outside"
    outside.write_text("kept")
    (folder.path / "volumes").mkdir()
    (folder.path / "volumes" / "link").symlink_to(outside)
    assert shell.run("reset", "--yes") == (0, "cluster default is gone, with everything in it\n", "")
    assert not folder.path.exists()
    assert other.settings.exists()
    assert outside.read_text() == "kept"


@pytest.mark.parametrize(("answer", "gone"), [("y", True), ("YES ", True), ("", False), ("n", False)])
def test_on_a_terminal_it_asks(shell: Shell, monkeypatch: pytest.MonkeyPatch, answer: str, gone: bool) -> None:
    folder = make_cluster("default")
    asked: list[str] = []
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return answer

    monkeypatch.setattr("builtins.input", ask)
    code, _, _ = shell.run("reset")
    assert asked == ["Remove cluster default with all its objects, logs and volumes? [y/N] "]
    assert (code == 0) == gone
    assert folder.path.exists() != gone
