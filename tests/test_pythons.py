"""Which interpreters `make test-pythons` takes, and what it says of those that are not there."""

import sys
import tomllib
from pathlib import Path

import pytest

from tests.pythons import KNOWN, OLDEST, Interpreter, candidates, findings, interpreter, oldest_and_newest, settings

ROOT = Path(__file__).parents[1]
OWN = Interpreter((3, 12, 1), Path(".venv/bin/python"))


def of(*versions: tuple[int, int, int]) -> list[Interpreter]:
    return [Interpreter(version, Path(f"/python{version}")) for version in versions]


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        ([], [(3, 12, 1)]),
        ([(3, 11, 7), (3, 13, 0)], [(3, 11, 7), (3, 13, 0)]),
        ([(3, 11, 7), (3, 11, 9), (3, 13, 0), (3, 14, 2)], [(3, 11, 9), (3, 14, 2)]),
        ([(3, 9, 18), (3, 10, 13), (3, 12, 9)], [(3, 12, 1)]),
        ([(3, 13, 0)], [(3, 12, 1), (3, 13, 0)]),
    ],
)
def test_the_oldest_and_the_newest_that_are_supported_are_taken(
    versions: list[tuple[int, int, int]], chosen: list[tuple[int, int, int]]
) -> None:
    assert [one.version for one in oldest_and_newest([*of(*versions), OWN], OWN)] == chosen


def test_what_is_not_there_is_said() -> None:
    found = [*of((3, 13, 0)), OWN]
    said = list(findings(found, oldest_and_newest(found, OWN)))
    assert said[:3] == [
        "found: Python 3.12, Python 3.13",
        "not found: Python 3.11, Python 3.14",
        "Python 3.11, the oldest that is supported, is not tested here",
    ]
    assert said[3].startswith("tested: Python 3.12.1 (.venv/bin/python) and Python 3.13.0 (")


def test_other_lines_get_an_environment_of_their_own() -> None:
    [newer, same] = of((3, 13, 0), (3, 12, 9))
    assert settings(newer, OWN) == ["VENV=.venv-3.13", f"PYTHON={newer.path}"]
    assert settings(same, OWN) == []


def test_interpreters_are_looked_for_where_they_may_be(tmp_path: Path) -> None:
    places = ["bin/python3.14", ".pyenv/versions/3.13.0/bin/python3", ".local/share/uv/python/cpython-3.11/bin/python3"]
    for place in [*places, "bin/python3.14-config", ".pyenv/versions/2.7.18/bin/python"]:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    seen = candidates({"HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:{tmp_path}/nowhere"})
    assert [str(path.relative_to(tmp_path)) for path in seen] == places


def test_an_interpreter_is_asked_for_its_version(tmp_path: Path) -> None:
    own = interpreter(Path(sys.executable))
    assert own is not None
    assert own.version == sys.version_info[:3]
    assert interpreter(tmp_path / "python3.12") is None


def test_the_oldest_is_that_of_the_metadata() -> None:
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert metadata["project"]["requires-python"] == f">={OLDEST[0]}.{OLDEST[1]}"
    assert OLDEST in KNOWN
