"""For training code: says when a stop or the end of a machine is coming, saves, resumes, and reports checkpoints.

It needs nothing but the standard library, and nothing else of this package.
"""

from understudy.train.checkpoint_folder import NoneReadable
from understudy.train.checkpoints import Checkpoints
from understudy.train.notices import Notice, notice
from understudy.train.stop_signals import STOPPED, Stop, leave, stopping, watch

__all__ = ["STOPPED", "Checkpoints", "NoneReadable", "Notice", "Stop", "leave", "notice", "stopping", "watch"]
