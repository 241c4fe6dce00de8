-- Subqueries where one would not look for them, and unions.
CREATE OR REPLACE TEMPORARY VIEW l AS SELECT * FROM VALUES (1, 2), (1, 3), (2, NULL), (NULL, 5) AS l(a, b);
CREATE OR REPLACE TEMPORARY VIEW r AS SELECT * FROM VALUES (1, 'x'), (2, 'y'), (2, 'z'), (6, NULL) AS r(c, d);

SELECT l.b, r.d FROM l JOIN r ON l.a = r.c AND l.b IN (SELECT b FROM l WHERE b > 2);
SELECT l.b, r.d FROM l LEFT JOIN r ON l.a = r.c AND r.c = (SELECT max(a) FROM l);
SELECT * FROM l WHERE a NOT IN (SELECT c FROM r WHERE d IS NOT NULL);
SELECT a FROM l UNION SELECT c FROM r ORDER BY ALL;
WITH x AS (SELECT a, count(*) AS n FROM l GROUP BY ALL) SELECT x.n, y.n FROM x JOIN x y ON x.a <=> y.a;
SELECT (SELECT count(*) FROM r WHERE c = l.a), (SELECT d FROM r WHERE c = 1) FROM l;
SELECT l.b, r.d FROM l JOIN r ON l.a = r.c AND EXISTS (SELECT 1 FROM l x WHERE x.a = r.c);
SELECT l.b, r.d FROM l LEFT JOIN r ON l.a = r.c AND EXISTS (SELECT 1 FROM l x WHERE x.a = r.c);
SELECT (SELECT max(d) FROM r WHERE c = l.a AND d IS NOT NULL) AS m, count(*) FROM l GROUP BY m;
SELECT (SELECT max(d) FROM r WHERE c >= l.a) AS m FROM l;
SELECT * FROM l WHERE EXISTS (SELECT c FROM r WHERE c = l.a EXCEPT SELECT 2);
SELECT * FROM l WHERE NOT EXISTS (SELECT c FROM r WHERE c = l.a INTERSECT ALL SELECT a FROM l AS x WHERE x.a > 1);
SELECT a, (SELECT count(*) FROM (SELECT c FROM r WHERE c = l.a UNION SELECT b FROM l AS x WHERE x.a = l.a)) FROM l;
SELECT a, (SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY d ORDER BY c) AS n FROM r WHERE c = l.a)) FROM l;
SELECT a FROM l WHERE b IN (SELECT sum(c) OVER (ORDER BY d) FROM r WHERE c >= l.a);
SELECT (SELECT max(b) FROM l GROUP BY all ORDER BY all LIMIT 1) FROM (SELECT 1 AS all);
SELECT * FROM (SELECT 1 AS all) WHERE EXISTS (SELECT a, b FROM l GROUP BY all);
WITH q AS (SELECT a, b, rand() AS v FROM l) SELECT count(*) FROM q x JOIN q y ON x.b = y.b AND x.v = y.v;
WITH q AS (SELECT rand() AS v FROM l) SELECT count(*) FROM (SELECT v FROM q UNION SELECT v FROM q);
WITH q AS (SELECT b, uuid() AS v FROM l), p AS (SELECT v FROM q WHERE b > 2) SELECT count(*) FROM q WHERE v IN (SELECT v FROM p);

-- Sorted by what a correlated subquery answers, which Spark wants in the select list.
SELECT (SELECT count(*) FROM r WHERE c = l.a) AS n, b FROM l ORDER BY n DESC, b;
SELECT a, (SELECT sum(n) FROM (SELECT count(*) AS n FROM r WHERE r.c = l.a)) AS m FROM l ORDER BY m, b DESC LIMIT 2;
SELECT a FROM l GROUP BY a ORDER BY max(b), rand();

-- What a map of the rows around has: Spark takes it out of them first.
CREATE OR REPLACE TEMPORARY VIEW m AS SELECT * FROM VALUES (map(1, 1, 2, 2), 1), (map(1, 2), 0), (NULL, NULL) AS m(of, k);
SELECT * FROM m WHERE (SELECT count(*) FROM r WHERE m.of[1] = c) > 0;
SELECT * FROM m WHERE (SELECT count(*) FROM r WHERE m.of[k + 1] = c) > 1;
SELECT * FROM m JOIN LATERAL (SELECT c + m.of[1] FROM r);
