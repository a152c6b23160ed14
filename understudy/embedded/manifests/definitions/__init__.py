"""The CustomResourceDefinitions of every new cluster, one a file."""

from importlib import resources


def bundled_definitions() -> dict[str, str]:
    """The YAML of each definition, by its name, which is also the name of its file."""
    files = (file for file in resources.files(__name__).iterdir() if file.name.endswith(".yaml"))
    return {file.name.removesuffix(".yaml"): file.read_text() for file in sorted(files, key=lambda each: each.name)}
