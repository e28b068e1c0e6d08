"""Loops by isl's names: how they are made (`build`), what they are (`nodes`, `expressions`), how they print."""
