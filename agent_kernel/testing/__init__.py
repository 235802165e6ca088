"""Scripted doubles of every seam and the conformance suites that real ones pass too.
Shipped, so that people can test their own parts; imports layer 0 only."""
