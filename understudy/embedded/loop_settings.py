"""Settings of the loops of an embedded cluster: its own defaults, overridden by what `up` was given."""

from collections.abc import Mapping
from typing import Any

import msgspec

from understudy.control.loop import LoopSettings
from understudy.control.view.node_health import HealthLimits
from understudy.decide.policy import Policy
from understudy.embedded.niceness import EVENT_DELAY

# Nodes of an embedded cluster renew their leases every second: one that says nothing for three is lost.
# The agent gives accelerators to a pod only when all that ran on them has ended, so no node that returns is held back.
# Nodes and the API share the machine, so what can be told later leaves it to the pods that start.
EMBEDDED_DEFAULTS = LoopSettings(
    limits=HealthLimits(lease_suspect=2.0, lease_lost=3.0, not_ready_lost=5.0, return_margin=None),
    event_delay=EVENT_DELAY,
)

Given = Mapping[str, Mapping[str, Any]]  # section -> key -> value, as understudy.yaml has them; only what was given


def loop_settings(given: Given, defaults: LoopSettings = EMBEDDED_DEFAULTS) -> LoopSettings:
    return msgspec.structs.replace(
        defaults,
        policy=msgspec.convert({**msgspec.to_builtins(defaults.policy), **given.get("policy", {})}, Policy),
        limits=msgspec.convert({**msgspec.to_builtins(defaults.limits), **given.get("health", {})}, HealthLimits),
    )
