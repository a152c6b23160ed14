"""Checks whether Understudy is installed and leads, where incidents go, how namespaces opt in, which settings are in
force."""

from understudy.cli.doctor.facts import ClusterFacts, Document, LeaderLease
from understudy.cli.doctor.findings import Finding, care, named, note, well, wrong
from understudy.cli.input.settings import DEFAULT
from understudy.cli.queries.installation import INSTALL
from understudy.kinds.context import OPT_IN
from understudy.objects.meta import seconds
from understudy.objects.resources import INCIDENTS

_PLURAL = "mutatingadmissionpolicies"
_NEEDS = "Kubernetes 1.36 has it; from 1.34 on the feature gate MutatingAdmissionPolicy brings it"


def check_installation(facts: ClusterFacts) -> list[Finding]:
    if facts.embedded:
        return [well("an embedded cluster: its scheduler is Understudy, and every pod is its own"), *_incidents(facts)]
    return [*leader(facts), *_incidents(facts), *_policy(facts)]


def leader(facts: ClusterFacts) -> list[Finding]:
    if facts.leader_leases is None:
        return [note("who leads was not read: that takes the right to list leases")]
    if not facts.leader_leases:
        return [care("no Understudy has ever led here", f"{INSTALL}, or kubectl apply -k deploy/kustomize")]
    return [_led(one, facts.now + (facts.skew or 0.0)) for one in facts.leader_leases]


def leads(facts: ClusterFacts) -> bool:
    now = facts.now + (facts.skew or 0.0)
    return facts.embedded or any(_age(one, now) is not None for one in facts.leader_leases or ())


def _age(lease: LeaderLease, now: float) -> float | None:
    """Seconds since the lease was renewed; None where it has no holder, or has expired."""
    renewed, lasts = seconds(lease.spec.renew_time), lease.spec.lease_duration_seconds or 15
    held = lease.spec.holder_identity and renewed is not None and now - renewed <= 2 * lasts
    return max(0.0, now - renewed) if held and renewed is not None else None


def _led(lease: LeaderLease, now: float) -> Finding:
    place, holder = lease.metadata.namespace, lease.spec.holder_identity
    age, renewed = _age(lease, now), seconds(lease.spec.renew_time)
    if age is not None:
        return well(f"{holder} leads, in {place} (heard of {age:.0f} s ago)")
    ago = f" for {now - renewed:.0f} s" if renewed is not None else ""
    last = f"; {holder} did last" if holder else ""
    return wrong(f"no replica has led in {place}{ago}{last}", f"kubectl -n {place} get pods, and their logs")


def _incidents(facts: ClusterFacts) -> list[Finding]:
    if facts.serves(INCIDENTS.group, INCIDENTS.plural, INCIDENTS.version):
        return [well("incidents are kept")]
    fix = "apply deploy/kustomize/base/incidents.understudy.dev.yaml (crds.install in the chart)"
    return [care("incidents are not kept: the cluster does not know the kind", fix)]


def _policy(facts: ClusterFacts) -> list[Finding]:
    opted = [one.metadata.name for one in facts.namespaces or () if one.metadata.labels.get(OPT_IN) == "true"]
    missing = _missing(facts)
    if not missing:
        names = f": {named(sorted(opted))}" if opted else "; none is so far"
        return [well(f"namespaces can be opted in as a whole{names}")]
    text, fix = missing
    if opted:
        return [wrong(f"{named(sorted(opted))} labelled {OPT_IN}=true, and {text}", fix)]
    return [note(f"namespaces cannot be opted in as a whole: {text}", fix)]


def _missing(facts: ClusterFacts) -> tuple[str, str] | None:
    """The missing part of the admission policy, and the fix; None where nothing is missing."""
    if not facts.serves("admissionregistration.k8s.io", _PLURAL):
        return "this cluster has no MutatingAdmissionPolicy", f"write schedulerName into the jobs. {_NEEDS}"
    if facts.policies is None or facts.bindings is None:
        return "policies may not be looked at", "ask as a user who may list mutatingadmissionpolicies"
    ours = {str(one["metadata"]["name"]) for one in facts.policies if _gives(one, facts.request.scheduler)}
    if not ours:
        return f"no policy gives pods to {facts.request.scheduler}", "kubectl apply -k deploy/kustomize/admission"
    if not any(one["spec"].get("policyName") in ours for one in facts.bindings):
        return f"policy {sorted(ours)[0]} has no binding", "kubectl apply -k deploy/kustomize/admission"
    return None


def _gives(policy: Document, scheduler: str) -> bool:
    mutations = policy.get("spec", {}).get("mutations") or ()
    written = (str((one.get("applyConfiguration") or {}).get("expression", "")) for one in mutations)
    return any("schedulerName" in text and f"'{scheduler}'" in text for text in written)


def check_settings(facts: ClusterFacts) -> list[Finding]:
    changed = [one for one in facts.settings if one.source != DEFAULT]
    found = [well(f"{one.key} = {one.value} (from {one.source})") for one in changed]
    if not facts.embedded:
        where = "what a deployed Understudy goes by is in its ConfigMap; --settings FILE looks at such a file"
        found = [*(found or [well("all defaults")]), note(where)]
    return found or [well("all defaults")]
