"""The story sees who runs where, takes nobody on a lost node for alive, and tells what is new."""

import pytest

from tests.control.objects import node, pod
from understudy.cli.scene import Player, Scene, news, scene_of
