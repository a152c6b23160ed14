"""KWOK's stages, which take the place of kubelets: nodes become ready, and pods run until they are deleted.

Annotations of a pod say how long it takes, such as `2s`: RUNS_AFTER to start, LEAVES_AFTER to end when it is deleted.
"""

from typing import Any

ATTENDED = "kwok.x-k8s.io/node"  # the label of nodes that KWOK looks after; without it a node is dead to the world
RUNS_AFTER = "tests.understudy.dev/runs-after"
LEAVES_AFTER = "tests.understudy.dev/leaves-after"

NODE_READY = """
{{ $now := Now }}
conditions:
- {type: Ready, status: "True", reason: KubeletReady, message: "", lastHeartbeatTime: {{ $now | Quote }}, lastTransitionTime: {{ $now | Quote }}}
{{ range $kind := list "MemoryPressure" "DiskPressure" "PIDPressure" }}
- {type: {{ $kind }}, status: "False", reason: KubeletHasEnough, message: "", lastHeartbeatTime: {{ $now | Quote }}, lastTransitionTime: {{ $now | Quote }}}
{{ end }}
"""  # noqa: E501

POD_RUNS = """
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
conditions:
{{ range $kind := list "PodReadyToStartContainers" "Initialized" "ContainersReady" "Ready" }}
- {type: {{ $kind }}, status: "True", lastTransitionTime: {{ $now | Quote }}}
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ $now | Quote }}}}
{{ end }}
initContainerStatuses:
{{ range .spec.initContainers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  restartCount: 0
  {{ if eq (or .restartPolicy "") "Always" }}
  started: true
  state: {running: {startedAt: {{ $now | Quote }}}}
  {{ else }}
  state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}}
  {{ end }}
{{ end }}
{{ with NodeIPsWith .spec.nodeName }}
hostIP: {{ index . 0 | Quote }}
hostIPs: [{ip: {{ index . 0 | Quote }}}]
{{ end }}
{{ with PodIPsWith .spec.nodeName (or .spec.hostNetwork false) .metadata.uid .metadata.name .metadata.namespace }}
podIP: {{ index . 0 | Quote }}
podIPs: [{ip: {{ index . 0 | Quote }}}]
{{ end }}
"""


def stages() -> list[dict[str, Any]]:
    unready = _where('.status.conditions.[] | select( .type == "Ready" ) | .status', "NotIn", "True")
    alive = _where(".metadata.deletionTimestamp", "DoesNotExist")
    deleted = _where(".metadata.deletionTimestamp", "Exists")
    pending = _where(".status.phase", "In", "Pending")
    return [
        _stage("node-ready", "Node", [unready], {"statusTemplate": NODE_READY}),
        _stage("pod-runs", "Pod", [alive, pending], {"statusTemplate": POD_RUNS}, RUNS_AFTER),
        _stage("pod-leaves", "Pod", [deleted], {"finalizers": {"empty": True}, "delete": True}, LEAVES_AFTER),
    ]


def _stage(
    name: str, kind: str, conditions: list[dict[str, Any]], then: dict[str, Any], delay: str = ""
) -> dict[str, Any]:
    late = {
        "delay": {"durationMilliseconds": 0, "durationFrom": {"expressionFrom": f'.metadata.annotations["{delay}"]'}}
    }
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": conditions},
            **(late if delay else {}),
            "next": then,
        },
    }


def _where(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
