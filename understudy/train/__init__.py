"""For training code: says when a stop is coming, saves and resumes through the caller's functions, reports checkpoints.

It needs nothing but the standard library, and nothing else of this package.
"""

from understudy.train.checkpoint_folder import NoneReadable
from understudy.train.checkpoints import Checkpoints
from understudy.train.stop_signals import STOPPED, Stop, leave, stopping, watch

__all__ = ["STOPPED", "Checkpoints", "NoneReadable", "Stop", "leave", "stopping", "watch"]
