"""The list of job kinds. To add one, write its file and name it here: everything else asks `registry`."""

from understudy.kinds import job, jobset, mpijob, trainjob
from understudy.kinds.job_kind import JobKind
from understudy.kinds.training_operator import jaxjob, paddlejob, pytorchjob, tfjob, xgboostjob

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
