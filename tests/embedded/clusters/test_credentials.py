"""Tokens, certificates and kubeconfigs: private, kept over restarts, renewed when they no longer fit."""

import datetime
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.embedded.clusters.settings import settings
from understudy.client.kubeconfig import read_kubeconfig
from understudy.embedded.cluster_folder import ClusterFolder
from understudy.embedded.clusters.credentials import url, write_credentials

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def granted(path: Path, now: datetime.datetime = NOW, **fields: Any) -> ClusterFolder:
    folder = ClusterFolder(path / "cluster")
    write_credentials(folder, settings(**fields), now)
    return folder


def everything(folder: ClusterFolder) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(folder.path.rglob("*")) if file.is_file()}


def test_nothing_of_it_can_be_read_by_others(tmp_path: Path) -> None:
    folder = granted(tmp_path)
    assert folder.path.stat().st_mode & 0o777 == 0o700
    modes = {file.name: file.stat().st_mode & 0o777 for file in folder.path.rglob("*") if file.is_file()}
    assert len(modes) == 10
    assert set(modes.values()) == {0o600}


def test_a_kubeconfig_for_people_and_one_for_each_part(tmp_path: Path) -> None:
    folder = granted(tmp_path, port=7777)
    own, agent = read_kubeconfig(folder.kubeconfig), read_kubeconfig(folder.access("agent"))
    assert own.server == agent.server == "https://127.0.0.1:7777"
    assert own.authority == agent.authority == folder.authority.read_text()
    assert own.gang_binding
    assert agent.gang_binding
    users = {line.split(",")[0]: line.split(",")[1:] for line in folder.tokens.read_text().splitlines()}
    assert users[own.token] == ["admin", "system:masters"]
    assert users[agent.token] == ["understudy:agent", "system:masters"]
    assert len(users) == 5
    assert min(map(len, users)) >= 40


def test_the_kubeconfig_is_yaml_with_a_context_named_for_the_cluster(tmp_path: Path) -> None:
    text = granted(tmp_path, name="slices").kubeconfig.read_text()
    assert yaml.safe_load(text)["current-context"] == "understudy-slices"
    assert text.startswith("apiVersion: v1\n")


def test_pods_share_a_token_only_where_that_is_asked_for(tmp_path: Path) -> None:
    """A cluster of an earlier release has one: it ends, and comes back with the flag."""
    folder = granted(tmp_path, pod_access="admin")
    shared = read_kubeconfig(folder.access("pods")).token
    assert f"{shared},understudy:pods,system:masters\n" in folder.tokens.read_text()
    granted(tmp_path)
    assert not folder.access("pods").exists()
    assert shared not in folder.tokens.read_text()
    granted(tmp_path, pod_access="admin")
    assert read_kubeconfig(folder.access("pods")).token in folder.tokens.read_text()


def test_starting_again_changes_nothing(tmp_path: Path) -> None:
    before = everything(granted(tmp_path))
    assert everything(granted(tmp_path)) == before


def test_another_port_keeps_tokens_and_certificates(tmp_path: Path) -> None:
    folder = granted(tmp_path)
    certificate, tokens = folder.certificate.read_bytes(), folder.tokens.read_bytes()
    granted(tmp_path, port=1234)
    assert (folder.certificate.read_bytes(), folder.tokens.read_bytes()) == (certificate, tokens)
    assert read_kubeconfig(folder.kubeconfig).server == "https://127.0.0.1:1234"


def test_another_address_gets_another_certificate(tmp_path: Path) -> None:
    folder = granted(tmp_path)
    certificate = folder.certificate.read_bytes()
    granted(tmp_path, address="10.0.0.7")
    assert folder.certificate.read_bytes() != certificate
    assert read_kubeconfig(folder.kubeconfig).authority == folder.authority.read_text()


@pytest.mark.parametrize(("days", "renewed"), [(3600, False), (3640, True), (4000, True)])
def test_a_certificate_is_renewed_before_it_ends(tmp_path: Path, days: int, renewed: bool) -> None:
    folder = granted(tmp_path)
    certificate = folder.certificate.read_bytes()
    granted(tmp_path, NOW + datetime.timedelta(days=days))
    assert (folder.certificate.read_bytes() != certificate) == renewed


@pytest.mark.parametrize("name", ["ca.crt", "server.crt", "server.key", "certificate.json"])
def test_what_is_missing_is_made_again(tmp_path: Path, name: str) -> None:
    folder = granted(tmp_path)
    (folder.path / name).unlink()
    granted(tmp_path)
    context = ssl.create_default_context(cafile=folder.authority)
    context.load_cert_chain(folder.certificate, folder.private_key)  # raises where they do not belong together


def test_how_a_server_is_reached_from_this_machine() -> None:
    assert url(settings(address="0.0.0.0", port=1)) == "https://127.0.0.1:1"
    assert url(settings(address="::1", port=1)) == "https://[::1]:1"
    assert url(settings(address="10.0.0.7", port=1)) == "https://10.0.0.7:1"
