"""The hot-swap story that `understudy demo` tells: as the planner plans it, and with real processes."""
