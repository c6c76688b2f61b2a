"""Stand-ins for nodes whose GPUs can be cut: the hardware, its kubelet and device plugin, and the agents."""
