"""A hinge problem under cuts as one without: a cut is a row whose loss is steeper than any multiplier that it may need.

minimise q(w) over A z >= b is minimise q(w) + price sum_j max(0, b_j - A_j z), as soon as the price exceeds all multipliers
of the cuts (an exact penalty): a row with the target b_j whose margin c does not move (qp.py).
"""
