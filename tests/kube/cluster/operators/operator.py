"""An operator as a value, with what is needed to run it on loopback; and how it is run."""

import contextlib
import http.client
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import yaml

from tests.kube.cluster.api import Api, Object
from tests.kube.cluster.control_plane import START_SECONDS, ControlPlane
from tests.kube.cluster.identities import Identities
from tests.kube.cluster.processes import HOST, Process, free_port, running, wait_until
from tests.kube.cluster.programs import have
from tests.kube.cluster.releases import Program

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Place(msgspec.Struct, frozen=True):
    """Where one operator of one cluster runs."""

    folder: Path  # its own
    kubeconfig: Path
    identities: Identities
    health_port: int
    webhook_port: int


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    program: Program
    crds: Callable[[], list[Object]]
    objects: Callable[[Place], list[Object]]  # that it needs to find: namespaces, secrets, webhooks
    flags: Callable[[Place], Sequence[str]]
    environment: Callable[[Place], Mapping[str, str]]
    ready: str  # the path at its health port that says so


def install(api: Api, operators: Sequence[Operator], alive: Sequence[Process]) -> None:
    """Defines the kinds of all operators together and waits until they are served. One by one takes longer."""
    crds = [crd for operator in operators for crd in operator.crds()]
    for crd in crds:
        api.create(crd)  # applying keeps an account of every field, and these have thousands
    for crd in crds:
        wait_served(api, crd, alive)


@contextlib.contextmanager
def started(plane: ControlPlane, api: Api, operator: Operator) -> Iterator[Callable[[], Process]]:
    """Starts the operator, whose kinds exist already. Returns a function that waits until it is ready."""
    folder = plane.folder / operator.name
    folder.mkdir()
    place = Place(folder, plane.kubeconfig(operator.name), plane.identities, free_port(), free_port())
    api.apply_all(operator.objects(place))
    command = [str(have(operator.program)), *operator.flags(place)]
    environment = {"KUBECONFIG": str(place.kubeconfig), **operator.environment(place)}
    with running(command, plane.log(operator.name), environment, operator.name) as process:

        def ready() -> Process:
            answers = f"{operator.name} is ready"
            wait_until(lambda: _answers(place.health_port, operator.ready), answers, START_SECONDS, [process])
            return process

        yield ready


def documents(path: Path) -> list[Object]:
    """CRDs are long, and the loader in C is ten times faster."""
    return [document for document in yaml.load_all(path.read_text(), _Loader) if document]


def wait_served(api: Api, crd: Object, alive: Sequence[Process]) -> None:
    path = api.path(crd)

    def established() -> bool:
        conditions = api.get(path).get("status", {}).get("conditions") or []
        return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)

    wait_until(established, f"{crd['metadata']['name']} is served", START_SECONDS, alive)


def _answers(port: int, path: str) -> bool:
    with contextlib.closing(http.client.HTTPConnection(HOST, port, timeout=5)) as line:
        line.request("GET", path)
        return line.getresponse().status == 200
