"""`understudy serve`: options, environment and settings into what a replica runs with."""

from pathlib import Path

import pytest

from understudy.cli.errors import BadInput
from understudy.cli.verbs.parser import root_parser
from understudy.cli.verbs.serve import serving_of
from understudy.kube.server import ServeOptions
from understudy.main import main

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
contexts:
- {name: here, context: {cluster: c, user: u, namespace: team}}
clusters:
- {name: c, cluster: {server: "https://127.0.0.1:1"}}
users:
- {name: u, user: {token: t}}
"""


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBERNETES_SERVICE_HOST", "POD_NAME", "POD_NAMESPACE", "UNDERSTUDY_SETTINGS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "config"
    path.write_text(KUBECONFIG)
    return str(path)


def serving(*arguments: str) -> ServeOptions:
    return serving_of(root_parser().parse_args(["serve", *arguments]))


def test_the_defaults(kubeconfig: str) -> None:
    found = serving("--kubeconfig", kubeconfig)
    assert (found.host, found.port, found.scheduler_name) == ("127.0.0.1", 8080, "understudy")
    assert found.lease_namespace == "default"
    assert found.identity != serving("--kubeconfig", kubeconfig).identity
    assert (found.loop.max_view_age, found.loop.one_clock) == (found.kube.max_view_age, False)
    assert found.loop.scheduler_name == "understudy"


def test_a_pod_stands_by_its_own_name(kubeconfig: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAME", "understudy-7d9f-x")
    monkeypatch.setenv("POD_NAMESPACE", "understudy-system")
    found = serving("--kubeconfig", kubeconfig)
    assert (found.candidate.identity, found.candidate.namespace) == ("understudy-7d9f-x", "understudy-system")
    assert serving("--kubeconfig", kubeconfig, "--identity", "me", "--lease-namespace", "ns").candidate.ref.path() == (
        "/apis/coordination.k8s.io/v1/namespaces/ns/leases/understudy"
    )


def test_settings_reach_the_loop_and_the_election(kubeconfig: str, tmp_path: Path) -> None:
    file = tmp_path / "understudy.yaml"
    file.write_text("kube: {leaseDuration: 5, renewDeadline: 3, retryPeriod: 1, writeTimeout: 1, maxViewAge: 9}\n")
    found = serving("--kubeconfig", kubeconfig, "--settings", str(file))
    terms = found.candidate.terms
    assert (terms.lease_duration, terms.renew_deadline, terms.retry_period) == (5.0, 3.0, 1.0)
    assert found.loop.max_view_age == 9.0
    assert (found.working.write_timeout, found.working.silence) == (1.0, 3.0)


def test_quiet_watches_keep_a_view_young(kubeconfig: str) -> None:
    found = serving("--kubeconfig", kubeconfig)
    assert found.working.silence * 2 < found.kube.max_view_age


def test_without_an_election_there_is_no_identity(kubeconfig: str) -> None:
    assert serving("--kubeconfig", kubeconfig, "--no-election", "--identity", "me").identity == ""


@pytest.mark.parametrize(
    ("text", "host", "port"), [(":80", "0.0.0.0", 80), ("[::1]:81", "::1", 81), ("10.0.0.1:0", "10.0.0.1", 0)]
)
def test_addresses(kubeconfig: str, text: str, host: str, port: int) -> None:
    found = serving("--kubeconfig", kubeconfig, "--listen", text)
    assert (found.host, found.port) == (host, port)


@pytest.mark.parametrize("text", ["8080", "host:", "host:http", "host:70000"])
def test_what_is_no_address_is_named(kubeconfig: str, text: str) -> None:
    with pytest.raises(BadInput, match=f"--listen {text}: expected HOST:PORT, such as"):
        serving("--kubeconfig", kubeconfig, "--listen", text)


def test_a_kubeconfig_that_is_not_there_is_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--kubeconfig", str(tmp_path / "none")]) == 2
    assert "cannot be read: no such file" in capsys.readouterr().err
