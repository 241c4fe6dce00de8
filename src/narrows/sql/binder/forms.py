"""What the parser's expression classes mean to us.

Every class that sqlglot has must be accounted for; a test enumerates them and fails on one that
nobody classified. A class that turns up all the same is *carried*: its text goes to Spark as it is
and everything below it is demanded.
"""

from __future__ import annotations

from sqlglot import exp

BINARY_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.DPipe: "||",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.RegexpLike: "rlike",
}

CONNECTORS: dict[type[exp.Expr], str] = {exp.And: "and", exp.Or: "or"}

UNARY_OPERATORS: dict[type[exp.Expr], str] = {exp.Neg: "negative", exp.BitwiseNot: "bitnot"}

NILADIC: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
}

WITHOUT_BRACKETS = frozenset({"current_user", "user", "session_user", "localtimestamp"})
"""Functions that may be called without brackets, where no column is called so."""

BOUND: frozenset[type[exp.Expr]] = frozenset(
    {
        # names and access
        exp.Column,
        exp.Identifier,
        exp.Dot,
        exp.Bracket,
        exp.JSONExtract,  # `v:a.b[0]`
        exp.Paren,
        # constants
        exp.Literal,
        exp.Boolean,
        exp.Null,
        exp.HexString,
        exp.Introducer,  # a word and a text: `DATE '2020-01-01'`
        exp.Interval,
        # calls and their clauses
        exp.Anonymous,
        exp.Lambda,
        exp.Filter,
        exp.Window,
        exp.WithinGroup,
        exp.IgnoreNulls,
        exp.RespectNulls,
        # operators with a shape of their own
        exp.Case,
        exp.Cast,
        exp.TryCast,
        exp.Between,
        exp.In,
        exp.Is,
        exp.Not,
        exp.Escape,
        exp.NullSafeNEQ,
        # queries in brackets
        exp.Subquery,
        exp.Exists,
        # `(a, b AS x)`: a struct
        exp.Tuple,
        # `f(name => value)`
        exp.Kwarg,
        # `t |> AGGREGATE ... GROUP BY 2`
        exp.PositionalColumn,
    }
)
"""Forms that the binder handles one by one."""

CARRIED: frozenset[type[exp.Expr]] = frozenset(
    {
        exp.Collate,
        exp.Extract,
        exp.Trim,
        exp.Substring,
        exp.StrPosition,
        exp.Overlay,
        exp.Any,
        exp.All,
        exp.SimilarTo,
        exp.ParseJSON,
        exp.StrToDate,
        exp.StrToTime,
    }
)
"""Forms that go to Spark as they are; everything below them is demanded."""

_FOREIGN_OPERATOR = "operators of other databases"
_FOREIGN_CONSTANT = "constants of other databases"

