"""An address for every pod: turns a pod's name into a loopback address of the cluster's block that nobody else has.

A pod that is made again under its old name gets its old address wherever it can: whoever looked the name up before
still reaches it.
"""

import hashlib
from ipaddress import IPv4Address, IPv4Network

DEFAULT_NETWORK = "127.64.0.0/12"


class AddressPoolExhausted(Exception):
    """The block is used up."""


class AddressPool:
    def __init__(self, network: str = DEFAULT_NETWORK) -> None:
        self._network = IPv4Network(network)
        self._owners: dict[str, str] = {}  # addresses, with the uid of the pod that has it
        self._given: dict[str, str] = {}  # the same the other way round

    def take(self, uid: str, title: str) -> str:
        """The same address however often a pod asks. Raises NoAddress."""
        if uid in self._given:
            return self._given[uid]
        size = self._network.num_addresses
        start = int.from_bytes(hashlib.blake2b(title.encode(), digest_size=8).digest(), "big")
        for step in range(size):
            address = self._network[(start + step) % size]
            if _is_usable(address) and str(address) not in self._owners:
                self.restore(uid, str(address))
                return str(address)
        raise AddressPoolExhausted(f"all addresses of {self._network} are in use")

    def restore(self, uid: str, address: str) -> None:
        self._owners[address] = uid
        self._given[uid] = address

    def release(self, uid: str) -> None:
        address = self._given.pop(uid, None)
        if address is not None:
            del self._owners[address]


def _is_usable(address: IPv4Address) -> bool:
    """Not those that look like a network or a broadcast, nor the one everybody calls localhost."""
    return address.packed[3] not in (0, 255) and str(address) != "127.0.0.1"
