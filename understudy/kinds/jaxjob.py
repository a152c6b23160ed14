"""JAXJob: workers, the first of which coordinates."""

from understudy.kinds.outlines import Outline
from understudy.kinds.training import RUN_POLICY, replicas_outline
from understudy.objects.jobs import JAXJob

LEVER = RUN_POLICY


def outline(job: JAXJob) -> Outline:
    return replicas_outline(job, "jaxReplicaSpecs", ("worker",))
