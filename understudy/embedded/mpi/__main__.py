"""mpirun as a program: reads its command line and hosts, runs the ranks, and exits as they do."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from understudy import __version__
from understudy.embedded.agent_protocol import MOUNTS
from understudy.embedded.mpi.hosts import MpiHost, chosen_hosts, place_ranks, read_host_file
from understudy.embedded.mpi.mpi_run import MpiRun
from understudy.embedded.mpi.options import BadOptions, Options, known_options, parse_options
from understudy.embedded.mpi.worker_exec import WorkerExec

BAD_INPUT = 2
HOST_FILES = (
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
    "I_MPI_HYDRA_HOST_FILE",
    "HYDRA_HOST_FILE",
)
_USAGE = "mpirun [-np N] [--hostfile FILE | -H HOST[:SLOTS],...] [-x NAME[=VALUE]] COMMAND [ARGUMENT ...]"


def main(socket: Path, words: Sequence[str]) -> int:
    """`socket` is the path of the agent's socket."""
    try:
        options = parse_options(words)
        if options.asks:
            sys.stdout.write(_answer(options.asks))
            return 0
        placed = place_ranks(
            options, chosen_hosts(options, _listed(options, os.environ), MpiHost("localhost", os.cpu_count() or 1))
        )
        variables = exported(options, os.environ)
    except BadOptions as problem:
        sys.stderr.write(f"mpirun: {problem}\n")
        return BAD_INPUT
    return asyncio.run(MpiRun(options, WorkerExec.of(socket, os.environ), variables).run(placed))


def _answer(asked: str) -> str:
    if asked == "version":
        return f"mpirun (Understudy) {__version__}\n"
    return f"usage: {_USAGE}\n\nStarts one process a slot in each host.\nOptions: {', '.join(known_options())}\n"


def _listed(options: Options, given: Mapping[str, str]) -> list[MpiHost]:
    path = options.host_file or next((given[name] for name in HOST_FILES if given.get(name)), "")
    if not path:
        return []
    try:
        return read_host_file(Path(_moved(path, given)).read_text())
    except (OSError, UnicodeDecodeError) as problem:
        raise BadOptions(f"the host file {path} cannot be read: {problem}") from None


def _moved(path: str, given: Mapping[str, str]) -> str:
    """The path of a container's file, where mounts cannot be private."""
    moved: dict[str, str] = msgspec.json.decode(given.get(MOUNTS) or "{}")
    target = max((one for one in moved if path.startswith(f"{one}/")), key=len, default="")
    return f"{moved[target]}{path.removeprefix(target)}" if target else path


def exported(options: Options, given: Mapping[str, str]) -> dict[str, str]:
    """The variables of all ranks: those of -x, and the parameters of MPI."""
    found = {name: value for name, value in given.items() if name.startswith("OMPI_MCA_")}
    found |= {f"OMPI_MCA_{name}": value for name, value in options.parameters.items()}
    for text in options.variables:
        name, equals, value = text.partition("=")
        if not name:
            raise BadOptions(f"-x {text}: say the name of a variable, or NAME=VALUE")
        if equals or name in given:
            found[name] = value if equals else given[name]
    return found
