"""Decodes every object that scheduling reads: those of `understudy.objects`, and the job kinds."""

from understudy.objects.decoding import Decoder
from understudy.objects.jobs import (
    JAXJob,
    Job,
    JobSet,
    MPIJob,
    PaddleJob,
    PyTorchJob,
    TFJob,
    TrainingRuntime,
    TrainJob,
    XGBoostJob,
)

DECODER = Decoder(
    {
        ("batch", "Job"): Job,
        ("jobset.x-k8s.io", "JobSet"): JobSet,
        ("kubeflow.org", "PyTorchJob"): PyTorchJob,
        ("kubeflow.org", "TFJob"): TFJob,
        ("kubeflow.org", "XGBoostJob"): XGBoostJob,
        ("kubeflow.org", "PaddleJob"): PaddleJob,
        ("kubeflow.org", "JAXJob"): JAXJob,
        ("kubeflow.org", "MPIJob"): MPIJob,
        ("trainer.kubeflow.org", "TrainJob"): TrainJob,
        ("trainer.kubeflow.org", "TrainingRuntime"): TrainingRuntime,
        ("trainer.kubeflow.org", "ClusterTrainingRuntime"): TrainingRuntime,
    }
)
KINDS = DECODER.kinds
decode, decode_json = DECODER.decode, DECODER.decode_json
