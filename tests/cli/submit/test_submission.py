"""Options into a job that is checked, printed or created."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.submit.api import Api
from tests.embedded.manifests import job
from understudy.cli.session import Session
from understudy.cli.submit import submission
from understudy.objects.resources import JOBS
from understudy.ports import Ref, Refused, Unreachable

JOBS_URL = "/apis/batch/v1/namespaces/default/jobs"
CONFIGS_URL = "/api/v1/namespaces/default/configmaps"
MPI_URL = "/apis/kubeflow.org/{}/namespaces/default/mpijobs/m"


def test_the_job_is_made_and_told_of_as_arena_does(api: Api) -> None:
    api.define("mpijobs")
    api.priorities(medium=1_000_000)
    arguments = ("submit", "mpi", "--name=medium", "--priority=medium", "--gpus=1", "--workers=1", "--image=horovod")
    code, out, err = api.shell.run(*arguments, "mpirun tail -f /dev/null")
    assert code == 0
    assert out == "mpijob.kubeflow.org/medium created\n"
    assert err.splitlines() == [
        "INFO[0000] The Job medium has been submitted successfully",
        "INFO[0000] You can run `understudy get medium --type mpijob` to check the job status",
    ]


def test_what_is_told_leads_to_the_same_cluster(api: Api) -> None:
    _, _, err = api.shell.run("submit", "job", "--name=j", "-n=default", "--cluster=default", "true")
    assert "`understudy get j --type job -n default --cluster default`" in err


def test_a_quiet_log_level_leaves_only_what_was_made(api: Api) -> None:
    assert api.shell.run("--loglevel", "warn", "submit", "job", "--name=j", "true") == (0, "job.batch/j created\n", "")


def test_what_goes_with_the_job_belongs_to_it(api: Api) -> None:
    Path("app.conf").write_text("a = 1")
    out = api.run("submit", "job", "--name=j", "--config-file=app.conf:/etc/app.conf", "--tensorboard", "cat")
    config = next(name for name in api.names(CONFIGS_URL) if name.startswith("j-"))
    assert out.splitlines() == [
        "job.batch/j created",
        f"configmap/{config} created",
        "deployment.apps/j-tensorboard created",
        "service/j-tensorboard created",
    ]
    owner, stored = api.get(f"{JOBS_URL}/j"), api.get(f"{CONFIGS_URL}/{config}")
    assert owner is not None
    assert stored is not None
    [ref] = stored["metadata"]["ownerReferences"]
    assert (ref["kind"], ref["name"], ref["uid"]) == ("Job", "j", owner["metadata"]["uid"])
    assert stored["data"] == {"app.conf": "a = 1"}


@pytest.mark.parametrize("trouble", [Refused(403, "Forbidden", "no more of these"), Unreachable("gone")])
def test_what_was_made_is_removed_when_the_rest_fails(api: Api, trouble: Exception) -> None:
    Path("app.conf").write_text("a = 1")
    api.troubles["POST /api/v1/namespaces/default/services"] = trouble
    code, out, err = api.shell.run(
        "submit", "job", "--name=j", "--config-file=app.conf:/etc/app.conf", "--tensorboard", "cat"
    )
    assert (code, out) == (1, "")
    assert str(trouble) in err
    assert api.names(JOBS_URL) == []
    assert [name for name in api.names(CONFIGS_URL) if name.startswith("j-")] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--name=taken"], "--name taken: job.batch/taken exists already in namespace default"),
        (["--name=j", "--priority=hihg"], "did you mean high? There are high (1000), low (10), system-node-critical"),
        (["--name=j", "--priority=zzz"], "--priority zzz: there is no such PriorityClass; there are high (1000)"),
        (["--name=j", "--data=nothing:/data"], "no such PersistentVolumeClaim in namespace default; there are corpus"),
        (["--name=j", "--data=corpsu:/data"], "did you mean corpus?"),
        (["--name=j", "-n=nowhere"], 'namespaces "nowhere" not found'),
        (["--name=j", "--set=spec.nonsense=1"], "nonsense"),
        (["--sync-mode=git", "--name=j"], "--sync-mode git: says how, not from where; add --sync-source"),
        (["--sync-source=x", "--name=j"], "--sync-source x: says where, not how"),
        ([], "--name: missing"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_anything_is_made(api: Api, arguments: list[str], words: str) -> None:
    api.priorities(high=1000, low=10)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    api.post("/api/v1/namespaces/default/persistentvolumeclaims", {"metadata": {"name": "corpus"}, "spec": claim})
    api.run("submit", "job", "--name=taken", "true")
    assert words in api.refuses("submit", "job", *arguments, "true")
    assert api.names(JOBS_URL) == ["taken"]


def test_a_command_is_needed(api: Api) -> None:
    assert "a command is missing" in api.refuses("submit", "job", "--name=j")


def test_a_kind_is_needed_or_a_manifest(api: Api) -> None:
    assert "say which KIND" in api.refuses("submit", "--name=j")


def test_flags_in_front_of_the_kind_are_not_lost_silently(api: Api) -> None:
    assert "--dry-run: put flags behind the KIND" in api.refuses("submit", "--dry-run", "job", "--name=j", "true")


@pytest.mark.parametrize(
    ("served", "chosen"),
    [
        (("v1alpha1", "v1", "v2beta1"), "v2beta1"),
        (("v1alpha1", "v1"), "v1"),
        (("v1alpha1",), "v1alpha1"),
    ],
)
def test_an_mpijob_is_made_in_the_best_version_there_is(api: Api, served: tuple[str, ...], chosen: str) -> None:
    api.define("mpijobs", versions=served)
    api.run("submit", "mpi", "--name=m", "mpirun true")
    assert any(entry.startswith(f"POST /apis/kubeflow.org/{chosen}/") for entry in api.log)
    stored = api.get(MPI_URL.format(chosen))
    assert stored is not None
    assert ("template" in stored["spec"]) == (chosen == "v1alpha1")


def test_the_version_of_an_mpijob_can_be_asked_for(api: Api) -> None:
    api.define("mpijobs")
    api.run("submit", "mpi", "--name=m", "--mpi-version=v1alpha1", "mpirun true")
    assert all("/v1alpha1/" in entry for entry in api.log)


def test_a_kind_the_cluster_does_not_have(api: Api) -> None:
    assert "no PyTorchJob (kubeflow.org/v1)" in api.refuses("submit", "pytorch", "--name=p", "true")


def test_a_field_the_cluster_s_kind_does_not_have(api: Api) -> None:
    api.define("tfjobs")
    said = api.refuses("submit", "tf", "--name=t", "--starting-timeout=5m", "true")
    assert "--starting-timeout: TFJob of this cluster has no startingDeadlineSeconds" in said


def test_elsewhere_pods_need_images_and_cannot_see_this_machine(api: Api) -> None:
    api.be_elsewhere()
    Path("code").mkdir()
    assert "--image: missing" in api.refuses("submit", "job", "--name=j", "true")
    said = api.refuses("submit", "job", "--name=j", "--image=i", "--sync-mode=git", "--sync-source=code", "true")
    assert "a folder of this machine" in said
    api.run("submit", "job", "--name=j", "--image=i", "true")


@pytest.mark.parametrize(("flag", "live_view"), [("--wait", False), ("--watch", True)])
@pytest.mark.parametrize("code", [0, 1])
def test_a_job_can_be_followed(
    api: Api, monkeypatch: pytest.MonkeyPatch, flag: str, live_view: bool, code: int
) -> None:
    seen: list[tuple[Any, ...]] = []

    async def follow_job(session: Session, job: Ref, *, live: bool) -> int:
        seen.append((session.namespace, job, live))
        return code

    monkeypatch.setattr(submission, "follow_job", follow_job)
    assert api.shell.run("submit", "job", "--name=j", flag, "true")[0] == code
    assert seen == [("default", Ref(JOBS, "default", "j"), live_view)]


def test_a_dry_run_prints_yaml_and_needs_no_cluster(shell: Any) -> None:
    code, out, err = shell.run("submit", "mpi", "--name=m", "--priority=any", "--dry-run", "mpirun true")
    assert (code, err) == (0, "")
    [document] = yaml.safe_load_all(out)
    assert (document["apiVersion"], document["kind"]) == ("kubeflow.org/v2beta1", "MPIJob")


def test_a_dry_run_says_in_which_namespace(shell: Any) -> None:
    Path("a").touch()
    _, out, _ = shell.run("submit", "job", "--name=j", "-n", "lab", "--config-file=a:/x/a", "--dry-run", "true")
    assert [one["metadata"]["namespace"] for one in yaml.safe_load_all(out)] == ["lab", "lab"]


def test_a_dry_run_changes_nothing(api: Api) -> None:
    api.run("submit", "job", "--name=j", "--dry-run", "true")
    assert api.log == []


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["echo $HOME && ls"], "echo $HOME && ls"),
        (["--", "python", "train.py", "--name", "a b"], "exec python train.py --name 'a b'"),
    ],
)
def test_one_word_is_a_line_for_the_shell_and_several_are_a_command(api: Api, words: list[str], line: str) -> None:
    out = api.run("submit", "job", "--name=j", "--shell=bash", "--dry-run", *words)
    container = yaml.safe_load(out)["spec"]["template"]["spec"]["containers"][0]
    assert container["command"] == ["bash", "-c", line]


JOB_URL = "/apis/batch/v1/namespaces/default/jobs/j"
FLAGS = ("submit", "job", "--name=j", "--image=i")


def pods_of(document: dict[str, Any] | None) -> dict[str, Any]:
    assert document is not None
    spec: dict[str, Any] = document["spec"]["template"]["spec"]
    return spec


def manifest(**spec: str) -> str:
    document = job("j")
    document["spec"]["template"]["spec"].update(spec)
    Path("job.yaml").write_text(yaml.safe_dump(document))
    return "job.yaml"


def test_on_an_embedded_cluster_every_pod_is_ours_as_it_is(api: Api) -> None:
    api.run(*FLAGS, "true")
    assert pods_of(api.get(JOB_URL))["schedulerName"] == "default-scheduler"


@pytest.mark.parametrize(("flags", "scheduler"), [((), "understudy"), (("--scheduler=other",), "other")])
def test_elsewhere_pods_ask_for_our_scheduler_unless_told_otherwise(
    api: Api, flags: tuple[str, ...], scheduler: str
) -> None:
    api.be_elsewhere()
    dry = yaml.safe_load(api.run(*FLAGS, *flags, "--dry-run", "true"))
    assert pods_of(dry)["schedulerName"] == scheduler
    api.run(*FLAGS, *flags, "true")
    assert pods_of(api.get(JOB_URL))["schedulerName"] == scheduler


@pytest.mark.parametrize(("spec", "scheduler"), [({}, "understudy"), ({"schedulerName": "mine"}, "mine")])
def test_a_manifest_keeps_the_scheduler_it_names(api: Api, spec: dict[str, str], scheduler: str) -> None:
    api.be_elsewhere()
    api.run("submit", "-f", manifest(**spec))
    assert pods_of(api.get(JOB_URL))["schedulerName"] == scheduler


def test_other_clusters_hold_no_understudies_ready(api: Api) -> None:
    api.be_elsewhere()
    said = "understudy: --warm 1: only embedded clusters hold understudies ready; leave it out, and label nodes "
    assert api.refuses(*FLAGS, "--warm=1", "true").startswith(said)
    assert api.refuses("submit", "-f", manifest(), "--warm=1").startswith(said)


def test_a_dry_run_needs_no_cluster_but_the_one_it_names(api: Api) -> None:
    api.be_elsewhere()
    refused = api.refuses(*FLAGS, "--dry-run", "--kubeconfig=none-such", "true")
    assert refused.startswith("understudy: none-such: cannot be read")
