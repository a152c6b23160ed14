"""Prices of nodes and seats: turns the policy's price list into what a node and a seat on it cost an hour."""

from understudy.decide.policy import Policy
from understudy.model.gangs import Shape
from understudy.model.nodes import Node

UNKNOWN_PRICE = 1e9  # orders nodes without a price after all others


def node_price(node: Node, policy: Policy) -> float | None:
    """What the node costs an hour, by the first entry that matches its labels; None where no entry does."""
    for rule in policy.prices:
        if all(node.labels.get(key) == value for key, value in rule.labels.items()):
            return rule.price
    return None


def seat_price(shape: Shape, node: Node, policy: Policy) -> float | None:
    """The share of the node's price that a pod of this shape accounts for, by the resource that defines the node."""
    price = node_price(node, policy)
    if price is None:
        return None
    there = node.allocatable.get(node.flavor, 0)
    wanted = dict(shape.requests).get(node.flavor, 0)
    return price * min(1.0, wanted / there) if there else price


def price_order(node: Node, policy: Policy) -> float:
    """Orders nodes by the price of one unit of the resource that defines them. Rounded, so that nodes of one machine
    type are equal although their allocatable cpu differs by a few thousandths."""
    price = node_price(node, policy)
    if price is None:
        return UNKNOWN_PRICE
    there = node.allocatable.get(node.flavor, 0)
    return float(f"{price / there:.3g}") if there else price
