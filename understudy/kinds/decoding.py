"""Decodes every object that the scheduler reads: those of `understudy.objects`, and the jobs of all kinds."""

from understudy.kinds.registry import KINDS as JOB_KINDS
from understudy.objects.decoding import Decoder
from understudy.objects.jobs import TrainingRuntime
from understudy.objects.resources import CLUSTER_TRAINING_RUNTIMES, TRAINING_RUNTIMES

DECODER = Decoder(
    {
        **{(kind.resource.group, kind.name): kind.struct for kind in JOB_KINDS.values()},
        **{(one.group, one.kind): TrainingRuntime for one in (TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES)},
    },
    {kind.struct: kind.problems for kind in JOB_KINDS.values()},
)
KINDS = DECODER.kinds
decode, decode_json = DECODER.decode, DECODER.decode_json
