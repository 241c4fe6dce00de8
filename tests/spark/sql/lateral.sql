-- Generators in FROM and beside it, hints, tuples, paths into VARIANT.
CREATE OR REPLACE TEMPORARY VIEW l AS SELECT * FROM VALUES (1, 2), (1, 3), (2, NULL), (NULL, 5) AS l(a, b);
CREATE OR REPLACE TEMPORARY VIEW r AS SELECT * FROM VALUES (1, 'x'), (2, 'y'), (2, 'z'), (6, NULL) AS r(c, d);
CREATE OR REPLACE TEMPORARY VIEW t AS SELECT 1 AS k, array(1, 2, 3) AS items UNION ALL SELECT 2, array(5);

SELECT k, n FROM t, LATERAL (SELECT count(*) AS n FROM explode(t.items));
SELECT k, n FROM t, LATERAL (SELECT col + t.k AS n FROM explode(t.items));
SELECT k, col FROM t, LATERAL explode(t.items);
SELECT * FROM explode(array(1, 2)) AS e(x) JOIN l ON l.a = e.x;
SELECT /*+ BROADCAST(r) */ l.b, r.d FROM l JOIN r ON l.a = r.c;
SELECT * FROM (SELECT a, b FROM l) PIVOT (sum(b) FOR a IN (1 AS one, 1 + 1 AS two));
SELECT * FROM stack(2, 1, 2, 3, 4) AS s(x, y);
SELECT (a, b).a FROM l;
SELECT struct(l.*) FROM l;
SELECT parse_json('{"a": {"b": [1, 2]}}'):a.b[0] FROM l;
SELECT parse_json('{"a.b": 1, "a": {"b": 2}}'):`a.b`, parse_json('{"a.b": 1}'):['a.b'] FROM l;

-- Members of a VARIANT.
SELECT * FROM variant_explode(parse_json('["a", {"b": 1}]'));
SELECT pos, key, CAST(value AS STRING) FROM variant_explode_outer(input => parse_json('{"a": true, "b": 3.14}'));
SELECT t.key, u.pos, CAST(u.value AS STRING)
  FROM variant_explode(parse_json('{"a": ["x", "y"], "b": {"c": 1}}')) AS t, LATERAL variant_explode(t.value) u;
SELECT x.k, v.key FROM VALUES (1, '{"a": 2}'), (2, '[]') AS x(k, s)
  LEFT JOIN LATERAL variant_explode(parse_json(x.s)) v;
SELECT x.k, v.key FROM VALUES (1, '{"a": 2}'), (2, '[]') AS x(k, s)
  LEFT JOIN LATERAL variant_explode(parse_json(x.s)) v ON true;
SELECT x.k, v.col FROM VALUES (1, array(1)), (2, array()) AS x(k, s) LEFT JOIN LATERAL explode(x.s) v;
SELECT x.k, v.value::INT FROM VALUES (1, '{"a": 2}'), (2, '[]') AS x(k, s), LATERAL variant_explode(parse_json(x.s)) v;
SELECT x.k, v.m FROM VALUES (1), (2) AS x(k) LEFT JOIN LATERAL (SELECT y AS m FROM VALUES (1) AS w(y) WHERE y = x.k) v;
