"""`kubectl get` of every kind but pods."""

from typing import Any

import pytest

from tests.embedded.api.tables.printed_lines import CREATED, line
from understudy.objects import resources
from understudy.objects.resources import Resource

TRUE = "True"


def node(ready: str = TRUE, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    info = {"kubeletVersion": "v1.33.0", "osImage": "Debian", "kernelVersion": "6.1"}
    return {
        "metadata": {"labels": labels or {}},
        "spec": spec,
        "status": {
            "conditions": [{"type": "Ready", "status": ready}] if ready else [],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "nodeInfo": info,
        },
    }


def job(*conditions: str, spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    held = [{"type": kind, "status": TRUE} for kind in conditions]
    return {"spec": spec or {"completions": 1}, "status": {"conditions": held, **status}}


def service(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return {"spec": {"clusterIP": "10.0.0.1", **spec}, "status": status or {}}


def workload(spec: dict[str, Any], **status: Any) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"spec": {"selector": {"matchLabels": {"b": "1"}}, "template": pod, **spec}, "status": status}


def event(**more: Any) -> dict[str, Any]:
    return {"involvedObject": {"kind": "Pod", "name": "p"}, "type": "Normal", "reason": "Preempted", **more}


def endpoints(*addresses: str, ports: tuple[int, ...] = (80,)) -> dict[str, Any]:
    reached = {"addresses": [{"ip": ip} for ip in addresses], "ports": [{"port": port} for port in ports]}
    return {"subsets": [reached]}


LINES: list[tuple[Resource, dict[str, Any], dict[str, Any]]] = [
    (
        resources.NODES,
        node(
            labels={"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/gpu": "", "kubernetes.io/role": "x"}
        ),
        {
            "Name": "a",
            "Status": "Ready",
            "Roles": "gpu,worker,x",
            "Age": "5m",
            "Version": "v1.33.0",
            "Internal-IP": "127.0.0.1",
            "External-IP": "<none>",
            "OS-Image": "Debian",
            "Kernel-Version": "6.1",
            "Container-Runtime": "<unknown>",
        },
    ),
    (resources.NODES, node(unschedulable=True), {"Status": "Ready,SchedulingDisabled", "Roles": "<none>"}),
    (resources.NODES, node("False"), {"Status": "NotReady"}),
    (resources.NODES, node("Unknown"), {"Status": "NotReady"}),
    (resources.NODES, node(""), {"Status": "Unknown"}),
    (
        resources.EVENTS,
        event(
            message="Preempted by default/critical-worker-0 on node n1 \n",
            source={"component": "understudy", "host": "here"},
            firstTimestamp="2026-01-01T11:00:00Z",
            lastTimestamp="2026-01-01T11:59:30Z",
            count=3,
        ),
        {
            "Last Seen": "30s",
            "Type": "Normal",
            "Reason": "Preempted",
            "Object": "pod/p",
            "Subobject": "",
            "Source": "understudy, here",
            "Message": "Preempted by default/critical-worker-0 on node n1",
            "First Seen": "60m",
            "Count": 3,
            "Name": "a",
        },
    ),
    (
        resources.EVENTS,
        event(eventTime="2026-01-01T11:58:30.000000Z", reportingComponent="new-style"),
        {"Last Seen": "90s", "First Seen": "90s", "Count": 1, "Source": "new-style"},
    ),
    (
        resources.EVENTS,
        event(series={"count": 7, "lastObservedTime": "2026-01-01T11:59:59.000000Z"}, firstTimestamp=CREATED),
        {"Last Seen": "1s", "First Seen": "5m", "Count": 7},
    ),
    (resources.EVENTS, {"involvedObject": {"kind": "Node"}}, {"Object": "node", "Last Seen": "<unknown>"}),
    (
        resources.JOBS,
        job(
            spec={
                "completions": 4,
                "selector": {
                    "matchLabels": {"b": "1"},
                    "matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}],
                },
                "template": {"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]}},
            },
            succeeded=1,
            startTime=CREATED,
        ),
        {
            "Name": "a",
            "Status": "Running",
            "Completions": "1/4",
            "Duration": "5m",
            "Age": "5m",
            "Containers": "c,d",
            "Images": "i,j",
            "Selector": "a in (x,y),b=1",
        },
    ),
    (
        resources.JOBS,
        job("Complete", startTime=CREATED, completionTime="2026-01-01T11:55:42Z", succeeded=1),
        {"Status": "Complete", "Completions": "1/1", "Duration": "42s", "Selector": "<none>"},
    ),
    (resources.JOBS, job("SuccessCriteriaMet", "Failed"), {"Status": "Failed", "Duration": ""}),
    (resources.JOBS, job("Suspended"), {"Status": "Suspended"}),
    (resources.JOBS, job("Suspended") | {"metadata": {"deletionTimestamp": CREATED}}, {"Status": "Terminating"}),
    (resources.JOBS, job("Failed") | {"metadata": {"deletionTimestamp": CREATED}}, {"Status": "Failed"}),
    (resources.JOBS, job("FailureTarget"), {"Status": "FailureTarget"}),
    (resources.JOBS, job(spec={"parallelism": 3}), {"Completions": "0/1 of 3"}),
    (resources.JOBS, job(spec={"parallelism": 1}), {"Completions": "0/1"}),
    (
        resources.DEPLOYMENTS,
        workload({"replicas": 3}, readyReplicas=1, updatedReplicas=3, availableReplicas=2),
        {
            "Name": "a",
            "Ready": "1/3",
            "Up-to-date": 3,
            "Available": 2,
            "Age": "5m",
            "Containers": "c",
            "Images": "i",
            "Selector": "b=1",
        },
    ),
    (
        resources.REPLICA_SETS,
        workload({"replicas": 3}, replicas=2, readyReplicas=1),
        {"Desired": 3, "Current": 2, "Ready": 1, "Age": "5m", "Selector": "b=1"},
    ),
    (resources.STATEFUL_SETS, workload({"replicas": 3}, readyReplicas=2), {"Ready": "2/3", "Age": "5m", "Images": "i"}),
    (
        resources.DAEMON_SETS,
        workload(
            {},
            desiredNumberScheduled=5,
            currentNumberScheduled=4,
            numberReady=3,
            updatedNumberScheduled=2,
            numberAvailable=1,
        ),
        {"Desired": 5, "Current": 4, "Ready": 3, "Up-to-date": 2, "Available": 1, "Node Selector": "<none>"},
    ),
    (
        resources.CONTROLLER_REVISIONS,
        {
            "metadata": {
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": True}]
            },
            "revision": 7,
        },
        {"Name": "a", "Controller": "statefulset.apps/db", "Revision": 7, "Age": "5m"},
    ),
    (
        resources.ENDPOINT_SLICES,
        {
            "addressType": "IPv4",
            "endpoints": [{"addresses": [f"10.0.0.{number}"]} for number in range(5)],
            "ports": [{"port": 80}],
        },
        {"AddressType": "IPv4", "Ports": "80", "Endpoints": "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more...", "Age": "5m"},
    ),
    (
        resources.INGRESSES,
        {"spec": {"ingressClassName": "nginx", "rules": [{"host": "a.com"}, {"host": "b.com"}], "tls": [{}]}},
        {"Class": "nginx", "Hosts": "a.com,b.com", "Address": "", "Ports": "80, 443", "Age": "5m"},
    ),
    (resources.INGRESSES, {}, {"Class": "<none>", "Hosts": "*", "Ports": "80"}),
    (
        resources.INGRESS_CLASSES,
        {"spec": {"controller": "x/y", "parameters": {"kind": "P", "apiGroup": "g", "name": "n"}}},
        {"Controller": "x/y", "Parameters": "P.g/n"},
    ),
    (resources.NETWORK_POLICIES, {"spec": {"podSelector": {"matchLabels": {"b": "1"}}}}, {"Pod-Selector": "b=1"}),
    (
        resources.AUTOSCALERS,
        {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 5}},
        {"Reference": "Deployment/web", "Targets": "<unknown>", "MinPods": "1", "MaxPods": 5, "Replicas": 0},
    ),
    (
        resources.STORAGE_CLASSES,
        {"provisioner": "p", "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
        {"Provisioner": "p", "ReclaimPolicy": "Delete", "AllowVolumeExpansion": False},
    ),
    (resources.VALIDATING_WEBHOOKS, {"webhooks": [{"name": "x"}]}, {"Webhooks": 1, "Age": "5m"}),
    (
        resources.CRON_JOBS,
        {
            "spec": {"schedule": "@hourly", "jobTemplate": {"spec": workload({})["spec"]}},
            "status": {"active": [{"name": "a-1"}], "lastScheduleTime": CREATED},
        },
        {
            "Schedule": "@hourly",
            "Timezone": "<none>",
            "Suspend": "False",
            "Active": 1,
            "Last Schedule": "5m",
            "Age": "5m",
            "Containers": "c",
        },
    ),
    (resources.NAMESPACES, {"status": {"phase": "Active"}}, {"Name": "a", "Status": "Active", "Age": "5m"}),
    (
        resources.SERVICES,
        service(type="ClusterIP", ports=[{"port": 80, "protocol": "TCP"}], selector={"b": "2", "a": "1"}),
        {
            "Name": "a",
            "Type": "ClusterIP",
            "Cluster-IP": "10.0.0.1",
            "External-IP": "<none>",
            "Port(s)": "80/TCP",
            "Age": "5m",
            "Selector": "a=1,b=2",
        },
    ),
    (
        resources.SERVICES,
        service(type="NodePort", ports=[{"port": 80, "nodePort": 30080}, {"port": 53, "protocol": "UDP"}]),
        {"Port(s)": "80:30080/TCP,53/UDP", "Selector": "<none>"},
    ),
    (resources.SERVICES, service(clusterIP="None", clusterIPs=["None"]), {"Cluster-IP": "None", "Port(s)": "<none>"}),
    (resources.SERVICES, service(type="LoadBalancer"), {"External-IP": "<pending>"}),
    (
        resources.SERVICES,
        service({"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "lb"}]}}, type="LoadBalancer"),
        {"External-IP": "1.2.3.4,lb"},
    ),
    (
        resources.SERVICES,
        service(clusterIP="", type="ExternalName", externalName="x.org"),
        {"External-IP": "x.org", "Cluster-IP": "<none>"},
    ),
    (resources.ENDPOINTS, endpoints("10.0.0.1"), {"Name": "a", "Endpoints": "10.0.0.1:80", "Age": "5m"}),
    (
        resources.ENDPOINTS,
        endpoints("10.0.0.1", "10.0.0.2", ports=(80, 81)),
        {"Endpoints": "10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more..."},
    ),
    (resources.ENDPOINTS, endpoints("10.0.0.1", "::1", ports=()), {"Endpoints": "10.0.0.1,::1"}),
    (resources.ENDPOINTS, endpoints("::1"), {"Endpoints": "[::1]:80"}),
    (resources.ENDPOINTS, {}, {"Endpoints": "<none>"}),
    (
        resources.CONFIG_MAPS,
        {"data": {"x": "1", "y": "2"}, "binaryData": {"z": "AA=="}},
        {"Name": "a", "Data": 3, "Age": "5m"},
    ),
    (
        resources.SECRETS,
        {"type": "Opaque", "data": {"x": "AA=="}},
        {"Name": "a", "Type": "Opaque", "Data": 1, "Age": "5m"},
    ),
    (resources.SERVICE_ACCOUNTS, {"secrets": [{"name": "s"}]}, {"Name": "a", "Secrets": 1, "Age": "5m"}),
    (
        resources.CLAIMS,
        {
            "spec": {"volumeName": "v", "storageClassName": "fast", "volumeMode": "Filesystem"},
            "status": {
                "phase": "Bound",
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
            },
        },
        {
            "Name": "a",
            "Status": "Bound",
            "Volume": "v",
            "Capacity": "1Gi",
            "Access Modes": "RWO,RWX",
            "StorageClass": "fast",
            "VolumeAttributesClass": "<unset>",
            "Age": "5m",
            "VolumeMode": "Filesystem",
        },
    ),
    (
        resources.CLAIMS,
        {"spec": {"accessModes": ["ReadWriteOnce"]}, "status": {"phase": "Pending"}},
        {"Status": "Pending", "Volume": "", "Capacity": "", "Access Modes": "", "VolumeMode": "<unset>"},
    ),
    (resources.CLAIMS, {"metadata": {"deletionTimestamp": CREATED}}, {"Status": "Terminating"}),
    (
        resources.VOLUMES,
        {
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOncePod"],
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "team", "name": "data"},
            },
            "status": {"phase": "Bound"},
        },
        {
            "Name": "a",
            "Capacity": "1Gi",
            "Access Modes": "RWOP",
            "Reclaim Policy": "Retain",
            "Status": "Bound",
            "Claim": "team/data",
            "StorageClass": "",
            "VolumeAttributesClass": "<unset>",
            "Reason": "",
            "Age": "5m",
            "VolumeMode": "<unset>",
        },
    ),
    (resources.LEASES, {"spec": {"holderIdentity": "me"}}, {"Name": "a", "Holder": "me", "Age": "5m"}),
    (
        resources.PRIORITY_CLASSES,
        {"value": 1000, "preemptionPolicy": "Never"},
        {"Name": "a", "Value": 1000, "Global-Default": False, "Age": "5m", "PreemptionPolicy": "Never"},
    ),
    (
        resources.BUDGETS,
        {"spec": {"maxUnavailable": "30%"}, "status": {"disruptionsAllowed": 2}},
        {"Name": "a", "Min Available": "N/A", "Max Unavailable": "30%", "Allowed Disruptions": 2, "Age": "5m"},
    ),
    (resources.BUDGETS, {"spec": {"minAvailable": 0}}, {"Min Available": "0", "Max Unavailable": "N/A"}),
    (resources.DEFINITIONS, {}, {"Name": "a", "Created At": CREATED}),
]


@pytest.mark.parametrize(("resource", "document", "expected"), LINES)
def test_lines(resource: Resource, document: dict[str, Any], expected: dict[str, Any]) -> None:
    printed = line(resource, document)
    assert {name: printed.get(name) for name in expected} == expected
    if "Name" in expected:  # the whole line, in the order kubectl shows it
        assert list(printed) == list(expected)
