"""Schedules found from dependences."""

from polyvolta.sched.scheduler.schedule import initial, schedule

__all__ = ["initial", "schedule"]
