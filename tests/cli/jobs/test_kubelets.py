"""What fails on the way to a kubelet is told with the way; what the server refuses itself, as it is."""

import pytest

from understudy.cli.jobs.instances import Instance
from understudy.cli.jobs.kubelets import through_kubelet
from understudy.ports import Refused

INSTANCE = Instance(name="j-0", status="RUNNING", node="n7")


def test_a_kubelet_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(Refused) as found, through_kubelet(INSTANCE):
        raise Refused(502, "BadGateway", "dial tcp: no route to host")
    assert found.value.code == 502
    assert found.value.message == ("j-0: the cluster cannot reach the kubelet of node n7: dial tcp: no route to host")


def test_a_refusal_of_the_server_stays_as_it_is() -> None:
    with pytest.raises(Refused, match=r"^no rights$"), through_kubelet(INSTANCE):
        raise Refused(403, "Forbidden", "no rights")
