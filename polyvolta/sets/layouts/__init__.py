"""Layouts: maps between boxes made of digits and exclusive-ors."""
