"""`understudy completion`: prints a script that lets a shell complete verbs, options and the names of jobs.

shtab writes the script. The functions here add what it cannot know: names that are asked of a cluster.
"""

import argparse
import importlib
import sys

import shtab

from understudy.cli.job_types import TYPES
from understudy.cli.options import VerbParser

SHELLS = ("bash", "zsh", "fish")

ABOUT = """\
Print a completion script: verbs, options, the values they take, and the names of jobs and nodes,
which are asked of the cluster that the line names."""

EXAMPLES = """\
examples:
  source <(understudy completion bash)
  understudy completion zsh > "${fpath[1]}/_understudy"
  understudy completion fish | source"""

_TYPES = " ".join(names[0] for names in TYPES.values())

# Each function `names` asks the cluster that the line names, and prints nothing where that does not answer.
_BASH = f"""\
# To have it always: understudy completion bash > ~/.local/share/bash-completion/completions/understudy
_understudy_names() {{
    local i known=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "${{COMP_WORDS[i]}}" in
            -n|--namespace|--cluster|--context|--kubeconfig) known+=("${{COMP_WORDS[i]}}" "${{COMP_WORDS[i + 1]}}") ;;
        esac
    done
    compgen -W "$("${{COMP_WORDS[0]}}" "${{@:2}}" -o name "${{known[@]}}" 2>/dev/null | sed 's|.*/||')" -- "$1"
}}
_understudy_jobs() {{ _understudy_names "$1" list; }}
_understudy_nodes() {{ _understudy_names "$1" node list; }}
_understudy_types() {{ compgen -W "{_TYPES}" -- "$1"; }}
_understudy_files() {{ compgen -f -- "$1"; }}
"""
_ZSH = f"""\
# To have it always, put it into a folder of $fpath: understudy completion zsh > "${{fpath[1]}}/_understudy"
_understudy_names() {{
    local -a line known names
    local i
    line=(${{(z)LBUFFER}})
    for ((i = 2; i < $#line; i++)); do
        case "${{line[i]}}" in
            -n|--namespace|--cluster|--context|--kubeconfig) known+=("${{line[i]}}" "${{line[i + 1]}}") ;;
        esac
    done
    names=(${{(f)"$("${{line[1]}}" "$@" -o name $known 2>/dev/null)"}})
    compadd -- ${{names##*/}}
}}
_understudy_jobs() {{ _understudy_names list }}
_understudy_nodes() {{ _understudy_names node list }}
_understudy_types() {{ compadd -- {_TYPES} }}
"""
_FISH = f"""\
function __understudy_names
    set -l known
    set -l line (commandline -opc)
    for i in (seq (count $line))
        if contains -- $line[$i] -n --namespace --cluster --context --kubeconfig
            set -a known $line[$i] $line[(math $i + 1)]
        end
    end
    command $line[1] $argv -o name $known 2>/dev/null | string replace -r '.*/' ''
end
function __understudy_jobs
    __understudy_names list
end
function __understudy_nodes
    __understudy_names node list
end
function __understudy_types
    string split ' ' '{_TYPES}'
end
"""
_FUNCTIONS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def add_flags(parser: VerbParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    # This module is loaded by the parser, which therefore is not imported at the top.
    root = importlib.import_module("understudy.cli.verbs.parser").root_parser(load_all=True)
    sys.stdout.write(shtab.complete(root, options.shell, preamble=_FUNCTIONS[options.shell]))
    return 0
