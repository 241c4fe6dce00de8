-- Stars in calls, structs of values, constants for lambdas.
CREATE OR REPLACE TEMPORARY VIEW e AS SELECT * FROM VALUES
  (1, 5, 'p', array(1, 2, 3), named_struct('x', 1, 'y', 'q')),
  (2, NULL, NULL, array(), named_struct('x', 2, 'y', NULL)),
  (NULL, 7, 'r', NULL, NULL)
  AS e(a, b, s, n, t);

SELECT struct(t.*, a) FROM e;
SELECT struct(* EXCEPT (n, t)) FROM e;
SELECT coalesce(q.*), greatest(*) FROM (SELECT a, b FROM e) q;
SELECT concat_ws('-', *) FROM (SELECT s, t.y FROM e);
SELECT (a, b), (a AS first, b + 1).first FROM e;
SELECT a FROM e WHERE (a, b) IN ((1, 5), (2, 7));
SELECT transform(n, 0), filter(n, true), exists(n, a > 1), aggregate(n, 0, (x, y) -> x + y) FROM e;
SELECT x FROM VALUES 1, 2, 1 + 2 AS v(x);
SELECT * FROM VALUES ('a', 1), ('b', 2) ORDER BY ALL DESC;
SELECT try_cast(s AS INT), try_cast('12' AS INT) FROM e;
SELECT a FROM e ORDER BY ALL LIMIT ALL;
SELECT a AS x, x + 1 AS y, y * 2 FROM e;
SELECT sum(*) FROM e; -- both refuse
SELECT max_by(t, a, 2)[0].x, size(min_by(s, b, 3)), abs('-2.5') + 1, -'3', array_append(array(), a) FROM e GROUP BY a;

-- Functions by the whole of their names.
SELECT system.builtin.abs(-1), builtin.upper(s), sum(system.builtin.abs(a)) OVER () FROM e;
SELECT builtin.sum(a) FILTER (WHERE a > 1), system.builtin.count(DISTINCT b) FROM e;
CREATE TEMPORARY FUNCTION twice(x INT) RETURNS INT RETURN x * 2;
SELECT session.twice(a), system.session.twice(b), twice(1) FROM e;
SELECT nowhere.abs(a) FROM e; -- both refuse

-- A part of a column has its own name, also for what comes after it.
SELECT t.x, x + 1, t.y AS z, z FROM e;
SELECT m.k, k || 'x' FROM VALUES (map('k', 'v')) AS v(m);
