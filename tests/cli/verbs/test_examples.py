"""`understudy examples`: lists them, prints one, and copies all of them; a wheel brings them along."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.cli.shell import Shell

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = {path.relative_to(ROOT / "examples").as_posix() for path in (ROOT / "examples").glob("*/*.*")}


def test_every_example_is_listed_with_its_first_line(shell: Shell) -> None:
    code, out, _ = shell.run("examples")
    listed = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert code == 0
    assert set(listed) == EXAMPLES
    assert listed["plan/start.yaml"] == "Does my job fit, and where would its pods sit?"


def test_an_example_is_printed_as_it_is(shell: Shell) -> None:
    for name in ("plan/start.yaml", "examples/plan/start.yaml"):
        assert shell.run("examples", name)[:2] == (0, (ROOT / "examples/plan/start.yaml").read_text())


def test_a_name_that_is_none_is_answered_with_the_near_one(shell: Shell) -> None:
    assert "did you mean plan/start.yaml" in shell.refuses("examples", "plan/strat.yaml")
    assert "no such example" in shell.refuses("examples", "../pyproject.toml")
    assert "leave NAME out" in shell.refuses("examples", "plan/start.yaml", "--copy", ".")


def test_a_copy_has_all_files_and_touches_nothing_that_is_there(shell: Shell) -> None:
    code, out, _ = shell.run("examples", "--copy", str(shell.folder))
    copied = shell.folder / "examples"
    assert (code, "files are in" in out) == (0, True)
    assert {path.relative_to(copied).as_posix() for path in copied.glob("*/*.*")} == EXAMPLES
    assert (copied / "README.md").is_file()
    (copied / "mine").write_text("kept")
    assert "exists already" in shell.refuses("examples", "--copy", str(shell.folder))
    assert (copied / "mine").read_text() == "kept"
    assert [path.name for path in shell.folder.iterdir()] == ["examples"]
    assert "make it first" in shell.refuses("examples", "--copy", str(shell.folder / "none"))


def test_a_wheel_has_the_examples_and_plans_one(tmp_path: Path) -> None:
    """Without a clone: the wheel is unpacked elsewhere, and its package runs from there."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    building = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(ROOT))
    subprocess.run([*pip, *building], check=True, timeout=300)
    [wheel] = tmp_path.glob("understudy-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")

    def understudy(*arguments: str, given: str = "") -> str:
        command = (sys.executable, "-P", "-m", "understudy", *arguments)
        environment = {"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        ran = subprocess.run(
            command, input=given, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True, timeout=120
        )
        return ran.stdout

    assert {line.split()[0] for line in understudy("examples").splitlines()} == EXAMPLES
    example = understudy("examples", "plan/start.yaml")
    assert "Starts" in understudy("plan", "-f", "-", "--now", "2026-01-01T12:00:00Z", given=example)
    assert "A node of high-priority" in understudy("demo", "--dry-run")
