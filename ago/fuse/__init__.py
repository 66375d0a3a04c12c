"""Intensive fusion: several complex operators in one loop nest.

Read `rows.find_row_plans` first.
"""
