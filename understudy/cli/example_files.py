"""The example files that come with this command: where they are, their names, and what the first line of each says."""

from pathlib import Path
from typing import NamedTuple

_PACKAGE = Path(__file__).parents[1]
_ENDINGS = (".yaml", ".py", ".md")


class Example(NamedTuple):
    name: str  # its path below the folder of the examples
    about: str  # its first line, without the marks of a comment


def examples_folder() -> Path:
    """The folder of the examples: inside the package in a wheel, beside the package in a clone."""
    packaged = _PACKAGE / "examples"
    return packaged if packaged.is_dir() else _PACKAGE.parent / "examples"


def examples() -> list[Example]:
    folder = examples_folder()
    files = (path for path in folder.rglob("*") if path.suffix in _ENDINGS and path.parent != folder)
    return [Example(path.relative_to(folder).as_posix(), _first_line(path)) for path in sorted(files)]


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().strip().lstrip("#").strip('"').strip()
