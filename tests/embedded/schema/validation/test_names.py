"""How things may be called."""

import pytest

from understudy.embedded.schema.validation import names


@pytest.mark.parametrize("name", ["a", "a-b", "a.b.c", "1", "a" * 253])
def test_subdomains(name: str) -> None:
    assert names.subdomain(name) == ""


@pytest.mark.parametrize("name", ["..", ".", "a/b", "A", "-a", "a-", "a..b", "a_b", "é", "a\n", "a" * 254, "../etc"])
def test_what_is_no_subdomain(name: str) -> None:
    assert names.subdomain(name) != ""


def test_kubernetes_words() -> None:
    assert names.subdomain("A") == (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )
    assert names.label("a" * 64) == "must be no more than 63 characters"


@pytest.mark.parametrize("name", ["app", "app.kubernetes.io/name", "a_b.C-d", "nvidia.com/gpu"])
def test_qualified_names(name: str) -> None:
    assert names.qualified(name) == ""


@pytest.mark.parametrize("name", ["", "/a", "a/", "a/b/c", "A.com/x", "-a", "a" * 64, "a b"])
def test_what_is_no_qualified_name(name: str) -> None:
    assert names.qualified(name) != ""


@pytest.mark.parametrize(("name", "fine"), [("http", True), ("80", False), ("a--b", False), ("x" * 16, False)])
def test_names_of_ports(name: str, fine: bool) -> None:
    assert (names.port_name(name) == "") is fine


@pytest.mark.parametrize("name", [".", "..", "a/b", "a%2f"])
def test_no_name_is_a_way_out_of_its_place(name: str) -> None:
    assert names.path_segment(name) != ""
