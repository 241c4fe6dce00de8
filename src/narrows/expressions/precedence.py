"""How tightly operators bind, from loose to tight: what `Syntax.precedence` is."""

from __future__ import annotations

LOOSEST = 0
OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, ACCESS = range(1, 13)
