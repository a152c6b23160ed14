"""The list of job kinds. To add one, write its file and name it here: everything else asks `registry`."""

from understudy.kinds import jaxjob, job, jobset, mpijob, paddlejob, pytorchjob, tfjob, trainjob, xgboostjob
from understudy.kinds.job_kind import JobKind

REGISTERED: tuple[JobKind, ...] = (
    job.KIND,
    jobset.KIND,
    pytorchjob.KIND,
    tfjob.KIND,
    xgboostjob.KIND,
    paddlejob.KIND,
    jaxjob.KIND,
    mpijob.KIND,
    trainjob.KIND,
)
