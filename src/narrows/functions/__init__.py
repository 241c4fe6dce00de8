"""The function registry: what each function is, and how it looks at its arguments."""

from narrows.expressions.function import Function, Kind
from narrows.functions.builtin import builtin_functions
from narrows.functions.operators import operator
from narrows.functions.registry import FunctionRegistry

__all__ = ["Function", "FunctionRegistry", "Kind", "builtin_functions", "operator"]
