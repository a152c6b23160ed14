"""--tensorboard: a TensorBoard beside the job, and a Service that leads to it. Both go when the job goes."""

from understudy.cli.submit.pod_template import MANAGED_BY
from understudy.cli.submit.request import Document, JobRequest
from understudy.cli.submit.volumes import data, logs
from understudy.objects.resources import Resource

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
PORT = 6006


def documents(request: JobRequest) -> list[Document]:
    """A Deployment of TensorBoard, and the Service in front of it."""
    labels = {"app": "tensorboard", "release": request.name, MANAGED_BY: "understudy"}
    metadata = {"name": f"{request.name}-tensorboard", "labels": labels}
    template = {"metadata": {"labels": labels}, "spec": _pod(request)}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    board: Document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
    port = {"name": "tensorboard", "port": PORT, "targetPort": PORT}
    service = {"type": "NodePort", "selector": labels, "ports": [port]}
    return [board, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service}]


def _pod(request: JobRequest) -> Document:
    """The pod of TensorBoard. It mounts the data and the logs of the job, but not its code and configuration."""
    placed = [data(request), logs(request)]
    container: Document = {
        "name": "tensorboard",
        "image": request.tensorboard_image,
        "command": ["tensorboard", f"--logdir={request.logdir}", "--host=0.0.0.0", f"--port={PORT}"],
        "ports": [{"name": "http", "containerPort": PORT}],
        "volumeMounts": [mount for one in placed for mount in one.mounts],
    }
    spec: Document = {
        "nodeSelector": dict(request.selector),
        "tolerations": list(request.toleration),
        "containers": [container],
        "volumes": [volume for one in placed for volume in one.volumes],
    }
    return {field: value for field, value in spec.items() if value}
