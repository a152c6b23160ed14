"""Changes to objects as clients write them: turns a document and a patch into a new document, never touching either."""

from understudy.embedded.api.patches.applying import apply, track
from understudy.embedded.api.patches.json_patching import json_patch
from understudy.embedded.api.patches.merging import merge
from understudy.embedded.api.patches.ownership import Writer, differ_only_in_times, manager_of
from understudy.embedded.api.patches.strategic_merging import strategic

__all__ = ["Writer", "apply", "differ_only_in_times", "json_patch", "manager_of", "merge", "strategic", "track"]
