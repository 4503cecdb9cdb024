"""In what order, over time: workflow classes that interpret the policies' decisions."""