REFUSED: dict[type[exp.Expr], str] = {
    exp.CastToStrType: "a cast to a type in quotes (write `CAST(x AS TYPE)`)",
    exp.List: "lists in brackets (use `array(...)`)",
    exp.Concat: "strings side by side",
    exp.Unnest: "UNNEST",
    exp.Columns: "COLUMNS(...)",
    exp.Pseudocolumn: "pseudo columns",
    exp.Comprehension: "list comprehensions",
    exp.Prior: "PRIOR",
    exp.ScopeResolution: "`::` at this place",
    exp.Aliases: "several aliases for one expression",
    **dict.fromkeys(
        (
            *(exp.BitwiseLeftShift, exp.BitwiseRightShift),  # our parser makes calls of them
            *(exp.Adjacent, exp.ArrayContainedBy, exp.ArrayContainsAll, exp.Cbrt, exp.Coalesce),
            *(exp.Distance, exp.DistanceNd, exp.ExtendsLeft, exp.ExtendsRight, exp.Glob),
            *(exp.JSONBContainsAllTopKeys, exp.JSONBContainsAnyTopKeys, exp.JSONBContainsTopKey),
            *(exp.JSONBDeleteAtPath, exp.JSONBPathExists, exp.Match, exp.NestedJSONSelect),
            *(exp.Operator, exp.Overlaps, exp.RegexpILike, exp.Sqrt, exp.StartsWith),
        ),
        _FOREIGN_OPERATOR,
    ),
    **dict.fromkeys(
        (
            *(exp.BitString, exp.ByteString, exp.Heredoc, exp.National, exp.RawString),
            exp.UnicodeString,
        ),
        _FOREIGN_CONSTANT,
    ),
    exp.AtTimeZone: "AT TIME ZONE (use from_utc_timestamp)",
    exp.FromTimeZone: "AT TIME ZONE (use from_utc_timestamp)",
    exp.Array: "lists in brackets (use `array(...)`)",
    exp.Struct: "structs in braces (use `struct(...)`)",
    exp.Var: "this word as a value",
    exp.Select: "a subquery without brackets",
    exp.Union: "a subquery without brackets",
    exp.Except: "a subquery without brackets",
    exp.Intersect: "a subquery without brackets",
    exp.Placeholder: "query parameters",
    exp.Parameter: "query parameters",
    exp.SessionParameter: "session parameters",
    exp.Slice: "list slices",
    exp.JSONCast: "JSON paths",
    exp.JSONExtractScalar: "JSON paths (`->>`)",
    exp.JSONBExtract: "JSON paths (`#>`)",
    exp.JSONBExtractScalar: "JSON paths (`#>>`)",
    exp.PropertyEQ: "assignments in expressions",
    exp.Alias: "a name (`AS`) for a part of an expression",
    exp.Star: "`*` at this place",
    exp.Distinct: "DISTINCT at this place",
    exp.Order: "ORDER BY inside a function call",
    exp.Limit: "LIMIT inside a function call",
    exp.HavingMax: "HAVING MAX inside a function call",
}
"""Forms that cannot be planned, with what to call them in the message."""

_THIS = frozenset({"this"})
_BINARY = frozenset({"this", "expression"})

READ_ARGUMENTS: dict[type[exp.Expr], frozenset[str]] = {
    **dict.fromkeys(BINARY_OPERATORS, _BINARY),
    **dict.fromkeys(CONNECTORS, _BINARY),
    **dict.fromkeys(UNARY_OPERATORS, _THIS),
    **dict.fromkeys(NILADIC, frozenset()),
    **dict.fromkeys((exp.Like, exp.ILike, exp.RegexpLike), _BINARY | {"negate"}),
    exp.DPipe: _BINARY | {"safe"},  # how sqlglot would translate it: not something written
    exp.Div: _BINARY | {"typed", "safe"},
    exp.Column: frozenset({"this", "table", "db", "catalog"}),
    exp.Dot: _BINARY,
    exp.Bracket: frozenset({"this", "expressions"}),
    exp.Paren: _THIS,
    exp.JSONExtract: _BINARY,
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Boolean: _THIS,
    exp.Null: frozenset(),
    exp.HexString: _THIS,
    exp.Introducer: _BINARY,
    exp.Anonymous: frozenset({"this", "expressions"}),
    exp.Filter: _BINARY,
    exp.WithinGroup: _BINARY,
    exp.IgnoreNulls: _THIS,
    exp.RespectNulls: _THIS,
    exp.Not: _THIS,
    exp.Is: _BINARY | {"negate"},
    exp.NullSafeNEQ: _BINARY,
    exp.Between: frozenset({"this", "low", "high", "symmetric"}),
    exp.In: frozenset({"this", "expressions", "query", "unnest", "field"}),
    exp.Subquery: frozenset({"this", "with_", "order", "limit", "offset"}),
    exp.Exists: _THIS,
    exp.Tuple: frozenset({"expressions"}),
    exp.Kwarg: _BINARY,
    exp.Escape: _BINARY,
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),
}
"""What the binder reads of the forms that it binds one by one."""


def unread_arguments(node: exp.Expr) -> list[str]:
    """Parts of the syntax that nobody would look at. Nothing that is written may be ignored."""
    read = READ_ARGUMENTS.get(type(node))
    if read is None:
        return []
    return [name for name, value in node.args.items() if value and name not in read]


