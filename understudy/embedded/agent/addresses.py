"""An address for every pod: turns a pod's name into a loopback address of the cluster's block that nobody else has.

A pod that is made again under its old name gets its old address wherever it can: whoever looked the name up before
still reaches it.
"""

import hashlib
from ipaddress import IPv4Address, IPv4Network

DEFAULT_NETWORK = "127.64.0.0/12"


class NoAddress(Exception):
    """The block is used up."""


class Addresses:
    def __init__(self, network: str = DEFAULT_NETWORK) -> None:
        self._network = IPv4Network(network)
        self._taken: dict[str, str] = {}  # addresses, with the uid of the pod that has it

    def take(self, uid: str, title: str) -> str:
        size = self._network.num_addresses
        start = int.from_bytes(hashlib.blake2b(title.encode(), digest_size=8).digest(), "big")
        for step in range(size):
            address = self._network[(start + step) % size]
            if _is_usable(address) and self._taken.setdefault(str(address), uid) == uid:
                return str(address)
        raise NoAddress(f"all addresses of {self._network} are in use")

    def restore(self, uid: str, address: str) -> None:
        self._taken[address] = uid

    def release(self, uid: str, address: str) -> None:
        if self._taken.get(address) == uid:
            del self._taken[address]


def _is_usable(address: IPv4Address) -> bool:
    """Not those that look like a network or a broadcast, nor the one everybody calls localhost."""
    return address.packed[3] not in (0, 255) and str(address) != "127.0.0.1"
