"""The `understudy` command: wires the verbs together. The one place that knows every part."""

import os
import sys
from collections.abc import Sequence

from understudy.cli.errors import BadInput, one_line
from understudy.cli.verbs.parser import root_parser

BAD_INPUT = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code is 0 when it did what was asked, 2 when the input is wrong."""
    _open_standard_streams()
    try:
        options = root_parser().parse_args(arguments)
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except BadInput as error:
        print(f"understudy: {one_line(str(error))}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED


def _open_standard_streams() -> None:
    """One that the caller has closed is given to nothing: else the next file opened would get what is meant for it."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            nothing = os.open(os.devnull, os.O_RDWR)  # the lowest descriptor that is free, which is this one
            setattr(sys, name, open(nothing, "w" if descriptor else "r", encoding="utf-8"))  # noqa: SIM115
