"""PaddleJob: workers that meet at the first of them, or trainers that meet at a parameter server, the master."""

from functools import partial

from understudy.kinds.children import training
from understudy.kinds.children.training import Kind, Replica, TrainingJob, all_done, when_seats_are_open
from understudy.kinds.children.wanted import Document
from understudy.objects.resources import PADDLE_JOBS

MASTER, WORKER = "Master", "Worker"
OWN_ADDRESS: Document = {"fieldRef": {"fieldPath": "status.podIP"}}


def variables(job: TrainingJob, replica: Replica) -> dict[str, str | Document]:
    told: dict[str, str | Document] = {
        "PYTHONUNBUFFERED": "1",
        "PADDLE_JOB_ID": job.metadata.name,
        "PADDLE_NNODES": str(job.total),
    }
    meeting = MASTER if job.leader is not None else WORKER
    port = job.port(meeting)
    if replica.role.name == meeting and replica.index == 0:  # the one the others come to listens on its own address
        told |= {"POD_IP_DUMMY": OWN_ADDRESS, "PADDLE_MASTER": f"$(POD_IP_DUMMY):{port}"}
    else:
        told |= {"PADDLE_MASTER": f"{job.replica_name(meeting, 0)}:{port}"}
    if job.leader is not None:
        told["PADDLE_SERVER_NUM" if replica.role.name == MASTER else "PADDLE_TRAINER_NUM"] = "1"
    return told


KIND = Kind(
    resource=PADDLE_JOBS,
    field="paddleReplicaSpecs",
    roles=(MASTER, WORKER),
    container="paddle",
    port=("master", 36543),
    restart_policy="OnFailure",
    variables=variables,
    enough=all_done,
    failed=when_seats_are_open,
    leaders=(MASTER,),
)

children = partial(training.children, KIND)
