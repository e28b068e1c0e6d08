"""Schedules found from dependences."""

from polyvolta.sched.scheduler.initial import initial

__all__ = ["initial"]
