"""kubeconfig files, as people and tools write them, and what is said about those that cannot be used."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.client.scripted import write_kubeconfig
from understudy.client import BadConfig, Config

CLUSTER = {"server": "https://host:6443/"}


def read(
    tmp_path: Path, cluster: dict[str, Any] = CLUSTER, user: dict[str, Any] | None = None, **context: Any
) -> Config:
    return Config.from_kubeconfig(write_kubeconfig(tmp_path / "config", cluster, user or {}, **context))


def refused(tmp_path: Path, cluster: dict[str, Any] = CLUSTER, user: dict[str, Any] | None = None) -> str:
    with pytest.raises(BadConfig) as caught:
        read(tmp_path, cluster, user)
    return str(caught.value).removeprefix(f"{tmp_path}/config: ")


def test_a_token_and_an_authority(tmp_path: Path) -> None:
    data = base64.b64encode(b"PEM").decode()
    config = read(tmp_path, {**CLUSTER, "certificate-authority-data": data}, {"token": "t"}, namespace="team")
    assert config == Config(server="https://host:6443", authority="PEM", token="t", namespace="team")


def test_files_are_looked_for_beside_the_kubeconfig(tmp_path: Path) -> None:
    for name in ("ca", "crt", "key"):
        (tmp_path / name).write_text(f"the {name}")
    cluster = {**CLUSTER, "certificate-authority": "ca"}
    user = {"client-certificate": str(tmp_path / "crt"), "client-key": "key", "tokenFile": "token"}
    config = read(tmp_path, cluster, user)
    assert (config.authority, config.certificate, config.key) == ("the ca", "the crt", "the key")
    assert config.token_file == str(tmp_path / "token")


def test_a_token_wins_over_a_token_file(tmp_path: Path) -> None:
    config = read(tmp_path, user={"token": "t", "tokenFile": "file"})
    assert (config.token, config.token_file) == ("t", "")


def test_data_wins_over_a_file(tmp_path: Path) -> None:
    cluster = {**CLUSTER, "certificate-authority": "nowhere", "certificate-authority-data": "UEVN"}
    assert read(tmp_path, cluster).authority == "PEM"


def test_no_check_of_the_server_only_where_asked_for(tmp_path: Path) -> None:
    assert not read(tmp_path).insecure
    config = read(tmp_path, {**CLUSTER, "insecure-skip-tls-verify": True, "tls-server-name": "api"})
    assert (config.insecure, config.server_name) == (True, "api")


def test_our_own_clusters_say_what_they_are(tmp_path: Path) -> None:
    extensions = [{"name": "other"}, {"name": "understudy.dev", "extension": {"gangBinding": True}}]
    own, other = read(tmp_path, {**CLUSTER, "extensions": extensions}), read(tmp_path)
    assert (own.gang_binding, other.gang_binding) == (True, False)
    assert own.patience > other.patience == 0.0


def test_another_context_than_the_current_one(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", CLUSTER, {"token": "t"})
    document = yaml.safe_load(path.read_text())
    document["contexts"].append({"name": "there", "context": {"cluster": "c", "namespace": "elsewhere"}})
    path.write_text(yaml.safe_dump(document))
    assert Config.from_kubeconfig(path, "there") == Config(server="https://host:6443", namespace="elsewhere")
    with pytest.raises(BadConfig, match="contexts: there is no context named 'nowhere'"):
        Config.from_kubeconfig(path, "nowhere")


@pytest.mark.parametrize(
    ("cluster", "user", "complaint"),
    [
        (CLUSTER, {"exec": {"command": "gcloud"}}, "users[].user.exec: credential plugins are not run"),
        (CLUSTER, {"auth-provider": {"name": "x"}}, "users[].user.auth-provider: no longer part of Kubernetes"),
        (CLUSTER, {"as": "root"}, "users[].user.as: impersonation is not supported"),
        ({**CLUSTER, "proxy-url": "http://x"}, {}, "clusters[].cluster.proxy-url: proxies are not supported"),
        ({"server": "host:6443"}, {}, "clusters[].cluster.server: 'host:6443' is no address"),
        ({}, {}, "clusters[].cluster.server: '' is no address"),
        ({**CLUSTER, "certificate-authority-data": "%%%"}, {}, "certificate-authority-data: not PEM in base64"),
        (
            {**CLUSTER, "certificate-authority": "/nowhere"},
            {},
            "certificate-authority: /nowhere cannot be read",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], complaint: str
) -> None:
    assert refused(tmp_path, cluster, user).startswith(complaint)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not a kubeconfig"),
        ("- a\n- b\n", "not a kubeconfig"),
        ("{", "not YAML"),
        ("a: [", "not YAML"),
        ("[" * 10_000, "not YAML"),
        ("current-context: x", "contexts: there is no context named 'x'"),
        ("clusters: 5", "current-context: not set"),
        ("{current-context: x, contexts: [5, {name: x, context: 7}]}", "clusters: there is no cluster named ''"),
    ],
)
def test_files_that_are_no_kubeconfig(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(BadConfig, match="config: ") as caught:
        Config.from_kubeconfig(path)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="nowhere: cannot be read: no such file"):
        Config.from_kubeconfig(tmp_path / "nowhere")
