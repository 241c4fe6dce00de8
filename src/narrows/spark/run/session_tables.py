"""Views, tables, functions and variables of the Spark session, where a query names what we did not
declare.

Spark reads such a table, and only the columns that the query uses. A function that somebody
registered in Spark (`spark.udf.register`) may look at anything, so its arguments are decoded whole;
whether it takes a row or a group of them is found out by asking Spark to analyse a call.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from narrows.catalog.elsewhere import ElsewhereTable
from narrows.catalog.objects import Source
from narrows.connectors.file.inferred import FilesInQueries
from narrows.errors import Code, Span, fail
from narrows.expressions.function import Function, Kind
from narrows.schema import SCALARS, UNKNOWN, Array, DataType, Decimal, Field, Map, Struct
from narrows.spark.sql.rows import Views
from narrows.spark.sql.sql_text import quote
from narrows.spark.sql.types import our_type
from narrows.sql.binder.variables import variable_text
from narrows.sql.scope import Name

_METADATA = "_metadata"
_MOST_ARGUMENTS = 3
_NOT_OF_GROUPS = ("MISSING_GROUP_BY", "MISSING_AGGREGATION")
"""What Spark says where a function takes a row, and there are groups."""


class SessionTables:
    """What the session of a user has beside what is declared."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._views = Views(spark)
        self._files = FilesInQueries()
        self._registered: dict[str, ElsewhereTable] = {}

    def register(self, name: str, frame: DataFrame) -> None:
        """Makes a data frame a table, by its columns."""
        if frame.isStreaming:
            raise fail(
                Code.NOT_SUPPORTED,
                f"`{name}` is a streaming data frame: of one, the payloads can be a stream",
                hint="name the column of payloads, and what is in them:"
                " `register(name, frame, schema, payload='value')`",
            )
        text = self._views.add(frame)
        self._registered[name.casefold()] = ElsewhereTable(name, _columns(frame), text)

    def table(self, parts: Sequence[Name]) -> Source | ElsewhereTable | None:
        return self._spark_table(parts) or self._files.table(parts)

    def _spark_table(self, parts: Sequence[Name]) -> ElsewhereTable | None:
        if len(parts) == 1 and parts[0].text.casefold() in self._registered:
            return self._registered[parts[0].text.casefold()]
        text = ".".join(quote(part.text) for part in parts)
        try:
            if not self._spark.catalog.tableExists(text):
                return None
            frame = self._spark.table(text)
            found = self._spark.catalog.getTable(text)
            columns, metadata = _columns(frame), _metadata_of(frame)
        except PySparkException:
            return None
        if frame.isStreaming:
            raise fail(
                Code.NOT_SUPPORTED,
                f"`{parts[-1].text}` is a streaming view: what it has is known to Spark alone",
                Span.around(part.span for part in parts),
                "register its data frame: `session.register(name, frame, schema)`",
            )
        path = (*filter(None, (found.catalog,)), *(found.namespace or ()), found.name)
        return ElsewhereTable(
            found.name,
            Struct((*columns, *metadata)),
            text,
            path if len(path) > 1 else (),
            hidden=len(metadata),
        )

    def function(self, name: str) -> Function | None:
        try:
            known = self._spark.catalog.functionExists(name)
        except PySparkException:
            return None
        if not known:
            return None
        kind = Kind.AGGREGATE if self._folds_rows(name) else Kind.SCALAR
        return Function(name, kind, known=False, incremental=False)

    def _folds_rows(self, name: str) -> bool:
        """Whether a function takes the rows of a group, which only Spark knows: then it may be
        called in a query that has one group. How many arguments it takes is not known either."""
        for count in range(1, _MOST_ARGUMENTS + 1):
            call = f"{name if '.' in name else quote(name)}({', '.join(['x'] * count)})"
            try:
                _ = self._spark.sql(f"SELECT {call} FROM (SELECT NULL AS x) HAVING true").schema
                return True
            except PySparkException as error:
                if error.getCondition() in _NOT_OF_GROUPS:
                    return False
        return False

    def variable(self, name: str) -> DataType | None:
        """The type of a variable that was declared in Spark: `DECLARE VARIABLE most = 10`."""
        try:
            found = self._spark.sql(f"SELECT {variable_text(name)} AS value")
            return _known(our_type(found.schema["value"].dataType))
        except PySparkException:
            return None

    def forget(self) -> None:
        self._views.close()
        self._registered.clear()


def _columns(frame: DataFrame) -> Struct:
    fields = frame.schema.fields
    return Struct(tuple(Field(part.name, _known(our_type(part.dataType))) for part in fields))


def _metadata_of(frame: DataFrame) -> Struct:
    """What Spark knows of the files that rows stand in, unless it is no table of files."""
    if any(name.casefold() == _METADATA for name in frame.columns):
        return Struct(())
    try:
        return _columns(frame.select(_METADATA))
    except PySparkException:
        return Struct(())


def _known(dtype: DataType) -> DataType:
    """The type, where it is one of ours; of all others only Spark knows what they are."""
    match dtype:
        case Struct(members):
            return Struct(tuple(Field(part.name, _known(part.type)) for part in members))
        case Array(element):
            return Array(_known(element))
        case Map(key, value):
            return Map(_known(key), _known(value))
        case Decimal():
            return dtype
        case _:
            return dtype if dtype in SCALARS else UNKNOWN
