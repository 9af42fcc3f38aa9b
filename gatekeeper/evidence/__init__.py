"""Samples -> judged outcomes -> evidence about each arm, the pairs and the objectives."""
