"""A parser of arguments whose complaints are one line, like every other complaint; and an option verbs share."""

import argparse
import sys
from typing import Any, NoReturn


class OneLineParser(argparse.ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}; see `{self.prog} --help`", file=sys.stderr)
        sys.exit(2)


def add_cluster_name(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--name", metavar="NAME", help="which cluster (default: the only one there is, else the one called default)"
    )
