"""`understudy apply`: objects of any kind, all tried before any is stored."""

import io
import sys

import pytest

from tests.cli.shell import Shell
from tests.cli.submit.api import Api

CLASSES = """
apiVersion: scheduling.k8s.io/{version}
kind: PriorityClass
metadata: {{name: critical}}
value: 1100000
---
apiVersion: scheduling.k8s.io/{version}
kind: PriorityClass
metadata: {{name: medium}}
value: 1000000
"""
CONFIG = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '%s'}}\n"
CLASSES_URL = "/apis/scheduling.k8s.io/v1/priorityclasses"
CONFIGS_URL = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def api(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Api:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(shell.folder))
    return Api(shell, monkeypatch)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_priorities_of_either_version(api: Api, version: str) -> None:
    api.shell.write(classes=CLASSES.format(version=version))
    lines = "priorityclass.scheduling.k8s.io/{0} {2}\npriorityclass.scheduling.k8s.io/{1} {2}\n"
    assert api.run("apply", "-f", "classes.yaml") == lines.format("critical", "medium", "created")
    assert {"critical", "medium"} < set(api.names(CLASSES_URL))
    assert api.run("apply", "-f", "classes.yaml") == lines.format("critical", "medium", "unchanged")


def test_a_version_that_is_gone_is_taken_as_the_one_that_is_there(api: Api) -> None:
    api.shell.write(classes=CLASSES.format(version="v1alpha1"))
    code, out, err = api.shell.run("apply", "-f", "classes.yaml")
    assert (code, out.count(" created")) == (0, 2)
    assert err.count("is no longer served; taken as scheduling.k8s.io/v1") == 2


def test_what_is_there_is_changed(api: Api) -> None:
    api.shell.write(one=CONFIG % 1)
    api.run("apply", "-f", "one.yaml")
    api.shell.write(one=CONFIG % 2)
    assert api.run("apply", "-f", "one.yaml", "--dry-run") == "configmap/c configured (dry run)\n"
    assert (api.get(f"{CONFIGS_URL}/c") or {})["data"] == {"a": "1"}
    assert api.run("apply", "-f", "one.yaml") == "configmap/c configured\n"
    assert (api.get(f"{CONFIGS_URL}/c") or {})["data"] == {"a": "2"}


def test_a_dry_run_changes_nothing(api: Api) -> None:
    api.shell.write(one=CONFIG % 1)
    assert api.run("apply", "-f", "one.yaml", "--dry-run") == "configmap/c created (dry run)\n"
    assert api.get(f"{CONFIGS_URL}/c") is None


def test_a_directory_and_stdin(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    (api.shell.folder / "all").mkdir()
    (api.shell.folder / "all" / "a.yaml").write_text(CONFIG % 1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((CONFIG % 1).replace(": c}", ": d}").encode())))
    assert api.run("apply", "-f", "all", "-f", "-") == "configmap/c created\nconfigmap/d created\n"


def test_what_others_need_comes_first(api: Api) -> None:
    namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: lab}}\n"
    api.shell.write(all=CONFIG.replace("name: c", "name: c, namespace: lab") % 1 + "---\n" + namespace)
    assert api.run("apply", "-f", "all.yaml") == "namespace/lab created\nconfigmap/c created\n"
    assert "c" in api.names("/api/v1/namespaces/lab/configmaps")


def test_a_folder_is_sent_by_kind_and_not_by_file_name(api: Api) -> None:
    """A job must not be seen before the claim that its pods name."""
    spec = "{template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}"
    claim = "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"
    folder = {
        "a-job": f"{{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {spec}}}",
        "b-claim": f"{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: p}}, spec: {claim}}}",
        "c-service": "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {clusterIP: None}}",
        "d-config": (CONFIG % 1).replace("name: c", "name: z"),
        "e-config": CONFIG % 1,
        "f-account": "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}",
    }
    (api.shell.folder / "all").mkdir()
    for name, text in folder.items():
        (api.shell.folder / "all" / f"{name}.yaml").write_text(text)
    assert [line.split()[0] for line in api.run("apply", "-f", "all").splitlines()] == [
        "serviceaccount/a",
        "configmap/z",
        "configmap/c",
        "persistentvolumeclaim/p",
        "service/s",
        "job.batch/j",
    ]


def test_a_kind_and_its_first_object_in_one_file(api: Api) -> None:
    schema = "{openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}"
    definition = f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.example.com}}
spec:
  group: example.com
  scope: Namespaced
  names: {{plural: widgets, kind: Widget}}
  versions: [{{name: v1, served: true, storage: true, schema: {schema}}}]
"""
    widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}\n"
    api.shell.write(all=f"{widget}---{definition}")
    assert api.run("apply", "-f", "all.yaml").splitlines() == [
        "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created",
        "widget.example.com/w created",
    ]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            "{apiVersion: v1, kind: ConfigMapp, metadata: {name: x}}",
            "kind: this cluster has no ConfigMapp in v1; did you",
        ),
        (
            "{apiVersion: nowhere/v1, kind: X, metadata: {name: x}}",
            "apiVersion: this cluster does not serve nowhere/v1",
        ),
        ("{kind: ConfigMap, metadata: {name: x}}", "apiVersion: missing"),
        ("&a {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: *a}", "an anchor refers to itself"),
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, "
            "a: &a [1, 1], b: &b [" + "*a, " * 999 + "], c: [" + "*b, " * 999 + "]}",
            "its aliases stand for more than 4 MiB",
        ),
        ("{apiVersion: v1, kind: ConfigMap}", "metadata.name: missing"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {generateName: x-}}", "can be created, not applied"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, dota: {}}", "dota"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: X_Y}}", "X_Y"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: nowhere}}", "nowhere"),
    ],
)
def test_a_file_with_a_mistake_in_it_changes_nothing(api: Api, wrong: str, words: str) -> None:
    api.shell.write(all=f"{CONFIG % 1}---\n{wrong}")
    assert words in api.refuses("apply", "-f", "all.yaml")
    assert api.get(f"{CONFIGS_URL}/c") is None


def test_a_file_that_is_not_there(api: Api) -> None:
    assert "nowhere.yaml: no such file" in api.refuses("apply", "-f", "nowhere.yaml")
