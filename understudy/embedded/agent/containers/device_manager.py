"""The device manager: numbers the accelerators of all nodes, assigns them to containers, and sets their variables."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from understudy.embedded.agent.api.pod_types import Container, Pod, Quantity, is_sidecar
from understudy.model.quantity import parse_quantity

# Which variables make a vendor's libraries see only some devices, and the value that makes them see none.
VENDORS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "nvidia.com/gpu": (("CUDA_VISIBLE_DEVICES", ""), ("NVIDIA_VISIBLE_DEVICES", "void")),
    "amd.com/gpu": (("ROCR_VISIBLE_DEVICES", ""), ("HIP_VISIBLE_DEVICES", "")),
    "google.com/tpu": (("TPU_VISIBLE_CHIPS", ""), ("TPU_VISIBLE_DEVICES", "")),
}

DEVICES_ANNOTATION = "understudy.dev/devices"

DeviceIds = tuple[str, ...]  # in the form of the variables
DeviceShares = dict[str, dict[str, DeviceIds]]  # by container, the devices of each resource


def is_device(resource: str) -> bool:
    """Extended resources have a domain in their name; those of `kubernetes.io` are not devices."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io")


def device_variables(devices: Mapping[str, DeviceIds]) -> dict[str, str]:
    """The variables of every vendor, so that a container without devices sees none."""
    found: dict[str, str] = {}
    for resource, names in VENDORS.items():
        ids = devices.get(resource, ())
        found |= {name: _listed(ids) if ids else none for name, none in names}
    return found | {
        f"UNDERSTUDY_DEVICES_{_variable_suffix(resource)}": _listed(ids) for resource, ids in devices.items()
    }


def _listed(ids: DeviceIds) -> str:
    return ",".join(ids)


def _variable_suffix(resource: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in resource).upper()


def requested_devices(container: Container) -> dict[str, int]:
    asked: dict[str, Quantity] = {**container.resources.requests, **container.resources.limits}
    amounts = {name: parse_quantity(amount, name) for name, amount in asked.items() if is_device(name)}
    return {name: amount for name, amount in amounts.items() if amount}


class DevicesExhausted(Exception):
    """Which devices are missing."""


class DeviceManager:
    """Keeps which pod has which devices. They are assigned in order: the first pod gets the first devices."""

    def __init__(self, nodes: Iterable[Mapping[str, Any]]) -> None:
        """`nodes` are documents, in the order in which their devices are numbered."""
        self._offered: dict[tuple[str, str], DeviceIds] = {}
        self._taken: dict[str, DeviceShares] = {}
        # How many pods hold each device. After a restart of the agent, the records of an ended and of a running pod may
        # name the same device; when the first releases it, the second still holds it.
        self._held: dict[str, Counter[str]] = {}
        counted: dict[str, int] = {}
        for node in nodes:
            known = _known_devices(node["metadata"].get("annotations", {}))
            for resource, amount in node["status"]["capacity"].items():
                if is_device(resource):
                    first, count = counted.get(resource, 0), parse_quantity(amount, resource)
                    counted[resource] = first + count
                    numbers = tuple(map(str, range(first, first + count)))
                    self._offered[node["metadata"]["name"], resource] = known.get(resource, numbers)

    def take(self, pod: Pod) -> DeviceShares:
        """Raises DevicesExhausted, and assigns nothing then."""
        uid = pod.metadata.uid
        if uid not in self._taken:
            self.restore(uid, self._share_out(pod))
        return self._taken[uid]

    def restore(self, uid: str, shares: DeviceShares) -> None:
        self.release(uid)
        self._taken[uid] = shares
        for resource, ids in _by_resource(shares).items():
            self._held.setdefault(resource, Counter()).update(ids)

    def hand_over(self, giver: str, taker: str) -> DeviceShares:
        """Transfers all devices of one pod to another; no third pod can get them in between."""
        self._taken[taker] = self._taken.pop(giver, {})
        return self._taken[taker]

    def release(self, uid: str) -> bool:
        """True where devices became free that other pods may be waiting for."""
        freed = _by_resource(self._taken.pop(uid, {}))
        for resource, ids in freed.items():
            self._held[resource].subtract(ids)
        return bool(freed)

    def _share_out(self, pod: Pod) -> DeviceShares:
        """Containers that run side by side have their own devices; an init container uses those of later ones."""
        together = [*filter(is_sidecar, pod.spec.init_containers), *pod.spec.containers]
        before = [container for container in pod.spec.init_containers if not is_sidecar(container)]
        shares: DeviceShares = {container.name: {} for container in (*together, *before)}
        for resource in {name for container in pod.all_containers() for name in requested_devices(container)}:
            needs = [requested_devices(container).get(resource, 0) for container in together]
            most = max([sum(needs), *(requested_devices(container).get(resource, 0) for container in before)])
            ids = self._free(pod.spec.node_name, resource, most)
            parts = [*zip(together, _slices(ids, needs), strict=True)]
            parts += [(container, ids[: requested_devices(container).get(resource, 0)]) for container in before]
            for container, part in parts:
                if part:
                    shares[container.name][resource] = part
        return shares

    def _free(self, node: str, resource: str, count: int) -> DeviceIds:
        held = self._held.get(resource, Counter())
        free = [one for one in self._offered.get((node, resource), ()) if held[one] <= 0]
        if len(free) < count:
            raise DevicesExhausted(f"{count} of {resource} needed on node {node}, {len(free)} free")
        return tuple(free[:count])


def _by_resource(shares: DeviceShares) -> dict[str, set[str]]:
    """Each device of a pod once, though an init container shares those of later containers."""
    found: dict[str, set[str]] = {}
    for share in shares.values():
        for resource, ids in share.items():
            found.setdefault(resource, set()).update(ids)
    return found


def _known_devices(annotations: Mapping[str, str]) -> dict[str, DeviceIds]:
    """The ids of the real devices of a node, where it has an annotation that lists them."""
    return msgspec.json.decode(annotations.get(DEVICES_ANNOTATION, "{}"), type=dict[str, DeviceIds])


def _slices(ids: DeviceIds, sizes: Sequence[int]) -> Iterator[DeviceIds]:
    start = 0
    for size in sizes:
        yield ids[start : start + size]
        start += size
