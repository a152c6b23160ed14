"""What a pod asks of a node in resources, as Kubernetes counts: containers, sidecars, init containers, overhead."""

from collections.abc import Mapping

from understudy.model.quantity import parse_quantity
from understudy.objects.pods import Container, PodSpec, Quantity, Resources

Amounts = dict[str, int]


def requests_of(spec: PodSpec) -> tuple[tuple[str, int], ...]:
    """Sorted by name. Every pod also takes one of the node's `pods`; what is asked for zero times is not asked for."""
    total: Amounts = {}
    for container in spec.containers:
        _add(total, _of(container.resources))
    if spec.init_containers:
        total = _with_init(total, spec.init_containers)
    if spec.resources is not None:
        total |= _of_pod(spec.resources, total)
    if spec.overhead:
        _add(total, _parsed(spec.overhead))
    total["pods"] = 1
    return tuple(sorted((name, amount) for name, amount in total.items() if amount))


def _with_init(running: Amounts, init: tuple[Container, ...]) -> Amounts:
    """Init containers run one by one, each beside the sidecars started before it; the largest moment counts."""
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in init:
        own = _of(container.resources)
        if container.restart_policy == "Always":
            _add(sidecars, own)
            moment = sidecars
        else:
            moment = dict(sidecars)
            _add(moment, own)
        for name, amount in moment.items():
            peak[name] = max(peak.get(name, 0), amount)
    _add(running, sidecars)
    return {name: max(running.get(name, 0), peak.get(name, 0)) for name in running.keys() | peak.keys()}


def _of_pod(resources: Resources, containers: Amounts) -> Amounts:
    """Pod-level requests replace the sum of the containers'; a pod-level limit counts only without requests."""
    limits = {name: amount for name, amount in _parsed(resources.limits).items() if name not in containers}
    return limits | _parsed(resources.requests)


def _of(resources: Resources) -> Amounts:
    if not resources.limits or resources.limits.keys() <= resources.requests.keys():
        return _parsed(resources.requests)
    return _parsed({**resources.limits, **resources.requests})


def _parsed(amounts: Mapping[str, Quantity]) -> Amounts:
    return {name: parse_quantity(amount, name) for name, amount in amounts.items()}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount
