"""What holds for the project as a whole: one version, links that lead somewhere, a true map, budgets."""

import ast
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import understudy
from understudy.main import main

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(path for folder in ("understudy", "bench", "tests") for path in (ROOT / folder).rglob("*.py"))
PRODUCT = [path for path in SOURCES if path.is_relative_to(ROOT / "understudy")]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 400


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_one_version_everywhere() -> None:
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())
    newest = re.search(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert understudy.__version__ == metadata["project"]["version"] == newest[1]


def links(page: Path) -> Iterator[str]:
    """Targets of links and pictures, code blocks left out."""
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    yield from re.findall(r"\]\(([^)\s]+)\)", prose)


def anchors(page: Path) -> set[str]:
    """The fragments that the headings of a page can be reached by."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> Iterator[str]:
    for link in links(page):
        if "://" in link:
            continue
        target, _, fragment = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        if not file.exists():
            yield f"{name(page)} links to {link}, which does not exist"
        elif fragment and fragment not in anchors(file):
            yield f"{name(page)} links to {link}: no such heading"


def test_links_lead_somewhere() -> None:
    assert not [complaint for page in PAGES for complaint in broken_links(page)]


def test_paths_and_test_files_that_are_named_exist() -> None:
    """In code spans of the documents, and in the Makefile, where a renamed file would drop out of `make test-quick`."""
    spans = {
        span for page in PAGES if page.name != "CHANGELOG.md" for span in re.findall(r"`([^`\s]+)`", page.read_text())
    }
    paths = {span for span in spans if re.fullmatch(r"(?:understudy|tests|bench|docs|examples|deploy)/[\w./-]+", span)}
    assert not {path for path in paths if "NAME" not in path and not (ROOT / path).exists()}
    assert not {span for span in spans if re.fullmatch(r"test_\w+\.py", span)} - {path.name for path in SOURCES}
    quick = subprocess.run(["make", "-n", "test-quick"], cwd=ROOT, capture_output=True, text=True, check=True)
    named = set(re.findall(r"(?<![\w/])tests/[\w./]+", quick.stdout))
    assert len(named) > 10
    assert not {path for path in named if not (ROOT / path).exists()}


def test_every_decision_is_listed_in_order() -> None:
    records = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    assert [record[:4] for record in records] == [f"{n:04d}" for n in range(1, len(records) + 1)]
    index = (ROOT / "docs" / "decisions" / "README.md").read_text()
    assert re.findall(r"\]\((\d{4}-[^)]+)\)", index) == records


def test_the_map_names_every_folder() -> None:
    architecture = (ROOT / "docs" / "architecture.md").read_text()
    mapped = set(re.findall(r"^\| `((?:understudy|bench)/[\w/]+/)` \|", architecture, re.MULTILINE))
    folders = {f"{name(path.parent)}/" for path in SOURCES if path.is_relative_to(ROOT / "understudy")}
    folders |= {f"{name(path.parent)}/" for path in SOURCES if path.is_relative_to(ROOT / "bench")}
    assert mapped == folders - {"understudy/", "bench/"}


def transcripts(page: Path) -> list[tuple[str, str]]:
    """The commands a page shows with `$`, each with the output it shows."""
    return re.findall(r"^```\n\$ understudy ([^\n]+)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def test_commands_print_what_the_readme_shows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    shown = transcripts(ROOT / "README.md")
    assert shown, "the README shows no command"
    for arguments, output in shown:
        assert main(shlex.split(arguments)) == 0
        assert capsys.readouterr().out.rstrip() == output.rstrip()


def docstring_complaint(path: Path) -> str | None:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    if not docstring:
        return f"{name(path)} has no module docstring"
    return f"{name(path)}: one to five lines are enough" if len(docstring.splitlines()) > 5 else None


def test_modules_say_what_they_do() -> None:
    empty_test_packages = {path for path in SOURCES if "tests" in path.parts and not path.stat().st_size}
    complaints = map(docstring_complaint, (path for path in SOURCES if path not in empty_test_packages))
    assert not [complaint for complaint in complaints if complaint]


def over_budget(path: Path) -> Iterator[str]:
    text = path.read_text()
    if text.count("\n") > MAX_FILE_LINES:
        yield f"{name(path)} is too long: split it by what its parts are about"
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.end_lineno is not None:
            lines = function.end_lineno - function.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                yield f"{name(path)}: {function.name} has {lines} lines"


def test_files_and_functions_stay_within_their_budgets() -> None:
    assert not [complaint for path in PRODUCT for complaint in over_budget(path)]
