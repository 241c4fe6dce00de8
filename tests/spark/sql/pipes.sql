-- What stands after `|>`.
CREATE OR REPLACE TEMPORARY VIEW l AS SELECT * FROM VALUES (1, 2), (1, 3), (2, NULL), (NULL, 5) AS l(a, b);
CREATE OR REPLACE TEMPORARY VIEW r AS SELECT * FROM VALUES (1, 'x'), (2, 'y'), (2, 'z'), (6, NULL) AS r(c, d);

FROM l |> WHERE a > 0 |> WHERE l.b > 2;
TABLE l |> EXTEND a + b AS c, a AS a2 |> SET a = b, c = a + c |> DROP b;
FROM l |> JOIN r ON l.a = r.c |> WHERE r.d <> 'x' |> SELECT l.a, d AS e |> WHERE e > 'y';
FROM l |> LEFT JOIN r ON a = c |> AGGREGATE count(*) AS n, max(d) GROUP BY a AS k |> ORDER BY n DESC, k |> LIMIT 2;
FROM l |> AGGREGATE sum(b), count(*);
FROM l |> AGGREGATE GROUP BY a |> ORDER BY a;
FROM l |> SELECT a |> UNION ALL SELECT c FROM r |> EXCEPT ALL SELECT b FROM l |> SELECT a, 1;
FROM l |> SELECT a |> UNION SELECT c FROM r |> ORDER BY a |> LIMIT 3 |> OFFSET 1;
VALUES (1, 'p'), (2, 'q') AS v(x, y) |> WHERE v.x > 1 |> SELECT DISTINCT y;
FROM l |> AS x |> JOIN (FROM l |> WHERE b > 1) AS y ON x.a = y.a |> SELECT x.b, y.b;
FROM l |> SELECT a, sum(b) OVER w AS s WINDOW w AS (PARTITION BY a) |> WHERE s > 2;
FROM l |> PIVOT (sum(b) FOR a IN (1 AS one, 2 AS two));
FROM l LATERAL VIEW explode(array(a, b)) e AS v |> WHERE v IS NOT NULL |> SELECT a, v;
SELECT (FROM r |> WHERE c = l.a |> AGGREGATE max(d)) AS m FROM l;
FROM l |> WHERE x > 1; -- both refuse
FROM l |> SET z = 1; -- both refuse
FROM l |> DROP z; -- both refuse

-- `|` before an operator; between values it combines bits.
FROM l | WHERE a > 0 | EXTEND a | b AS c | AGGREGATE max(c) GROUP BY a | ORDER BY a | LIMIT 1;
TABLE l | SELECT a | 4 AS a | UNION ALL VALUES (7) | SELECT a, a | a;

-- A number in GROUP BY is a column of what comes out of the pipe; with an alias it is a constant.
FROM l |> AGGREGATE sum(b) GROUP BY 1;
FROM l |> AGGREGATE count(*) AS n GROUP BY 2 AS y, 1;
FROM l |> AGGREGATE count(*) GROUP BY 3; -- both refuse
