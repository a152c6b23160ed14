"""The pods of a training job and the services in front of them: copies of the templates, with labels for role and
index."""

from collections.abc import Sequence

from understudy.kinds.children.actions import CreateChild, Document, EventNote, owner_reference
from understudy.kinds.children.training.spec import Replica, TrainingJob, Variables
from understudy.kinds.pod_labels import JOB_ROLE
from understudy.objects.resources import PODS, SERVICES

POD_CREATED = EventNote("SuccessfulCreatePod", "Created pod: {name}")
SERVICE_CREATED = EventNote("SuccessfulCreateService", "Created service: {name}")
OVERWRITTEN = EventNote(
    "SetPodTemplateRestartPolicy",
    "Restart policy in pod template will be overwritten by restart policy in replica spec",
    "Warning",
)


def pod(job: TrainingJob, replica: Replica) -> CreateChild:
    """The training operator adds an init container to workers, which waits for the name of the master to resolve. Here
    pods that are bound together have each other's names from the start, so no pod has to wait."""
    template: Document = replica.role.template
    given: Document = template.get("metadata") or {}
    metadata: Document = {
        **{key: given[key] for key in ("annotations", "finalizers") if given.get(key)},
        **_identity(job, replica),
        "labels": {**(given.get("labels") or {}), **job.labels(replica.role, replica.index), **_lead(job, replica)},
    }
    spec = {
        **template["spec"],
        "containers": _containers(job, replica),
        "restartPolicy": _pod_policy(replica.role.restart_policy),
    }
    return CreateChild(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, POD_CREATED)


def service(job: TrainingJob, replica: Replica) -> CreateChild:
    """Headless: its name resolves to its one pod."""
    labels = job.labels(replica.role, replica.index)
    ports = [_service_port(port) for port in _ports(job, replica.role.containers)]
    spec = {"clusterIP": "None", "selector": labels, "ports": ports}
    metadata = {**_identity(job, replica), "labels": labels}
    document = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    return CreateChild(SERVICES, document, SERVICE_CREATED)


def overwrites(job: TrainingJob) -> bool:
    """Whether a pod template has a restart policy, which the replica spec overrides."""
    return any((role.template.get("spec") or {}).get("restartPolicy") for role in job.roles)


def _identity(job: TrainingJob, replica: Replica) -> Document:
    resource = job.kind.resource
    return {
        "name": replica.name,
        "namespace": job.metadata.namespace,
        "ownerReferences": [owner_reference(resource.api_version, resource.kind, job.metadata)],
    }


def _lead(job: TrainingJob, replica: Replica) -> dict[str, str]:
    """The pod whose log is the log of the job."""
    leader = job.leader
    leads = replica.role is leader if leader else (replica.role.name, replica.index) == ("Worker", 0)
    return {JOB_ROLE: "master"} if leads else {}


def _pod_policy(policy: str) -> str:
    """Exit codes are judged by the controller, not by the kubelet."""
    return "Never" if policy == "ExitCode" else policy


def _containers(job: TrainingJob, replica: Replica) -> list[Document]:
    variables = job.kind.variables(job, replica)
    kind = job.kind
    made = []
    for container in replica.role.containers:
        trains = container.get("name") == kind.container
        new = {**container, "ports": _with_port(job, container)} if trains else container
        made.append(_with_variables(new, variables) if trains or kind.told_everywhere else new)
    return made


def _ports(job: TrainingJob, containers: Sequence[Document]) -> list[Document]:
    return next((_with_port(job, one) for one in containers if one.get("name") == job.kind.container), [])


def _with_port(job: TrainingJob, container: Document) -> list[Document]:
    """With the port of the kind, unless the template names it."""
    ports: list[Document] = list(container.get("ports") or ())
    name, number = job.kind.port
    if any(port.get("name") == name for port in ports):
        return ports
    return [*ports, {"name": name, "containerPort": number, "protocol": "TCP"}]


def _service_port(port: Document) -> Document:
    number = port["containerPort"]
    return {"name": port.get("name") or f"port-{number}", "port": number, "protocol": port.get("protocol", "TCP")}


def _with_variables(container: Document, variables: Variables) -> Document:
    """Variables of the operator come last, and replace those of the template."""
    own = [one for one in container.get("env") or () if one.get("name") not in variables]
    added = [
        {"name": name, "value": value} if isinstance(value, str) else {"name": name, "valueFrom": value}
        for name, value in variables.items()
    ]
    return {**container, "env": own + added} if variables else container