NOT_EXPRESSION_BASES: tuple[type[exp.Expr], ...] = (
    exp.ColumnConstraint,
    exp.ColumnConstraintKind,
    exp.DDL,
    exp.DML,
    exp.DataType,
    exp.JSONPathPart,
    exp.Property,
)
"""Everything below these is part of a statement, a type or a path, never a value."""

_ABSTRACT = """
AggFunc Binary Condition Connector DerivedTable ExplodeOuter Expression Func IntervalOp Predicate
Query Selectable SetOperation SubqueryPredicate TimeUnit UDTF Unary _TimeUnit
"""

_CLAUSES = """
CTE Changes Cluster Cube Distribute Fetch Final ForClause From Group GroupingSets Having Hint
HistoricalData IndexTableHint Into Join JoinHint Lateral LimitOptions Lock MatchRecognize
MatchRecognizeMeasure Nearest Offset Ordered PartitionByExcluding Pivot PivotAlias PivotAny PreWhere
Qualify QueryOption QueryTransform RecursiveWithSearch Rollup SemanticView Sort Table TableAlias
TableFromRows TableSample UnpivotColumns Values Version Where WindowSpec With WithFill WithTableHint
"""

_PARTS_OF_EXPRESSIONS = """
AtIndex CharacterSet ColumnPosition ColumnPrefix DataTypeParam ForIn FormatJson FormatPhrase If JSON
JSONColumnDef JSONExtractQuote JSONKeyValue JSONPath JSONSchema JSONValue OnCondition Opclass
OpenJSONColumnDef OverflowTruncateBehavior SkipJSONColumn TableColumn TranslateCharacters
Variadic WithOperator XMLKeyValueOption XMLNamespace
"""

_STATEMENTS = """
AddConstraint AddPartition AllowedValuesProperty Alter AlterColumn AlterDistStyle AlterIndex
AlterModifySqlSecurity AlterRename AlterSession AlterSet AlterSortKey Analyze AnalyzeColumns
AnalyzeDelete AnalyzeHistogram AnalyzeListChainedRows AnalyzeSample AnalyzeStatistics
AnalyzeValidate AnalyzeWith Attach AttachOption Block Cache CaseStatement Check Clone ColumnDef
Command Comment Commit ConditionalInsert Connect ConnectTo Constraint CopyParameter Credentials
Declare DeclareItem Describe Detach Directory DirectoryStage Disconnect Drop DropPartition
DropPrimaryKey EndStatement Execute ExecuteSql Export ForeignKey FunctionSpecification Get Grant
GrantPrincipal GrantPrivilege IfBlock Index IndexConstraintOption IndexParameters InputOutputFormat
Install Iterate Kill Leave ListStage LoadData LockingStatement LoopBlock MacroOverload
MacroOverloads MergeTreeTTL MergeTreeTTLAction ModelAttribute ModifyColumn MultitableInserts
OnConflict Partition PartitionBoundSpec PartitionByRangePropertyDynamic PartitionId PartitionList
PartitionRange Per Pragma PrimaryKey ProjectionDef Properties Put QueryBand Reference Refresh
RenameColumn RenameIndex RepeatBlock ReplaceColumns ReplacePartition Return Returning Revoke
Rollback RollupIndex Schema Semicolon SequenceProperties Set SetItem Show StoredProcedure Stream
Summarize SwapTable Tag TimeseriesKey Transaction TriggerEvent TriggerExecute TriggerProperties
TriggerReferencing TruncateTable Uncache Undrop Use UserDefinedFunction UsingData
WatermarkColumnConstraint When Whens WhileBlock
"""

NOT_EXPRESSIONS: frozenset[str] = frozenset(
    f"{_ABSTRACT} {_CLAUSES} {_PARTS_OF_EXPRESSIONS} {_STATEMENTS}".split()
)
"""Classes by name that never stand where a value does: abstract ones, clauses of a query (which the
planner reads one by one), parts of expressions that are no values, statements and their parts."""
