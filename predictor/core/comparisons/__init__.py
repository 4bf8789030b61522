"""Distances between platforms and between workloads, and side-by-side comparisons."""
