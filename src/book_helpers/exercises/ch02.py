"""Checks for chapter 2."""
