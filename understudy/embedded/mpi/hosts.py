"""Hosts with slots, from a host file or a command line, into ranks: which process runs on which host."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from understudy.embedded.mpi.options import BadOptions, Options

_SLOTS = re.compile(r"(?:slots|max[-_]slots|count)\s*=\s*(\d+)", re.ASCII)


class MpiHost(msgspec.Struct, frozen=True):
    name: str
    slots: int


class Rank(msgspec.Struct, frozen=True):
    """One process, with its number among all and on its host."""

    number: int
    host: str
    local: int
    local_size: int
    size: int
    universe: int  # the number of all slots

    @property
    def variables(self) -> dict[str, str]:
        """Open MPI's variables, except those that make its libraries look for a daemon."""
        return {
            "OMPI_COMM_WORLD_RANK": str(self.number),
            "OMPI_COMM_WORLD_SIZE": str(self.size),
            "OMPI_COMM_WORLD_LOCAL_RANK": str(self.local),
            "OMPI_COMM_WORLD_LOCAL_SIZE": str(self.local_size),
            "OMPI_COMM_WORLD_NODE_RANK": str(self.local),
            "OMPI_UNIVERSE_SIZE": str(self.universe),
        }


def read_host_file(text: str) -> list[MpiHost]:
    """Lines of `name slots=2`, or `name:2` as in other MPI implementations. A line without slots means one."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split(maxsplit=1)
        if not words:
            continue
        slots = _SLOTS.search(words[1]) if len(words) == 2 else None
        host = host_of(words[0])
        count = int(slots[1]) if slots else host.slots
        found[host.name] = found.get(host.name, 0) + count
    return [MpiHost(name, slots) for name, slots in found.items()]


def host_of(text: str) -> MpiHost:
    name, _, slots = text.partition(":")
    if slots and not slots.isdecimal():
        raise BadOptions(f"host {text!r}: what follows the colon is a number of slots, as in {name}:2")
    return MpiHost(name, int(slots) if slots else 1)


def chosen_hosts(options: Options, listed: Sequence[MpiHost], here: MpiHost) -> list[MpiHost]:
    """The hosts of the command line, by default with the slots of the host file; else those of the host file; else this
    machine.
    """
    if not options.hosts:
        return [host for host in listed if host.slots] or [here]
    by_file = {host.name: host.slots for host in listed}
    asked: dict[str, int] = {}
    for text in options.hosts:
        host = host_of(text)
        silent = ":" not in text and host.name not in asked and host.name in by_file
        asked[host.name] = asked.get(host.name, 0) + (by_file[host.name] if silent else host.slots)
    return [MpiHost(name, slots) for name, slots in asked.items()]


def place_ranks(options: Options, hosts: Sequence[MpiHost]) -> list[Rank]:
    counts = _counts(options, hosts)
    size, universe = sum(counts.values()), sum(host.slots for host in hosts)
    places = _in_turn(counts) if options.by_node else [name for name, count in counts.items() for _ in range(count)]
    seen: dict[str, int] = {}
    made = []
    for number, name in enumerate(places):
        local = seen.get(name, 0)
        seen[name] = local + 1
        made.append(Rank(number, name, local, counts[name], size, max(universe, size)))
    return made


def _counts(options: Options, hosts: Sequence[MpiHost]) -> dict[str, int]:
    """The number of processes of each host."""
    if options.per_node is not None:
        return _per_node(options, hosts, options.per_node)
    slots = sum(host.slots for host in hosts)
    wanted = slots if options.processes is None else options.processes
    if wanted > slots and not options.oversubscribe:
        raise BadOptions(
            f"-np {wanted} is more than the {slots} slots of {len(hosts)} hosts; ask for fewer, give the hosts more "
            "slots, or say --oversubscribe"
        )
    counts = dict.fromkeys((host.name for host in hosts), 0)
    room = [host.name for host in hosts for _ in range(host.slots)]
    order = _in_turn({host.name: host.slots for host in hosts}) if options.by_node else room
    for position in range(wanted):
        counts[order[position % len(order)]] += 1
    return {name: count for name, count in counts.items() if count}


def _per_node(options: Options, hosts: Sequence[MpiHost], count: int) -> dict[str, int]:
    narrow = [host for host in hosts if host.slots < count]
    if narrow and not options.oversubscribe:
        raise BadOptions(
            f"{count} processes a node are more than the {narrow[0].slots} slots of {narrow[0].name}; ask for fewer, "
            "or say --oversubscribe"
        )
    counts: dict[str, int] = {}
    left = options.processes if options.processes is not None else count * len(hosts)
    for host in hosts:
        counts[host.name] = min(count, left)
        left -= counts[host.name]
    return {name: given for name, given in counts.items() if given}


def _in_turn(counts: dict[str, int]) -> list[str]:
    """Round robin: one of each host, then the next of each."""
    rounds: Iterable[int] = range(max(counts.values(), default=0))
    return [name for turn in rounds for name, count in counts.items() if turn < count]
