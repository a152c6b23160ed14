"""The few fields of stored pods that are read by the hundred, straight from their bytes."""

import msgspec


class MetaGlance(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    deletion_timestamp: str = ""


class Glance(msgspec.Struct, gc=False):
    metadata: MetaGlance


class ConditionGlance(msgspec.Struct, gc=False):
    type: str
    status: str


class PodStatusGlance(msgspec.Struct, gc=False):
    phase: str = ""
    conditions: list[ConditionGlance] = []


class PodGlance(msgspec.Struct, gc=False):
    metadata: MetaGlance
    status: PodStatusGlance = msgspec.field(default_factory=PodStatusGlance)

    @property
    def ended(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def ready(self) -> bool:
        return any(condition.type == "Ready" and condition.status == "True" for condition in self.status.conditions)


glance = msgspec.json.Decoder(Glance).decode
glance_at_pod = msgspec.json.Decoder(PodGlance).decode
