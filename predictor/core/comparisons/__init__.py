"""Distances between platforms and between workloads, and what stands beside each other in a comparison."""
