"""Stages a to h of Lin, Haftka, Queipo & Fregly (2010, Med Eng Phys 32:584-594).

The stages are functions of tables and models; order, files and progress are the runner's.
"""
