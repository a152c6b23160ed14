"""`understudy examples`: lists the example files, prints one, or copies all of them into a folder."""

import argparse
import os
import shutil
import sys
from pathlib import Path

from understudy.cli.errors import BadInput, suggestion
from understudy.cli.example_files import Example, examples, examples_folder
from understudy.cli.options import VerbParser

ABOUT = """\
List the examples that come with this command: clusters for `understudy up -f`, questions for
`understudy plan -f`, and the jobs and programs of the guides. With a name that file is printed;
with --copy all of them are written into a folder, in which the lines of the guides work as they are."""

EXAMPLES = """\
examples:
  understudy examples
  understudy examples plan/start.yaml | understudy plan -f -
  understudy examples --copy .                makes ./examples"""


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="print this file")
    parser.add_argument("--copy", metavar="DIR", help="write all files into DIR/examples, which must not exist yet")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.name and options.copy is not None:
        raise BadInput("--copy: copies all examples; leave NAME out")
    if options.copy is not None:
        _copy(Path(options.copy))
    elif options.name:
        sys.stdout.write((examples_folder() / _named(options.name)).read_text(encoding="utf-8"))
    else:
        _list(examples())
    return 0


def _list(found: list[Example]) -> None:
    width = max(len(one.name) for one in found)
    for one in found:
        print(f"{one.name:<{width}}  {one.about}")


def _named(name: str) -> str:
    """Only names of the list are taken: no path leads out of the folder."""
    names = [one.name for one in examples()]
    wanted = name.removeprefix("./").removeprefix("examples/")
    if wanted in names:
        return wanted
    raise BadInput(f"{name}: no such example; {suggestion(wanted, names, 'there are')}")


def _copy(into: Path) -> None:
    """Copies the examples under another name and renames the folder, so that a partial copy is never found."""
    target = into / "examples"
    if not into.is_dir():
        raise BadInput(f"--copy {into}: no such folder; make it first")
    if target.exists():
        raise BadInput(f"--copy {into}: {target} exists already; name another folder, or remove it")
    aside = into / f".examples-{os.getpid()}"
    try:
        shutil.copytree(examples_folder(), aside, ignore=shutil.ignore_patterns("__pycache__"))
        aside.rename(target)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise BadInput(f"--copy {into}: {error.strerror or error}") from error
    print(f"{len(examples())} files are in {target}; {target / 'README.md'} says what they are about")
