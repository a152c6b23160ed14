"""The command line of mpirun, with Open MPI's options."""

from collections.abc import Callable, Mapping, Sequence

import msgspec


class BadOptions(Exception):
    """What is wrong with the command line, and how to correct it."""


class Options(msgspec.Struct, frozen=True):
    command: tuple[str, ...] = ()
    processes: int | None = None
    hosts: tuple[str, ...] = ()  # each perhaps with `:slots`
    host_file: str = ""
    per_node: int | None = None
    by_node: bool = False  # processes are placed on the hosts round robin
    oversubscribe: bool = False
    variables: tuple[str, ...] = ()  # NAME, or NAME=value
    parameters: Mapping[str, str] = {}  # for MPI itself
    folder: str = ""
    merge_output: bool = False
    timeout: int | None = None
    asks: str = ""  # version or help, in place of a run


Taker = Callable[[Options, Sequence[str]], Options]


def _number(word: str, of: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise BadOptions(f"{of} {word!r} is not a whole number of 1 or more")
    return int(word)


def _set(**fields: object) -> Taker:
    return lambda options, _: msgspec.structs.replace(options, **fields)


def _same(options: Options, _: Sequence[str]) -> Options:
    return options


def _processes(options: Options, words: Sequence[str]) -> Options:
    return msgspec.structs.replace(options, processes=_number(words[0], "the number of processes"))


def _per_node(options: Options, words: Sequence[str]) -> Options:
    return msgspec.structs.replace(options, per_node=_number(words[0], "the number of processes a node"))


def _hosts(options: Options, words: Sequence[str]) -> Options:
    named = tuple(host for host in words[0].split(",") if host)
    return msgspec.structs.replace(options, hosts=options.hosts + named)


def _host_file(options: Options, words: Sequence[str]) -> Options:
    return msgspec.structs.replace(options, host_file=words[0])


def _folder(options: Options, words: Sequence[str]) -> Options:
    return msgspec.structs.replace(options, folder=words[0])


def _timeout(options: Options, words: Sequence[str]) -> Options:
    return msgspec.structs.replace(options, timeout=_number(words[0], "the timeout"))


def _variable(options: Options, words: Sequence[str]) -> Options:
    return msgspec.structs.replace(options, variables=(*options.variables, words[0]))


def _parameter(options: Options, words: Sequence[str]) -> Options:
    name, value = words
    if name == "orte_default_hostfile":
        return _host_file(options, [value])
    return msgspec.structs.replace(options, parameters={**options.parameters, name: value})


def _map_by(options: Options, words: Sequence[str]) -> Options:
    """`node` is round robin; `ppr:2:node` a number for each host; all else fills slot after slot."""
    way, *more = words[0].lower().split(":")
    if "oversubscribe" in more:
        options = msgspec.structs.replace(options, oversubscribe=True)
    if way == "ppr":
        if len(more) < 2 or more[1] not in ("node", "host"):
            raise BadOptions(f"--map-by {words[0]}: only ppr:N:node is known of this form")
        return _per_node(options, more[:1])
    return msgspec.structs.replace(options, by_node=way == "node")


# Name, how many words follow it, what it does. One dash or two, as Open MPI takes them.
_KNOWN: Mapping[str, tuple[int, Taker]] = {
    **dict.fromkeys(("np", "n", "c"), (1, _processes)),
    **dict.fromkeys(("H", "host"), (1, _hosts)),
    **dict.fromkeys(("hostfile", "machinefile", "default-hostfile"), (1, _host_file)),
    **dict.fromkeys(("N", "npernode"), (1, _per_node)),
    "pernode": (0, _set(per_node=1)),
    "map-by": (1, _map_by),
    "bynode": (0, _set(by_node=True)),
    "byslot": (0, _set(by_node=False)),
    "oversubscribe": (0, _set(oversubscribe=True)),
    "x": (1, _variable),
    **dict.fromkeys(("mca", "gmca", "omca", "pmixmca", "prtemca"), (2, _parameter)),
    **dict.fromkeys(("wdir", "wd"), (1, _folder)),
    "merge-stderr-to-stdout": (0, _set(merge_output=True)),
    "timeout": (1, _timeout),
    **dict.fromkeys(("version", "V"), (0, _set(asks="version"))),
    **dict.fromkeys(("help", "h"), (0, _set(asks="help"))),
    # accepted without effect: there are no cores to bind to
    **dict.fromkeys(("bind-to", "rank-by", "prefix", "cpus-per-proc", "cpus-per-rank", "stdin"), (1, _same)),
    **dict.fromkeys(
        ("allow-run-as-root", "nooversubscribe", "report-bindings", "display-map", "display-allocation", "bind-to-core",
         "bind-to-none", "bind-to-socket", "q", "quiet", "v", "verbose", "nolocal", "noprefix", "enable-recovery"),
        (0, _same),
    ),
}  # fmt: skip


def known_options() -> list[str]:
    return [f"-{name}" if len(name) == 1 else f"--{name}" for name in _KNOWN]


def parse_options(words: Sequence[str]) -> Options:
    """Options end where the command begins."""
    options, left = Options(), list(words)
    while left and left[0].startswith("-") and left[0] != "-":
        word = left.pop(0)
        if word == "--":
            break
        options = _taken(options, word, left)
    if ":" in left:
        raise BadOptions("several programs in one run, joined by ':', are not known here; start one mpirun for each")
    if not left and not options.asks:
        raise BadOptions("there is no command to run; say it after the options: mpirun -np 2 python train.py")
    return msgspec.structs.replace(options, command=tuple(left))


def _taken(options: Options, word: str, left: list[str]) -> Options:
    name, equals, value = word.lstrip("-").partition("=")
    if name not in _KNOWN:
        raise BadOptions(
            f"option {word} is not known here. Known are {', '.join(known_options())}. This mpirun is Understudy's "
            "own, for where no MPI is installed; an Open MPI on PATH comes before it"
        )
    count, take = _KNOWN[name]
    if equals and count == 1:
        left.insert(0, value)
    if len(left) < count:
        raise BadOptions(f"option {word} wants {'a value' if count == 1 else 'a name and a value'} behind it")
    following = [left.pop(0) for _ in range(count)]
    return take(options, following)
