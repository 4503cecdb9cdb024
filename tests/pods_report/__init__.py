"""How attempts end on real nodes: each end is provoked, and the report says whose word it was judged from."""
