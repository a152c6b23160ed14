"""Kinds of capacity: which labels make a node spot."""

import pytest

from understudy.control.view.node_capacity import capacity_of
from understudy.model.nodes import Capacity


@pytest.mark.parametrize(
    "labels",
    [
        {"kubernetes.azure.com/scalesetpriority": "spot"},
        {"understudy.dev/spot": "true"},
        {"cloud.google.com/gke-spot": "true"},
        {"cloud.google.com/gke-preemptible": "true"},
        {"eks.amazonaws.com/capacityType": "SPOT"},
        {"karpenter.sh/capacity-type": "spot"},
    ],
)
def test_labels_of_the_clouds_mark_spot_nodes(labels: dict[str, str]) -> None:
    assert capacity_of(labels, {}) is Capacity.SPOT


@pytest.mark.parametrize("labels", [{}, {"eks.amazonaws.com/capacityType": "ON_DEMAND"}, {"pool": "cheap"}])
def test_other_nodes_are_on_demand(labels: dict[str, str]) -> None:
    assert capacity_of(labels, {}) is Capacity.ON_DEMAND


def test_an_operator_names_a_label_of_their_own() -> None:
    assert capacity_of({"pool": "cheap"}, {"pool": "cheap"}) is Capacity.SPOT
