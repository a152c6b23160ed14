"""Pod addresses: turns a pod's name into a free loopback address of the cluster's block.

A pod that is recreated under its name gets its old address where possible: peers that resolved the name before still
reach it.
"""

import hashlib
from ipaddress import IPv4Address, IPv4Network

DEFAULT_NETWORK = "127.64.0.0/12"


class AddressPoolExhausted(Exception):
    """All addresses of the block are in use."""


class AddressPool:
    def __init__(self, network: str = DEFAULT_NETWORK) -> None:
        self._network = IPv4Network(network)
        self._owners: dict[str, str] = {}  # by address, the uid of its pod
        self._given: dict[str, str] = {}  # by uid, the address

    def take(self, uid: str, title: str) -> str:
        """Always returns the same address for one pod. Raises AddressPoolExhausted."""
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
    """Not those that look like network or broadcast addresses, nor localhost."""
    return address.packed[3] not in (0, 255) and str(address) != "127.0.0.1"
