"""kubeconfig files, as people and tools write them, and what is said about those that cannot be used."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.client.scripted_server import write_kubeconfig
from understudy.client import BadConfig, Config
from understudy.client.config import FEW, MANY, OFTEN
from understudy.client.credentials.identity import impersonation_headers
from understudy.client.kubeconfig import read_kubeconfig, read_kubeconfigs

EXEC = "client.authentication.k8s.io/v1"
CLUSTER = {"server": "https://host:6443/"}


def read(
    tmp_path: Path, cluster: dict[str, Any] = CLUSTER, user: dict[str, Any] | None = None, **context: Any
) -> Config:
    return read_kubeconfig(write_kubeconfig(tmp_path / "config", cluster, user or {}, **context))


def refused(tmp_path: Path, cluster: dict[str, Any] = CLUSTER, user: dict[str, Any] | None = None) -> str:
    with pytest.raises(BadConfig) as caught:
        read(tmp_path, cluster, user)
    return str(caught.value).removeprefix(f"{tmp_path}/config: ")


def test_a_token_and_an_authority(tmp_path: Path) -> None:
    data = base64.b64encode(b"PEM").decode()
    config = read(tmp_path, {**CLUSTER, "certificate-authority-data": data}, {"token": "t"}, namespace="team")
    assert config == Config(
        server="https://host:6443", authority="PEM", token="t", namespace="team", connections=MANY, silence=OFTEN
    )


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
    assert (own.embedded, other.embedded) == (True, False)
    assert own.connect_retry > other.connect_retry == 0.0
    assert (own.connections, other.connections) == (FEW, MANY)


def test_another_context_than_the_current_one(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "config", CLUSTER, {"token": "t"})
    document = yaml.safe_load(path.read_text())
    document["contexts"].append({"name": "there", "context": {"cluster": "c", "namespace": "elsewhere"}})
    path.write_text(yaml.safe_dump(document))
    assert read_kubeconfig(path, "there") == Config(
        server="https://host:6443", namespace="elsewhere", connections=MANY, silence=OFTEN
    )
    with pytest.raises(BadConfig, match="contexts: there is no context named 'nowhere'"):
        read_kubeconfig(path, "nowhere")


@pytest.mark.parametrize(
    ("cluster", "user", "complaint"),
    [
        (CLUSTER, {"exec": {"apiVersion": EXEC}}, "users[].user.exec.command: not set"),
        (CLUSTER, {"exec": {"command": "x"}}, "users[].user.exec.apiVersion: '' is not known"),
        (
            CLUSTER,
            {"exec": {"command": "x", "apiVersion": EXEC, "interactiveMode": "Often"}},
            "users[].user.exec.interactiveMode: 'Often' is not one of Never, IfAvailable, Always",
        ),
        (CLUSTER, {"auth-provider": {"name": "gcp"}}, "users[].user.auth-provider: 'gcp' is no longer part of"),
        (CLUSTER, {"auth-provider": {"name": "oidc"}}, "users[].user.auth-provider.config.idp-issuer-url: not set"),
        (CLUSTER, {"exec": {"command": "x"}, "auth-provider": {"name": "oidc"}}, "users[].user.exec: there is an"),
        (CLUSTER, {"as-groups": ["admins"]}, "users[].user.as: not set"),
        (CLUSTER, {"username": "me", "password": "x"}, "users[].user.username: Kubernetes no longer knows passwords"),
        ({**CLUSTER, "proxy-url": "socks5://x"}, {}, "clusters[].cluster.proxy-url: 'socks5://x': only http://"),
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
        ("a: &a [x]\nb: &b [" + "*a, " * 999 + "]\nusers: [" + "*b, " * 999 + "]", "its aliases stand for more"),
        ("current-context: x", "contexts: there is no context named 'x'"),
        ("clusters: 5", "current-context: not set"),
        ("{current-context: x, contexts: [5, {name: x, context: 7}]}", "clusters: there is no cluster named ''"),
    ],
)
def test_files_that_are_no_kubeconfig(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(BadConfig, match="config: ") as caught:
        read_kubeconfig(path)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="nowhere: cannot be read: no such file"):
        read_kubeconfig(tmp_path / "nowhere")


def test_a_command_that_gives_credentials(tmp_path: Path) -> None:
    extensions = [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "here"}}]
    cluster = {**CLUSTER, "certificate-authority-data": "UEVN", "extensions": extensions, "tls-server-name": "api"}
    given = {
        "apiVersion": EXEC,
        "command": "./bin/login",
        "args": ["--for", "me"],
        "env": [{"name": "A", "value": "b"}],
        "provideClusterInfo": True,
        "interactiveMode": "Never",
        "installHint": "get it somewhere",
    }
    plugin = read(tmp_path, cluster, {"exec": given}).plugin
    assert plugin is not None
    assert (plugin.command, plugin.args, plugin.env) == (f"{tmp_path}/bin/login", ("--for", "me"), (("A", "b"),))
    assert (plugin.api_version, plugin.interactive, plugin.hint) == (EXEC, "Never", "get it somewhere")
    assert plugin.cluster == {
        "server": "https://host:6443/",
        "tls-server-name": "api",
        "certificate-authority-data": "UEVN",
        "config": {"audience": "here"},
    }


def test_a_command_without_a_path_is_looked_for_where_commands_are(tmp_path: Path) -> None:
    plugin = read(tmp_path, user={"exec": {"apiVersion": EXEC, "command": "login"}}).plugin
    assert plugin is not None
    assert (plugin.command, plugin.cluster, plugin.interactive) == ("login", None, "IfAvailable")


def test_an_openid_provider(tmp_path: Path) -> None:
    given = {"idp-issuer-url": "https://idp", "client-id": "c", "client-secret": "s", "id-token": "i"}
    authority = {"idp-certificate-authority-data": "UEVN", "refresh-token": "r"}
    oidc = read(tmp_path, user={"auth-provider": {"name": "oidc", "config": {**given, **authority}}}).oidc
    assert oidc is not None
    assert (oidc.issuer, oidc.client, oidc.secret, oidc.id_token) == ("https://idp", "c", "s", "i")
    assert (oidc.refresh_token, oidc.authority) == ("r", "PEM")
    assert oidc.kept_in == (f"{tmp_path}/config", "u")


def test_whom_we_act_for(tmp_path: Path) -> None:
    user = {"token": "t", "as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"Why/x": ["1", "2"]}}
    config = read(tmp_path, user=user)
    assert impersonation_headers(config.impersonation) == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-Why%2Fx", "1"),
        ("Impersonate-Extra-Why%2Fx", "2"),
    ]


def test_several_files_are_read_as_one(tmp_path: Path) -> None:
    """Of each name the first one counts, relative names start from the file they are in, and files may be missing."""
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    (first / "config").write_text(
        yaml.safe_dump(
            {
                "current-context": "",
                "clusters": [{"name": "c", "cluster": {"server": "https://first:1", "certificate-authority": "ca"}}],
            }
        )
    )
    (first / "ca").write_text("the first CA")
    write_kubeconfig(second / "config", {"server": "https://second:2"}, {"tokenFile": "token"}, namespace="team")
    paths = [tmp_path / "missing", first / "config", second / "config"]
    config = read_kubeconfigs(paths)
    assert (config.server, config.authority) == ("https://first:1", "the first CA")
    assert (config.namespace, config.token_file) == ("team", str(second / "token"))
    with pytest.raises(BadConfig, match="no context named 'x'"):
        read_kubeconfigs(paths, "x")


def test_a_pod_knows_its_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    with pytest.raises(BadConfig, match=r"ca\.crt: cannot be read"):
        Config.in_cluster(tmp_path)
    assert not Config.is_in_cluster(tmp_path)
    for name, text in (("ca.crt", "CA"), ("token", "t"), ("namespace", "team\n")):
        (tmp_path / name).write_text(text)
    assert Config.is_in_cluster(tmp_path)
    assert Config.in_cluster(tmp_path) == Config(
        server="https://[fd00::1]:443",
        authority="CA",
        token_file=str(tmp_path / "token"),
        namespace="team",
        connections=MANY,
        silence=OFTEN,
    )
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(BadConfig, match="this is no pod"):
        Config.in_cluster(tmp_path)
