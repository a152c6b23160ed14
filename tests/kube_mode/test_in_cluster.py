"""What a pod is given of its service account, as the way into its cluster."""

from pathlib import Path

import pytest

from understudy.client.config import BadConfig
from understudy.kube.in_cluster import in_cluster, own_namespace, runs_in_cluster

AROUND = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    for name, text in (("token", "t0ken"), ("ca.crt", "PEM"), ("namespace", "team\n")):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_pod_finds_its_cluster(account: Path) -> None:
    assert runs_in_cluster(AROUND, account)
    config = in_cluster(AROUND, account)
    assert (config.server, config.authority, config.namespace) == ("https://10.0.0.1:443", "PEM", "team")
    assert config.token_file == str(account / "token")
    assert config.token == ""  # tokens are replaced: it is read anew


def test_addresses_of_six_words_are_put_in_brackets(account: Path) -> None:
    assert in_cluster({**AROUND, "KUBERNETES_SERVICE_HOST": "fd00::1"}, account).server == "https://[fd00::1]:443"


def test_elsewhere_there_is_none(account: Path, tmp_path: Path) -> None:
    assert not runs_in_cluster({}, account)
    assert not runs_in_cluster(AROUND, tmp_path / "nothing")
    assert own_namespace(tmp_path / "nothing") == ""
    with pytest.raises(BadConfig, match=r"KUBERNETES_SERVICE_HOST: not set; .* name a kubeconfig"):
        in_cluster({}, account)
    with pytest.raises(BadConfig, match=r"ca\.crt: cannot be read: no such file"):
        in_cluster(AROUND, tmp_path / "nothing")
