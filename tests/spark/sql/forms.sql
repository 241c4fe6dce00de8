-- Arguments by name, and clauses that few queries have.
CREATE OR REPLACE TEMPORARY VIEW e AS SELECT * FROM VALUES
  (1, 5, 'Ab-1', named_struct('x', 1, 'y', named_struct('p', 2, 'q', 'z'))),
  (1, 6, 'cD-2', named_struct('x', 2, 'y', NULL)),
  (2, NULL, NULL, NULL)
  AS e(a, b, s, t);

SELECT mask(s, lowerChar => 'l'), mask(str => s, digitChar => 'd', otherChar => s) FROM e;
SELECT a, mode(b, deterministic => true) FROM e GROUP BY a; -- both refuse
SELECT * FROM explode(collection => array(1, 2)) AS x(v);
SELECT timediff(HOUR, TIMESTAMP '2020-01-01 00:00:00', TIMESTAMP '2020-01-02 03:00:00'), timediff(DAY, DATE '2020-01-01', DATE '2020-03-01');
SELECT a, b, sum(b), grouping__id FROM e GROUP BY a, b GROUPING SETS ((a), (b)) HAVING grouping__id > 1 ORDER BY grouping__id, b;
SELECT extract('year', DATE '2020-03-01'), extract(MONTH FROM DATE '2020-03-01'), substr(s, 2), substring(s FROM 2 FOR 1), trim(s), overlay(s, 'x', 2), position('b', s) FROM e;
SELECT * EXCEPT (t.y.p, s) FROM e;
SELECT * EXCEPT (t.x), t.* EXCEPT (y.q) FROM e;
SELECT * EXCEPT (e.a, f.t) FROM e JOIN e AS f ON e.b = f.b;
SELECT 1 FROM e HAVING 1 < 2;
SELECT 'none' FROM e HAVING false;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY b) OVER (PARTITION BY a), mode() WITHIN GROUP (ORDER BY a) OVER () FROM e;
SELECT listagg(s, ',') WITHIN GROUP (ORDER BY s DESC) FROM e;
SELECT * FROM VALUES (1 AS one, 'x' AS two), (2, 'y');
WITH RECURSIVE n(i) MAX RECURSION LEVEL 200 AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150) SELECT count(*), max(i) FROM n;
SELECT a, b FROM e SORT BY a, b DESC;
SELECT a, b FROM e DISTRIBUTE BY a SORT BY b;
SELECT a, b FROM e CLUSTER BY b;
SELECT CAST(1 AS SMALLINT) + CAST(b AS BIGINT) FROM e;
SELECT * FROM posexplode(collection => array(7, 8));
SELECT * FROM inline(input => array(struct(1, 'a'), struct(2, 'b')));

-- Some of the rows: all or none, for which there is one answer.
CREATE OR REPLACE TEMPORARY VIEW some AS SELECT id FROM range(40);
SELECT * FROM some TABLESAMPLE (100 PERCENT) REPEATABLE (3) r WHERE id > 1;
SELECT count(*) FROM some TABLESAMPLE (0 PERCENT);
SELECT s.x FROM (SELECT 1 AS x) TABLESAMPLE (BUCKET 2 OUT OF 2) AS s;
SELECT count(*) FROM some TABLESAMPLE (3 ROWS);
SELECT * FROM some TABLESAMPLE (101 PERCENT); -- both refuse

-- A name means what can have such a part.
SELECT 'a' AS c FROM VALUES (array(1), 2), (array(0), 1) t(c, d) GROUP BY c ORDER BY c[0];
SELECT 'a' AS c FROM VALUES (map('k', 1)) t(c) GROUP BY c HAVING c['k'] > 0 ORDER BY c['k'];

-- Variables of the session, where nothing in the query is called so.
DECLARE OR REPLACE VARIABLE most = 2;
DECLARE OR REPLACE VARIABLE pair = named_struct('a', 5, 'b', 'x');
SELECT id, most FROM range(5) WHERE id < most;
SELECT pair.a + session.most, system.session.pair.b;
SELECT most FROM VALUES (7) AS v(most);
SELECT max(id) + most FROM range(5) GROUP BY id % most HAVING max(id) > most;
SET VAR most = 4;
SELECT (SELECT count(*) FROM range(9) WHERE id < most);
SELECT more FROM range(5); -- both refuse

-- Names in backticks are patterns, where Spark is told so.
CREATE OR REPLACE TEMPORARY VIEW three AS SELECT * FROM VALUES (1, 2, 3) AS t(a, b, c);
SELECT `(a)?+.+` FROM three; -- both refuse
SET spark.sql.parser.quotedRegexColumnNames = true;
SELECT `(A)?+.+`, t.`(b|c)` FROM three t WHERE `a` = 1;
SELECT sum(`(c)`), `a` FROM three GROUP BY `a`;
SET spark.sql.parser.quotedRegexColumnNames = false;

-- A part of nothing; tables of a recursive table; a struct as the value of a pivot.
SELECT x.a, x[0], x['k'] FROM (SELECT NULL AS x);
WITH RECURSIVE o AS (
  WITH RECURSIVE i AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM i WHERE n < 2)
  SELECT 0 AS m, n FROM i UNION ALL SELECT m + 1, n FROM o WHERE m < 2
) SELECT * FROM o;
SELECT * FROM (SELECT 1 AS v, named_struct('x', 1, 'y', 'a') AS s)
  PIVOT (sum(v) FOR s IN ((1, 'a'), (2, 'b')));

-- One column twice, all columns at once, and what is computed of constants.
SELECT q.a, q.b FROM (SELECT b, a, a FROM e) q WHERE a > 1;
WITH u AS (SELECT a, a FROM e UNION SELECT a, a FROM e) SELECT a FROM u;
SELECT a FROM (SELECT a, b AS a FROM e); -- both refuse
SELECT id, id FROM range(3) UNION ALL SELECT id, id FROM range(2);
SELECT (*) FROM (SELECT a, b FROM e);
SELECT 6 IN (*), a FROM (SELECT a, b FROM e) WHERE 5 IN (a, *);
SELECT a, b FROM e ORDER BY b LIMIT 1 + 1 OFFSET 3 - 2;
SELECT named_struct('a', 1) AS c FROM VALUES (NULL) t(c) GROUP BY c HAVING c.a = 1;

-- A column goes before a function without brackets, and that before aliases and what is around.
SELECT typeof(current_date), typeof(current_timestamp), typeof(user) FROM (SELECT 1 AS current_date, 2 AS current_timestamp, 3 AS user);
SELECT typeof(current_date), typeof((SELECT current_timestamp)), (SELECT user) = user() FROM (SELECT 2 AS current_timestamp, 3 AS user);
SELECT 1 AS current_date, typeof(current_date), 'x' AS user, user = user() FROM e ORDER BY current_date, user;
