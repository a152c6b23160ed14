"""understudy.yaml into settings, and what is refused."""

from pathlib import Path

import msgspec
import pytest

from understudy.cli.complaint import BadInput
from understudy.cli.settings import Settings, read
from understudy.control.health import HealthLimits
from understudy.decide.policy import Policy, SpareRule

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


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
        ("policy: {spares: [{count: 1, label: {}}]}", "policy.spares[0]: object contains unknown field `label`"),
        ("policy: 3", "policy: expected settings, one `key: value` a line"),
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


@pytest.mark.parametrize("struct", [Policy, HealthLimits])
def test_the_reference_lists_every_key_with_its_default(struct: type[msgspec.Struct]) -> None:
    rows = [line.split("|") for line in REFERENCE.read_text().splitlines() if line.startswith("| `")]
    written = {row[1].strip(" `"): row[2].strip(" `") for row in rows}
    for field in msgspec.structs.fields(struct):
        default = field.default
        if isinstance(default, bool):
            shown = str(default).lower()
        elif isinstance(default, float):
            shown = f"{default:g}" if default < 1e5 else str(int(default))
        else:
            shown = "none" if default == () else str(default)
        assert written.get(field.encode_name) == shown
