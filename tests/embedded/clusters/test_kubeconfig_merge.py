"""A cluster joins the user's kubeconfig, and nothing else in there changes."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from understudy.embedded.clusters.kubeconfig_merge import CannotMerge, default_kubeconfig, merge_kubeconfig

THEIRS = """\
apiVersion: v1
kind: Config
current-context: work
clusters:
- name: work
  cluster: {server: https://work, insecure-skip-tls-verify: true}
users:
- name: me
  user: {auth-provider: {name: gcp, config: {expiry: 2019-01-01T10:00:00Z, scopes: "0123"}}}
contexts:
- name: work
  context: {cluster: work, user: me}
preferences: {colors: true}
"""


def config(name: str, server: str = "https://here") -> str:
    document = {
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": name, "user": {"token": "t"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
    return yaml.safe_dump(document)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_text(config("understudy-a"))
    return path


def entries(document: dict[str, Any], section: str) -> list[str]:
    return [entry["name"] for entry in document[section]]


def test_a_first_kubeconfig_is_made(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "home" / ".kube" / "config"
    assert merge_kubeconfig(source, target) == ""
    assert yaml.safe_load(target.read_text())["current-context"] == "understudy-a"
    assert target.stat().st_mode & 0o777 == 0o600


def test_what_others_wrote_stays_to_the_letter(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "config"
    target.write_text(THEIRS)
    assert merge_kubeconfig(source, target) == "work"
    before, after = (yaml.load(text, yaml.BaseLoader) for text in (THEIRS, target.read_text()))  # noqa: S506
    for section in ("clusters", "users", "contexts"):
        assert after[section][0] == before[section][0]
        assert entries(after, section)[1:] == ["understudy-a"]
    assert after["preferences"] == before["preferences"]
    assert after["current-context"] == "understudy-a"
    assert not list(tmp_path.glob("*.lock"))


def test_merging_again_replaces_its_own_entries(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "config"
    target.write_text(THEIRS)
    merge_kubeconfig(source, target)
    source.write_text(config("understudy-a", "https://there"))
    merge_kubeconfig(source, target)
    document = yaml.safe_load(target.read_text())
    assert entries(document, "clusters") == ["work", "understudy-a"]
    assert document["clusters"][1]["cluster"]["server"] == "https://there"


def test_a_link_stays_a_link_and_rights_stay_as_they_were(tmp_path: Path, source: Path) -> None:
    real = tmp_path / "real"
    real.write_text(THEIRS)
    real.chmod(0o640)
    link = tmp_path / "config"
    link.symlink_to(real)
    merge_kubeconfig(source, link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "understudy-a" in real.read_text()


@pytest.mark.parametrize("text", ["a: [", "- just\n- a list\n", "clusters: {}\n"])
def test_a_file_that_is_broken_is_left_as_it_is(tmp_path: Path, source: Path, text: str) -> None:
    target = tmp_path / "config"
    target.write_text(text)
    if text == "clusters: {}\n":
        merge_kubeconfig(source, target)  # empty, whatever its form
        return
    with pytest.raises(CannotMerge, match="config: "):
        merge_kubeconfig(source, target)
    assert target.read_text() == text
    assert not list(tmp_path.glob("*.lock"))


def test_sections_that_are_no_lists_are_left_as_they_are(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "config"
    target.write_text("clusters: {a: b}\n")
    with pytest.raises(CannotMerge, match="clusters: expected a list"):
        merge_kubeconfig(source, target)
    assert target.read_text() == "clusters: {a: b}\n"


def test_another_program_at_work_is_not_disturbed(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "config"
    (tmp_path / "config.lock").touch()
    with pytest.raises(CannotMerge, match=r"config\.lock is there"):
        merge_kubeconfig(source, target)
    assert (tmp_path / "config.lock").exists()


def test_the_file_kubectl_would_write_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["", "/a", "/b"]))
    assert default_kubeconfig() == Path("/a")
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_kubeconfig() == tmp_path / ".kube" / "config"
