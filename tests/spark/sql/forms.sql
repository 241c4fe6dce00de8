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
