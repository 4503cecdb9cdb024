"""A cluster in virtual time: jobs of a trace arrive, a planner decides, and what comes of it is counted.

Imports policies and definitions only, and is imported by nobody; `perdure simulate` starts it as a child process.
"""
