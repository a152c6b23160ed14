"""The parser as a tree of verbs."""

import argparse

from understudy.cli.completing.tree import Option, Place, Source, Verb, tree_of
from understudy.cli.verbs.parser import root_parser


def small() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(add_help=False)
    verbs = root.add_subparsers()
    delete = verbs.add_parser("delete", aliases=["del"], help="delete jobs", add_help=False)
    delete.add_argument("names", metavar="JOB", nargs="*")
    delete.add_argument("-o", "--output", choices=("json", "yaml"), help="form (default: %(default)s)", default="json")
    delete.add_argument("-f", metavar="FILE", help="from a file")
    delete.add_argument("--secret", help=argparse.SUPPRESS)
    delete.add_argument("--all", action="store_true", help="all of them")
    return root


def test_verbs_options_and_places() -> None:
    options = (
        Option(("-o", "--output"), "form (default: json)", Place(("json", "yaml"))),
        Option(("-f",), "from a file", Place(source=Source.FILES)),
        Option(("--all",), "all of them", None),
    )
    jobs = Place(source=Source.JOBS)
    verbs = tuple(Verb(f"/{name}", "delete jobs", options, jobs) for name in ("delete", "del"))
    assert tree_of(small()) == Verb("", verbs=verbs)


def test_every_verb_of_the_command_has_words_for_what_it_does() -> None:
    tree = tree_of(root_parser())
    verbs = [verb for verb in tree.every() if verb.path]
    assert {"/node/drain", "/delete", "/submit/pytorch"} <= {verb.path for verb in verbs}
    assert [verb.path for verb in verbs if not verb.about] == []
