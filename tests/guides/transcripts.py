"""A guide into steps: every command its `console` blocks show, and what it prints there.

What cannot be the same twice is matched by its form: times (`58s`), the random end of a pod's name (`-sz5xj`), `...`
for the rest of a line or, alone, for any lines. Before a block, `<!-- varies: WORD WORD -->` names words that may be
others, and `<!-- refused -->` says that its last command fails.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

_BLOCK = re.compile(
    r"(?P<marks>(?:^<!-- [^\n]* -->\n)*)^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_VARIES = re.compile(r"<!-- varies: (.*?) -->")
_REFUSED = "<!-- refused -->"
_PROMPT = "$ "
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]{5}"  # the letters and digits Kubernetes takes, and five of them
_TIME = r"(?:\d+[dhms])+"
_FORMS = re.compile(rf"(?P<anything>\.\.\.)|(?<=-)(?P<random>{_RANDOM})\b|\b(?P<time>{_TIME})\b")


class Step(msgspec.Struct, frozen=True):
    command: str
    shown: str
    line: int  # of the guide, for the failure message
    varies: tuple[str, ...] = ()
    fails: bool = False

    def is_what_was_shown(self, printed: str) -> bool:
        return re.fullmatch(_pattern(self.shown, self.varies), _squeezed(printed)) is not None


def steps(guide: str) -> list[Step]:
    found = []
    for block in _BLOCK.finditer(guide):
        if block["language"] == "console":
            first = guide.count("\n", 0, block.start("text")) + 1
            found += _steps_of(block["text"], first, block["marks"])
        elif re.search(r"^\$ ", block["text"], re.MULTILINE):
            raise ValueError(f"commands in a block that is not called console: {block['text']}")
    return found


def excerpts(guide: str) -> Iterator[tuple[str, str]]:
    """Blocks that begin with `# examples/...`: the file, and what is shown of it."""
    for block in _BLOCK.finditer(guide):
        if named := re.match(r"# (examples/\S+)\n", block["text"]):
            yield named[1], block["text"][named.end() :]


def files(guide: str) -> dict[str, str]:
    """YAML blocks that begin with `# NAME.yaml`: the files that readers write for the commands."""
    blocks = [block["text"] for block in _BLOCK.finditer(guide) if block["language"] == "yaml"]
    return {named[1]: text for text in blocks if (named := re.match(r"# (\w[\w.-]*\.yaml)\n", text))}


def commands(text: str, prompt: str) -> list[tuple[str, str, int]]:
    """Each command, with the lines a backslash continues it on; what follows it; and the line it stands on."""
    found: list[tuple[str, list[str], int]] = []
    continued = False
    for number, line in enumerate(text.splitlines()):
        if continued:
            found[-1] = (f"{found[-1][0]}\n{line}", found[-1][1], found[-1][2])
        elif line.startswith(prompt):
            found.append((line.removeprefix(prompt), [], number))
        elif found:
            found[-1][1].append(line)
        else:
            raise ValueError(f"no command before {line!r}")
        continued = line.endswith("\\") and not found[-1][1]
    return [(command, "\n".join(shown), line) for command, shown, line in found]


def _steps_of(text: str, first: int, marks: str) -> list[Step]:
    varies = tuple(word for words in _VARIES.findall(marks) for word in words.split())
    found = commands(text, _PROMPT)
    last = len(found) - 1
    return [
        Step(command, shown, first + line, varies, _REFUSED in marks and number == last)
        for number, (command, shown, line) in enumerate(found)
    ]


def _squeezed(text: str) -> str:
    """Widths of columns follow what is in them; which lines and words there are is what counts."""
    return "".join(f"{' '.join(line.split())}\n" for line in text.strip().splitlines())


def _pattern(shown: str, varies: tuple[str, ...]) -> str:
    return "".join(_line_pattern(line, varies) for line in _squeezed(shown).splitlines())


def _line_pattern(line: str, varies: tuple[str, ...]) -> str:
    if line == "...":
        return r"(?:[^\n]*\n)*?"
    return " ".join(r"\S+" if word in varies else _word_pattern(word) for word in line.split(" ")) + r"\n"


def _word_pattern(word: str) -> str:
    pattern, end = "", 0
    for form in _FORMS.finditer(word):
        pattern += re.escape(word[end : form.start()])
        pattern += {"anything": "[^\n]*", "random": _RANDOM, "time": _TIME}[str(form.lastgroup)]
        end = form.end()
    return pattern + re.escape(word[end:])


def read(path: Path) -> list[Step]:
    return steps(path.read_text())
