"""What becomes of rows with the same keys: one small class for each family of aggregates.

folding.py   what a family has to say
totals.py    counts and sums
extremes.py  the smallest and the largest
chosen.py    a value of one of the rows: the first, the last, that beside the largest
moments.py   means, and distances from them
"""
