"""Finds the gang or node a user means: by name, namespace/name or Kind/namespace/name."""

from collections.abc import Iterable

from understudy.cli.errors import BadInput, short_list, suggestion


def find_gang(wanted: str, keys: Iterable[str], option: str) -> str:
    """The key of the one gang that `wanted` can mean."""
    known = sorted(keys)
    exact = [key for key in known if key == wanted]
    found = exact or [key for key in known if _means(wanted, key)]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput(f"{option}: {wanted!r} may be {short_list(found)}; write the one you mean")
    short = {key.split("/", depth)[-1]: key for key in known for depth in (2, 1, 0)}
    raise BadInput(f"{option}: no gang {wanted!r}; {_gang_hint(wanted, short, known)}")


def _means(wanted: str, key: str) -> bool:
    """Whether `wanted` is the end of the key, cut at a slash. The kind may be written in any case, or as Kind/name."""
    kind, namespace, name = key.split("/", 2)
    forms = (name, f"{namespace}/{name}", f"{kind.lower()}/{name}", f"{kind.lower()}/{namespace}/{name}")
    head, slash, rest = wanted.partition("/")
    return wanted in forms or f"{head.lower()}{slash}{rest}" in forms


def _gang_hint(wanted: str, short: dict[str, str], known: list[str]) -> str:
    hint = suggestion(wanted, short, "")
    return hint if hint.startswith("did") else f"there {'are' if known else 'is'} {short_list(known) or 'none'}"


def check_node_name(wanted: str, names: Iterable[str], option: str) -> str:
    known = set(names)
    if wanted in known:
        return wanted
    raise BadInput(f"{option}: no node {wanted!r}; {suggestion(wanted, known, 'there are')}")
