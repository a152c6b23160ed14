"""JAXJob: workers, the first of which coordinates."""

from understudy.kinds.outline import GangOutline
from understudy.kinds.training_operator import RUN_POLICY_CONTROL, replicas_outline
from understudy.objects.jobs import JAXJob

CONTROL = RUN_POLICY_CONTROL


def outline(job: JAXJob) -> GangOutline:
    return replicas_outline(job, "jaxReplicaSpecs", ("worker",))
