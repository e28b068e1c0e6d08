"""Transformations towards a machine: members mapped, domains contracted, copies, contexts and marks inserted."""
