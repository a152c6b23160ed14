"""Definitions of the custom resources the embedded cluster brings along, a file each."""

from importlib import resources


def bundled_definitions() -> dict[str, str]:
    """Texts by the names of the definitions, which their files have too."""
    files = (file for file in resources.files(__name__).iterdir() if file.name.endswith(".yaml"))
    return {file.name.removesuffix(".yaml"): file.read_text() for file in sorted(files, key=lambda each: each.name)}
