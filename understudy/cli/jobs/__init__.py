"""Jobs as people look at them: objects of every kind and their pods, gathered from any cluster, into plain values."""
