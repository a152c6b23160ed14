"""PaddleJob: workers that meet at the first of them, or trainers that meet at a parameter server, the master."""

from functools import partial

from understudy.kinds.children.actions import Document
from understudy.kinds.children.training.reconcile import reconcile as training_children
from understudy.kinds.children.training.spec import Replica, TrainingJob, TrainingKind
from understudy.kinds.children.training.state import all_workers_done
from understudy.kinds.children.training.verdict import fails_when_lacking
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


KIND = TrainingKind(
    resource=PADDLE_JOBS,
    field="paddleReplicaSpecs",
    roles=(MASTER, WORKER),
    container="paddle",
    port=("master", 36543),
    restart_policy="OnFailure",
    variables=variables,
    enough=all_workers_done,
    failed=fails_when_lacking,
    leaders=(MASTER,),
)

children = partial(training_children, KIND)
