"""How long the way of a new pod through its form takes. Printed with -s, held to nothing."""

import json
import sys
import time

from tests.embedded.schema.forms import FORMS, UID, classes, container, pod
from understudy.embedded.schema.served_resource import Strictness

ROUNDS = 500


def test_the_time_a_new_pod_takes_is_told() -> None:
    env = [{"name": "RANK", "value": "0"}, {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    limits = {"nvidia.com/gpu": 1, "cpu": "4", "memory": "16Gi"}
    main = container(env=env, resources={"limits": limits}, volumeMounts=[{"name": "data", "mountPath": "/data"}])
    given = pod(containers=[main], volumes=[{"name": "data", "emptyDir": {}}], priorityClassName="high")
    body, lookup, form = json.dumps(given).encode(), classes(high=1000), FORMS["Pod"]
    stored = b""
    start = time.perf_counter()
    for _ in range(ROUNDS):
        draft = form.read(body, Strictness.STRICT).draft
        draft.metadata.uid = UID
        form.admit_create(draft, lookup)
        stored = draft.encode()
    each = (time.perf_counter() - start) / ROUNDS * 1e6
    sys.stdout.write(f"read, admit and encode a pod of {len(stored)} bytes: {each:.0f} microseconds\n")
    assert form.load(stored).metadata.uid == UID
