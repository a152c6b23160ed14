"""understudy.yaml into settings, and what is refused."""

from pathlib import Path

import msgspec
import pytest

from understudy.cli.errors import BadInput
from understudy.cli.input.settings import Settings, given, origins, read, variable_of
from understudy.control.view.node_health import CordonPolicy, HealthLimits
from understudy.control.view.signal_rules import SignalRule
from understudy.decide.policy import Policy, SpareRule
from understudy.embedded.loop_settings import loop_settings
from understudy.kube.settings import KubeSettings
from understudy.model.nodes import Verdict

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "settings.md"


def settings(folder: Path, text: str) -> Settings:
    path = folder / "understudy.yaml"
    path.write_text(text)
    return read(str(path))


def test_no_file_and_an_empty_file_are_the_defaults(tmp_path: Path) -> None:
    assert read(None) == settings(tmp_path, "") == settings(tmp_path, "policy:\n") == Settings()


def test_settings_are_read(tmp_path: Path) -> None:
    found = settings(tmp_path, "policy: {minRuntime: 300, spares: [{count: 1, topology: rack}]}\n")
    assert found.policy == Policy(min_runtime=300.0, spares=(SpareRule(1, topology="rack"),))
    assert found.health == HealthLimits()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("polcy: {}", "polcy: no such setting; did you mean policy?"),
        ("policy: {minruntime: 3}", "policy.minruntime: no such setting; did you mean minRuntime?"),
        ("policy: {zzz: 3}", "policy.zzz: no such setting; there are: backoff, "),
        ("policy: {minRuntime: soon}", "policy.minRuntime: expected `float`, got `str`"),
        ("policy: {spares: [{count: 1, labels: {on: a}}]}", "policy.spares[0].labels: key: expected `str`, got `bool`"),
        ("policy: {spares: [{count: 0}]}", "policy.spares[0].count: expected `int` >= 1"),
        ("policy: {spares: [{count: 1, lend: maybe}]}", "policy.spares[0].lend: expected `bool | null`, got `str`"),
        (
            "policy: {spares: [{count: 1, per: rack, topology: rack}]}",
            "policy.spares[0]: per: the same label as topology; leave one of them out",
        ),
        (
            "policy: {spares: [{count: 1, label: {}}]}",
            "policy.spares[0]: object contains unknown field `label`; did you mean labels?",
        ),
        ("health: {cordon: go}", "health.cordon: invalid enum value 'go'"),
        ("health: {signals: {}}", "health.signals: expected `array`, got `object`"),
        ("health: {signals: [{condition: A, verdict: gone}]}", "health.signals[0].verdict: invalid enum value 'gone'"),
        ("health: {signals: [{condition: A}]}", "health.signals[0]: object missing required field `verdict`"),
        (
            "health: {signals: [{conditon: A, verdict: lost}]}",
            "health.signals[0]: object contains unknown field `conditon`; did you mean condition?",
        ),
        (
            "health: {signals: [{taint: a, verdict: lost}, {taint: b, effect: NoSchedul, verdict: lost}]}",
            "health.signals[1]: effect: 'NoSchedul' is none of NoSchedule, PreferNoSchedule, NoExecute",
        ),
        ("policy: {prices: [{price: -1}]}", "policy.prices[0].price: expected `float` >= 0.0"),
        ("policy: {capacityByPriority: [{below: 0}]}", "policy.capacityByPriority[0]: object missing required field"),
        (
            "policy: {capacityByPriority: [{below: 0, capacity: cheap}]}",
            "policy.capacityByPriority[0].capacity: invalid enum value 'cheap'",
        ),
        ("policy: {preemptionDelay: -1}", "policy.preemptionDelay: expected `float` >= 0.0"),
        ("policy: 3", "policy: expected settings, one `key: value` a line"),
        ("kube: {retryPeriod: 0}", "kube.retryPeriod: 0 is not positive"),
        ("kube: {leaseDuration: 20.5}", "kube.leaseDuration: 20.5 is no whole number"),
        ("kube: {leaseDuration: 14}", "kube.leaseDuration: 14 leaves no time for a last write: expected more than "),
        ("autoscaler: {retryAfter: 0}", "autoscaler.retryAfter: 0 is not positive"),
        ("autoscaler: {parameters: {a: b}}", "autoscaler.parameters: without provisioningClass no request is made"),
        ("autoscaler: {parameters: {a: 3}}", "autoscaler.parameters[...]: expected `str`, got `int`"),
        ("kube: {retryPeriod: 6}", "kube.renewDeadline: 10 is less than twice retryPeriod, 6"),
        ("health: {zzz: 3}", "health.zzz: no such setting; there are: "),
        ("3", "expected `key: value` lines"),
        ("policy: {}\n---\nhealth: {}\n", "2 documents; settings are one"),
        ("policy: {}\npolicy: {}\n", "line 2: policy: the key stands twice in one mapping; remove one of them"),
        ("a: [", "line 2, column 1: not YAML: "),
    ],
)
def test_bad_settings_name_the_key(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(BadInput) as caught:
        settings(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'understudy.yaml'}: {complaint}")


def test_a_variable_goes_before_the_file_and_the_file_before_the_default(tmp_path: Path) -> None:
    file = tmp_path / "understudy.yaml"
    file.write_text("policy: {minRuntime: 300, backoff: 20}\nhealth: {notReadyLost: 60}\n")
    environment = {"UNDERSTUDY_POLICY_MIN_RUNTIME": "400", "UNDERSTUDY_POLICY_SPARES": '[{"count": 2}]', "OTHER": "x"}
    found = read(str(file), environment)
    assert found.policy == Policy(min_runtime=400.0, backoff=20.0, spares=(SpareRule(2),))
    assert found.health == HealthLimits(not_ready_lost=60.0)
    sources = {one.key: (one.value, one.source) for one in origins(str(file), environment)}
    assert sources["policy.minRuntime"] == (400.0, "UNDERSTUDY_POLICY_MIN_RUNTIME")
    assert sources["policy.backoff"] == (20.0, f"{file} (--settings)")
    assert sources["health.leaseLost"] == (2.3, "default")


def test_the_file_may_be_named_by_a_variable(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("policy: {lendSpares: false}\n")
    environment = {"UNDERSTUDY_SETTINGS": str(file)}
    assert read(None, environment).policy.lend_spares is False
    [one] = [one for one in origins(None, environment) if one.source != "default"]
    assert (one.key, one.source) == ("policy.lendSpares", f"{file} (UNDERSTUDY_SETTINGS)")
    assert given(None, environment) == {"policy": {"lendSpares": False}}


def test_what_is_for_real_clusters_is_not_given_to_embedded_ones() -> None:
    environment = {"UNDERSTUDY_KUBE_MAX_VIEW_AGE": "10", "UNDERSTUDY_POLICY_BACKOFF": "20"}
    assert read(None, environment).kube == KubeSettings(max_view_age=10.0)
    assert given(None, environment) == {"policy": {"backoff": 20.0}}


def test_who_gives_nothing_leaves_a_cluster_as_it_was_and_an_empty_file_takes_it_back(tmp_path: Path) -> None:
    empty = tmp_path / "understudy.yaml"
    empty.write_text("")
    assert given(None, {}) is None
    assert given(str(empty), {}) == {}


@pytest.mark.parametrize(
    ("variable", "text", "complaint"),
    [
        ("UNDERSTUDY_POLICY_MIN_RUNTIM", "3", "no such setting; did you mean UNDERSTUDY_POLICY_MIN_RUNTIME"),
        ("UNDERSTUDY_POLICY_MIN_RUNTIME", "soon", "expected a number"),
        ("UNDERSTUDY_POLICY_LEND_SPARES", "yes", "expected true or false"),
        ("UNDERSTUDY_POLICY_LEMON_FAILURES", "1.5", "expected `int`, got `float`"),
        ("UNDERSTUDY_POLICY_SPARES", "two nodes", "expected a list as JSON"),
        ("UNDERSTUDY_HEALTH_CORDON", "go", "invalid enum value 'go'"),
        ("UNDERSTUDY_HEALTH_SIGNALS", '[{"labl":"a"}]', "unknown field `labl`; did you mean label?"),
        ("UNDERSTUDY_HEALTH_SIGNALS", '[{"label":"a","taint":"b","verdict":"lost"}]', "[0]: expected one of "),
    ],
)
def test_bad_variables_are_named(variable: str, text: str, complaint: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(None, {variable: text})
    assert str(caught.value).startswith(variable)
    assert complaint in str(caught.value)


def test_rules_for_signals_are_read_from_the_file_and_from_a_variable(tmp_path: Path) -> None:
    rules = "[{condition: XIDErrors, verdict: healthy}, {taint: 'mine/*', verdict: leaving, seconds: 60}]"
    found = settings(tmp_path, f"health: {{signals: {rules}, cordon: leave}}\n").health
    assert found.signals == (
        SignalRule(Verdict.HEALTHY, condition="XIDErrors"),
        SignalRule(Verdict.LEAVING, taint="mine/*", seconds=60.0),
    )
    assert found.cordon is CordonPolicy.LEAVE
    written = '[{"label":"broken","verdict":"suspect","afterCreation":30}]'
    environment = {"UNDERSTUDY_HEALTH_SIGNALS": written, "UNDERSTUDY_HEALTH_CORDON": "leave"}
    assert read(None, environment).health.signals == (SignalRule(Verdict.SUSPECT, label="broken", after_creation=30.0),)
    told = given(None, environment)
    rule = {"label": "broken", "verdict": "suspect", "afterCreation": 30.0}
    assert told == {"health": {"signals": (rule,), "cordon": "leave"}}
    assert loop_settings(told).limits.signals == (SignalRule(Verdict.SUSPECT, label="broken", after_creation=30.0),)


def test_text_needs_no_quotes() -> None:
    assert read(None, {variable_of("policy", "poolLabel"): "rack"}).policy.pool_label == "rack"


@pytest.mark.parametrize("struct", [Policy, HealthLimits, KubeSettings])
def test_the_reference_lists_every_key_with_its_default(struct: type[msgspec.Struct]) -> None:
    rows = [line.split("|") for line in REFERENCE.read_text().splitlines() if line.startswith("| `")]
    written = {row[1].strip(" `"): row[2].strip(" `") for row in rows}
    for field in msgspec.structs.fields(struct):
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        if isinstance(default, bool):
            shown = str(default).lower()
        elif isinstance(default, float):
            shown = f"{default:g}" if default < 1e5 else str(int(default))
        else:
            shown = "none" if default in ((), {}) else str(default)
        assert written.get(field.encode_name) == shown
