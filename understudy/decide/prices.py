"""Prices of nodes and seats: turns the policy's price list into what a node and a seat on it cost an hour."""

import msgspec

from understudy.decide.policy import Policy
from understudy.model.gangs import Shape
from understudy.model.nodes import Node
from understudy.model.plans import Action, Grow, Start, Swap
from understudy.model.snapshot import Snapshot

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


class SeatsPrice(msgspec.Struct, frozen=True):
    """What some seats cost an hour together, and how many of them have no known price."""

    per_hour: float
    unknown: int = 0


def price_of_new_seats(snapshot: Snapshot, policy: Policy, action: Action) -> SeatsPrice | None:
    """None where no prices are set, or the action gives no seats."""
    match action:
        case Start(seats=seats) | Grow(seats=seats) if policy.prices:
            taken = dict(seats)
        case Swap(moves=moves) if policy.prices:
            taken = {move.member: move.to_node for move in moves}
        case _:
            return None
    members = (member for member in snapshot.gangs[action.gang].members() if member.name in taken)
    prices = [seat_price(m.shape, snapshot.nodes[taken[m.name]].node, policy) for m in members]
    known = [price for price in prices if price is not None]
    return SeatsPrice(round(sum(known), 4), len(prices) - len(known))
