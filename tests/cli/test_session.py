"""Which cluster a job verb talks to, and how it says that it cannot."""

import argparse
from pathlib import Path

import pytest

from tests.cli.homes import make_cluster
from understudy.cli.errors import BadInput
from understudy.cli.options import CLUSTER_FLAGS, add_cluster_options
from understudy.cli.session import Session, client_config, run_in_session
from understudy.client.config import Config
from understudy.ports import Refused, Unreachable

KUBECONFIG = """\
current-context: {name}
contexts: [{{name: {name}, context: {{cluster: {name}, namespace: {name}-space}}}}]
clusters: [{{name: {name}, cluster: {{server: "https://{name}.example:6443"}}}}]
"""


def options(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_cluster_options(parser)
    parser.set_defaults(**dict.fromkeys(CLUSTER_FLAGS))  # as the root parser has them
    return parser.parse_args(arguments)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("UNDERSTUDY_HOME", str(tmp_path / "clusters"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    for name in ("work", "play"):
        (tmp_path / name).write_text(KUBECONFIG.format(name=name))
    return tmp_path


def own_kubeconfig(place: Path) -> None:
    (place / ".kube").mkdir()
    (place / ".kube" / "config").write_text(KUBECONFIG.format(name="own"))


def test_a_kubeconfig_that_is_named_wins(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_cluster("default")
    monkeypatch.setenv("KUBECONFIG", str(place / "play"))
    found = client_config(options("--kubeconfig", str(place / "work")))
    assert (found.server, found.namespace) == ("https://work.example:6443", "work-space")


def test_then_the_environment_s(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_cluster("default")
    monkeypatch.setenv("KUBECONFIG", f"{place / 'missing'}:{place / 'work'}:{place / 'play'}")
    assert client_config(options()).server == "https://work.example:6443"
    assert client_config(options("--context", "play")).server == "https://play.example:6443"


def test_in_a_pod_with_no_other_cluster_in_sight_its_own_is_meant(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meant = Config(server="https://10.0.0.1:443")
    monkeypatch.setattr(Config, "is_in_cluster", lambda: True)
    monkeypatch.setattr(Config, "in_cluster", lambda: meant)
    assert client_config(options()) is meant
    own_kubeconfig(place)
    assert client_config(options()).server == "https://own.example:6443"


def test_then_the_embedded_cluster_then_the_user_s_own(place: Path) -> None:
    own_kubeconfig(place)
    assert client_config(options()).server == "https://own.example:6443"
    make_cluster("default")
    make_cluster("slices")
    assert client_config(options()).server.startswith("https://127.0.0.1")
    assert client_config(options("--cluster", "slices")).server.startswith("https://127.0.0.1")
    assert client_config(options("--context", "own")).server == "https://own.example:6443"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "there is no cluster; `understudy up` makes one"),
        (("--cluster", "slicse"), "--cluster slicse: no such cluster"),
        (("--kubeconfig", "nowhere"), "nowhere: cannot be read"),
        (("--cluster", "a", "--context", "b"), "give one of them"),
        (("--namespace", "../etc"), "--namespace ../etc: no name for a namespace"),
    ],
)
@pytest.mark.usefixtures("place")
def test_what_names_no_cluster_is_refused(arguments: tuple[str, ...], words: str) -> None:
    with pytest.raises(BadInput, match=words.replace(".", r"\.").replace("?", r"\?")):
        client_config(options(*arguments))


def test_an_unknown_context_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", f"{place / 'work'}:{place / 'play'}")
    with pytest.raises(BadInput, match="no context named 'plya'"):
        client_config(options("--context", "plya"))


def test_the_namespace_is_the_one_asked_for_else_the_context_s(place: Path) -> None:
    seen: list[str] = []

    async def work(session: Session) -> int:
        seen.append(session.namespace)
        return 7

    target = ("--kubeconfig", str(place / "work"))
    assert run_in_session(options(*target), work) == 7
    assert run_in_session(options(*target, "-n", "other"), work) == 7
    assert seen == ["work-space", "other"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Refused(403, "Forbidden", "no right to do this"), "understudy: no right to do this\n"),
        (
            Unreachable("connection refused"),
            "understudy: no answer from https://work.example:6443: connection refused\n",
        ),
    ],
)
def test_what_the_cluster_says_no_to_is_one_line(
    place: Path, capsys: pytest.CaptureFixture[str], error: Exception, said: str
) -> None:
    async def work(_: Session) -> int:
        raise error

    assert run_in_session(options("--kubeconfig", str(place / "work")), work) == 1
    assert capsys.readouterr().err == said


def test_what_is_wrong_with_the_input_is_bad_input(place: Path) -> None:
    async def work(_: Session) -> int:
        raise Refused(422, "Invalid", "spec.replicas: must not be negative")

    with pytest.raises(BadInput, match="must not be negative"):
        run_in_session(options("--kubeconfig", str(place / "work")), work)
