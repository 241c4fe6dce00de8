-- What the golden files plan against: the streams of cases.md, and more of their kind.

CREATE STREAM stream_4 (a BIGINT, b STRUCT<c: BIGINT, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>)
WITH (connector = 'file', path = 'data/stream_4', format = 'json');

CREATE STREAM stream_3 (a BIGINT, items ARRAY<STRUCT<c: BIGINT, d: STRING>>)
WITH (connector = 'file', path = 'data/stream_3', format = 'json');

CREATE STREAM deep (
  a BIGINT,
  p STRUCT<q: STRUCT<r: BIGINT, t: STRING>, u: BIGINT>,
  m ARRAY<ARRAY<STRUCT<x: BIGINT, y: STRING>>>,
  nums ARRAY<BIGINT>
) WITH (connector = 'file', path = 'data/deep', format = 'json');

CREATE STREAM ev (a BIGINT, k BIGINT, ts TIMESTAMP)
WITH (connector = 'file', path = 'data/ev', format = 'json', eventtime = 'ts');

-- stream_4, decoded once for all pipelines that run on it
CREATE STREAM shared_4 (a BIGINT, b STRUCT<c: BIGINT, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>)
WITH (connector = 'file', path = 'data/stream_4', format = 'json', shared = true);

-- stream_4, but only rows in which something is new
CREATE STREAM changes_4 (a BIGINT, b STRUCT<c: BIGINT, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>)
WITH (connector = 'file', path = 'data/stream_4', format = 'json', on_change = 'b->items[0]->x', on_change_by = 'a');

-- and of that the newest now and then
CREATE STREAM samples_4 (a BIGINT, b STRUCT<c: BIGINT, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>)
WITH (connector = 'file', path = 'data/stream_4', format = 'json', sample = 'latest every 1 second', on_change = 'a');

-- a recording
CREATE STREAM recorded (a BIGINT, k BIGINT, at TIMESTAMP)
WITH (connector = 'file', path = 'data/recorded', format = 'json', replay = 'AT', speed = 10);

CREATE STREAM maps (
  a BIGINT,
  labels MAP<STRING, STRING>,
  tags MAP<STRING, STRUCT<v: BIGINT, w: STRING>>,
  by_number MAP<BIGINT, STRING>
) WITH (connector = 'file', path = 'data/maps', format = 'json');

-- wider than EXPLAIN shows in one line
CREATE STREAM wide (
  c00 BIGINT, c01 BIGINT, c02 BIGINT, c03 BIGINT, c04 BIGINT, c05 BIGINT, c06 BIGINT, c07 BIGINT,
  c08 BIGINT, c09 BIGINT, c10 BIGINT, c11 BIGINT, c12 BIGINT, c13 BIGINT, c14 BIGINT, c15 BIGINT,
  c16 BIGINT, c17 BIGINT, c18 BIGINT, c19 BIGINT, c20 STRING, c21 STRING, c22 STRING, c23 STRING,
  c24 STRING, c25 STRING, c26 STRING, c27 STRING, c28 STRING, c29 STRING, c30 STRING, c31 STRING,
  c32 STRING, c33 STRING, c34 STRING, c35 STRING, c36 STRING, c37 STRING, c38 STRING, c39 STRING,
  c40 DOUBLE, c41 DOUBLE, c42 DOUBLE, c43 DOUBLE, c44 DOUBLE, c45 DOUBLE, c46 DOUBLE, c47 DOUBLE,
  c48 DOUBLE, c49 DOUBLE, c50 DOUBLE, c51 DOUBLE, c52 DOUBLE, c53 DOUBLE, c54 DOUBLE, c55 DOUBLE,
  c56 STRUCT<x: BIGINT, y: BIGINT>, c57 ARRAY<BIGINT>, c58 MAP<STRING, BIGINT>, c59 BOOLEAN
) WITH (connector = 'file', path = 'data/wide', format = 'json');

-- names that need care: keywords, internal names, quotes, case
CREATE STREAM names (
  `select` BIGINT, `from` STRUCT<`order`: BIGINT, `odd name`: STRING>, col_1 BIGINT,
  `__operand_0__` STRING, window_start BIGINT, `Case` BIGINT, `case` BIGINT, `dot.ted` BIGINT
) WITH (connector = 'file', path = 'data/names', format = 'json');

-- the same names on both sides of a join
CREATE TABLE t1 (id BIGINT, a BIGINT, name STRING, place STRUCT<lat: DOUBLE, lon: DOUBLE>)
WITH (connector = 'file', path = 'data/t1', format = 'parquet');

CREATE TABLE t2 (id BIGINT, b BIGINT, name STRING, place STRUCT<lat: DOUBLE, lon: DOUBLE>)
WITH (connector = 'file', path = 'data/t2', format = 'json');

CREATE SINK out_json WITH (connector = 'file', path = 'out/json', format = 'json');
CREATE SINK out_csv WITH (connector = 'file', path = 'out/csv', format = 'csv');
CREATE SINK hot_out WITH (connector = 'memory', topic = 'hot');
CREATE STREAM hots (k BIGINT, b STRUCT<c: BIGINT, items: ARRAY<STRUCT<x: BIGINT, y: STRING>>>) WITH (connector = 'memory', topic = 'hots');
CREATE SINK out_console WITH (connector = 'console');
CREATE SINK out_sparse WITH (connector = 'file', path = 'out/sparse', format = 'json', omit_null_columns = true);
CREATE SINK out_parquet WITH (connector = 'file', path = 'out/parquet', format = 'parquet');
CREATE SINK batches_json WITH (connector = 'file', path = 'out/batches', format = 'json', layout = 'array', batch_count = 1000);
CREATE SINK batches_parquet WITH (connector = 'file', path = 'out/batches_p', format = 'parquet', batch_count = 1000, batch_duration = '10 seconds');

-- streams with event times that come to an end
CREATE STREAM clicks (id BIGINT, page STRING, at TIMESTAMP)
WITH (connector = 'file', path = 'data/clicks', eventtime = 'at', watermark = '1 minute');
CREATE STREAM views (id BIGINT, page STRING, at TIMESTAMP)
WITH (connector = 'file', path = 'data/views', eventtime = 'at', watermark = '1 minute');

-- a table with two copies: by_time (at, value), ordered by at, and an old one (see support/golden.py)
CREATE TABLE measured (at TIMESTAMP, value DOUBLE, unit STRING, place STRUCT<lat: DOUBLE, lon: DOUBLE>)
WITH (connector = 'file', path = 'data/measured', format = 'json');
