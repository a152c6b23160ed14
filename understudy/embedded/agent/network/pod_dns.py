"""Pod DNS by hosts files: turns pods and services into the names of one hosts file for each namespace."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from understudy.embedded.agent.api.pod_types import HostAlias
from understudy.embedded.agent.network.hosts_file import HostsFile
from understudy.embedded.label_index import LabeledObjects, LabelSelectors

_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_WITH_PORT = re.compile(r"((?:[a-z][a-z0-9+.-]*://)?)([a-zA-Z0-9][a-zA-Z0-9.-]*)((?::\d+)?(?:/.*)?)", re.ASCII)
_DOMAIN = "cluster.local"


class NamedPod(msgspec.Struct, frozen=True, gc=False):
    """A pod with its names and its address."""

    uid: str
    namespace: str
    name: str
    hostname: str
    address: str
    subdomain: str = ""
    labels: Mapping[str, str] = {}


class NamedService(msgspec.Struct, frozen=True, gc=False):
    namespace: str
    name: str
    selector: Mapping[str, str]


def names_in_namespace(pod: NamedPod) -> list[str]:
    """The short names, for pods of the same namespace."""
    names = [pod.name, pod.hostname]
    if pod.subdomain:
        names.append(f"{pod.hostname}.{pod.subdomain}")
    return list(dict.fromkeys(names))


def names_in_cluster(pod: NamedPod) -> list[str]:
    if not pod.subdomain:
        return []
    return _qualified(f"{pod.hostname}.{pod.subdomain}", pod.namespace)


def _qualified(name: str, namespace: str) -> list[str]:
    return [f"{name}.{namespace}", f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.{_DOMAIN}"]


class PodNames:
    def __init__(self, folder: Path, machine: str) -> None:
        """`machine` is the text of the machine's own hosts file, which every file begins with."""
        self._folder = folder
        self._machine = machine
        self._pods: dict[str, NamedPod] = {}
        self._labels: LabeledObjects[str] = LabeledObjects()  # of pods, by uid
        self._services: dict[tuple[str, str], NamedService] = {}  # by namespace and name
        self._selectors: LabelSelectors[tuple[str, str]] = LabelSelectors()  # of services
        self._files: dict[str, HostsFile] = {}
        self._private: dict[
            str, tuple[str, HostsFile]
        ] = {}  # by uid of pods with host aliases: their namespace and their own file

    def hosts_file_of(self, namespace: str) -> Path:
        """The hosts file of a namespace, created on first use."""
        if not _NAMESPACE.fullmatch(namespace):
            raise ValueError(f"{namespace!r} is not the name of a namespace")
        path = self._folder / namespace
        if namespace not in self._files:
            self._files[namespace] = HostsFile(path, self._machine, dict(self._lines(namespace)))
        return path

    def private_hosts(self, pod: NamedPod, aliases: tuple[HostAlias, ...], path: Path) -> Path:
        """The hosts file of one pod with host aliases."""
        own = "".join(f"{alias.ip} {' '.join(alias.hostnames)}\n" for alias in aliases)
        self._close_private(pod.uid)
        file = HostsFile(path, self._machine.rstrip("\n") + "\n" + own, dict(self._lines(pod.namespace)))
        self._private[pod.uid] = (pod.namespace, file)
        return path

    def add_pod(self, pod: NamedPod) -> None:
        known = self._pods.get(pod.uid)
        if known == pod:
            return
        if known is not None:
            self._drop_lines(known)
        self._pods[pod.uid] = pod
        self._labels.put(pod.uid, pod.namespace, pod.labels)
        for namespace, file in self._all_files():
            for key, line in self._lines_about(pod, namespace):
                file.put(key, line)

    def remove_pod(self, uid: str) -> None:
        pod = self._pods.pop(uid, None)
        self._labels.remove(uid)
        self._close_private(uid)
        if pod is not None:
            self._drop_lines(pod)

    def add_service(self, service: NamedService) -> None:
        self.remove_service(service.namespace, service.name)
        key = (service.namespace, service.name)
        self._services[key] = service
        self._selectors.put(key, service.namespace, service.selector)
        for pod in self._pods_of(service):
            for namespace, file in self._all_files():
                file.put(*_service_line(service, pod, namespace))

    def remove_service(self, namespace: str, name: str) -> None:
        service = self._services.pop((namespace, name), None)
        self._selectors.remove((namespace, name))
        if service is None:
            return
        for pod in self._pods_of(service):
            for _, file in self._all_files():
                file.drop(_service_key(service, pod))

    def restore(self) -> None:
        """Rewrites files whose lines could not be written before."""
        for _, file in self._all_files():
            if file.is_stale:
                file.restore()

    def resolve(self, name: str, namespace: str) -> str | None:
        """The address of a name within a namespace, for containers without private mounts."""
        for _, line in self._lines(namespace):
            address, *names = line.split()
            if name in names:
                return address
        return None

    def close(self) -> None:
        for _, file in self._all_files():
            file.close()

    def _all_files(self) -> Iterator[tuple[str, HostsFile]]:
        yield from self._files.items()
        yield from self._private.values()

    def _lines(self, namespace: str) -> Iterator[tuple[str, str]]:
        for pod in self._pods.values():
            yield from self._lines_about(pod, namespace)

    def _lines_about(self, pod: NamedPod, namespace: str) -> Iterator[tuple[str, str]]:
        names = (names_in_namespace(pod) if pod.namespace == namespace else []) + names_in_cluster(pod)
        if names:
            yield pod.uid, f"{pod.address} {' '.join(names)}"
        for service in self._services_of(pod):
            yield _service_line(service, pod, namespace)

    def _services_of(self, pod: NamedPod) -> list[NamedService]:
        return [self._services[key] for key in self._selectors.matching(pod.namespace, pod.labels)]

    def _pods_of(self, service: NamedService) -> list[NamedPod]:
        return [self._pods[uid] for uid in self._labels.matching(service.namespace, service.selector)]

    def _drop_lines(self, pod: NamedPod) -> None:
        keys = [pod.uid, *(_service_key(service, pod) for service in self._services_of(pod))]
        for _, file in self._all_files():
            for key in keys:
                file.drop(key)

    def _close_private(self, uid: str) -> None:
        if uid in self._private:
            self._private.pop(uid)[1].close()


def _service_key(service: NamedService, pod: NamedPod) -> str:
    return f"{service.namespace}/{service.name}/{pod.uid}"


def _service_line(service: NamedService, pod: NamedPod, namespace: str) -> tuple[str, str]:
    near = [service.name] if service.namespace == namespace else []
    names = near + _qualified(service.name, service.namespace)
    return _service_key(service, pod), f"{pod.address} {' '.join(names)}"


def with_address(text: str, namespace: str, directory: PodNames) -> str:
    """Replaces the name by its address in a value of the form NAME, NAME:PORT or SCHEME://NAME."""
    match = _WITH_PORT.fullmatch(text)
    address = directory.resolve(match[2], namespace) if match else None
    return text if match is None or address is None else f"{match[1]}{address}{match[3]}"
