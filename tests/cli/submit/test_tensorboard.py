"""A TensorBoard beside the job, and where the two meet."""

from tests.cli.shell import Shell
from tests.cli.submit.making import made


def test_a_deployment_and_a_service_that_leads_to_it(shell: Shell) -> None:
    _, board, service = made(shell, "tf", "--tensorboard", "--tensorboard-image=own", "--logdir=/logs")
    assert (board["kind"], service["kind"], service["spec"]["type"]) == ("Deployment", "Service", "NodePort")
    assert board["metadata"]["name"] == service["metadata"]["name"] == "j-tensorboard"
    template = board["spec"]["template"]
    assert service["spec"]["selector"] == template["metadata"]["labels"] == board["spec"]["selector"]["matchLabels"]
    [container] = template["spec"]["containers"]
    assert container["image"] == "own"
    assert container["command"] == ["tensorboard", "--logdir=/logs", "--host=0.0.0.0", "--port=6006"]


def test_without_shared_data_they_meet_in_a_folder_of_the_node(shell: Shell) -> None:
    job, board, _ = made(shell, "job", "--tensorboard")
    for spec in (job["spec"]["template"]["spec"], board["spec"]["template"]["spec"]):
        assert [volume["hostPath"]["path"] for volume in spec["volumes"]] == ["/tmp/understudy-logs/j"]
        assert [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]] == ["/training_logs"]


def test_with_shared_data_they_meet_there(shell: Shell) -> None:
    job, board, _ = made(shell, "job", "--tensorboard", "--data=runs:/runs", "--logdir=/runs/logs")
    for spec in (job["spec"]["template"]["spec"], board["spec"]["template"]["spec"]):
        assert [volume["persistentVolumeClaim"]["claimName"] for volume in spec["volumes"]] == ["runs"]
