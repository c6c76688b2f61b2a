"""What the end-to-end stories stand on: a real control plane on loopback, and sliced beside it."""
