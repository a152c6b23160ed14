"""How Understudy behaves in a real cluster: its names there, and the section `kube` of understudy.yaml."""

import msgspec

SCHEDULER_NAME = "understudy"  # the schedulerName of its pods, unless the settings name another
LEASE_NAME = "understudy"  # the Lease by which its replicas elect a leader


class KubeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Durations are in seconds."""

    max_view_age: float = 30.0  # nothing is decided, and nothing written, on an older view
    lease_duration: float = 15.0  # silence of the leader after which another one may lead
    renew_deadline: float = 10.0  # silence of the cluster after which the leader stops by itself
    retry_period: float = 2.0  # between two looks at the lease
    write_timeout: float = 4.0  # after which a write without an answer is given up
    requests_at_once: int = 32  # a gang is bound by one request for each pod

    def problem(self) -> str:
        """What is wrong with these, as `key: words`; nothing: ''."""
        for key, value in msgspec.to_builtins(self).items():
            if value <= 0:
                return f"{key}: {value:g} is not positive"
        if self.lease_duration != int(self.lease_duration):
            return f"leaseDuration: {self.lease_duration:g} is no whole number; Kubernetes writes leases in seconds"
        if self.renew_deadline + self.write_timeout >= self.lease_duration:
            return (
                f"leaseDuration: {self.lease_duration:g} leaves no time for a last write: expected more than "
                f"renewDeadline and writeTimeout together, {self.renew_deadline + self.write_timeout:g}"
            )
        if self.retry_period * 2 > self.renew_deadline:
            return f"renewDeadline: {self.renew_deadline:g} is less than twice retryPeriod, {self.retry_period:g}"
        return ""
