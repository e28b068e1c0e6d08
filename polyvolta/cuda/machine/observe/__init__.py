"""Observers: what the interpreter sees of a kernel's accesses, races, faults and costs while it runs."""
