-- Joins in brackets, without a condition, and of relations that have one name.
CREATE OR REPLACE TEMPORARY VIEW l AS SELECT * FROM VALUES (1, 2), (1, 3), (2, NULL), (NULL, 5) AS l(a, b);
CREATE OR REPLACE TEMPORARY VIEW r AS SELECT * FROM VALUES (1, 'x'), (2, 'y'), (2, 'z'), (6, NULL) AS r(c, d);

SELECT j.b, j.d FROM (l JOIN r ON l.a = r.c) AS j WHERE j.a > 1;
SELECT p, s FROM (l JOIN r ON a = c) AS j(p, q, r, s) ORDER BY p, s;
SELECT * FROM ((l JOIN r ON a = c) CROSS JOIN r AS s) JOIN l AS m ON m.a = s.c;
SELECT j.x, m.y FROM ((SELECT a + 1 AS x FROM l) AS n JOIN r ON n.x = r.c) AS j, LATERAL (SELECT j.x * 2) AS m(y);
SELECT count(*) FROM l, l;
SELECT * FROM l CROSS JOIN l WHERE false;
SELECT l.a, l.d FROM l JOIN r AS l ON l.b > l.c;
SELECT a FROM l LEFT SEMI JOIN r;
SELECT a FROM l LEFT ANTI JOIN r;
SELECT a, d FROM l LEFT JOIN (SELECT * FROM r WHERE c > 5) AS s;
SELECT a, d FROM l FULL JOIN r ORDER BY a, d;

-- A side that has a column twice.
SELECT * FROM (SELECT a, a, b FROM l) x NATURAL JOIN (SELECT a, b AS c FROM l) y;
SELECT * FROM (SELECT b, b AS b, a FROM l) x LEFT JOIN (SELECT a, a, 1 AS one FROM l) y USING (a);
SELECT a FROM (SELECT a, a AS a FROM l); -- both refuse
SELECT z FROM (SELECT a, a FROM l) AS x(z, z); -- both refuse

-- The nearest rows.
CREATE OR REPLACE TEMPORARY VIEW users AS SELECT id AS user_id, CAST(id * 10 AS DOUBLE) AS score, named_struct('a', id, 'b', -id) AS s FROM range(1, 4);
CREATE OR REPLACE TEMPORARY VIEW products AS SELECT * FROM VALUES ('A', 11D, 1), ('B', 22D, 2), ('C', 5D, 3), ('D', NULL, 4) AS t(product, pscore, n);
SELECT u.user_id, p.product FROM users u JOIN products p APPROX NEAREST 1 BY SIMILARITY -abs(u.score - p.pscore);
SELECT * FROM users JOIN products EXACT NEAREST BY DISTANCE abs(score - pscore);
SELECT u.s.b, p.n FROM users u LEFT OUTER JOIN (SELECT * FROM products WHERE n > 7) p APPROX NEAREST 2 BY DISTANCE p.pscore;
SELECT u.s.a, p.product FROM users u JOIN products p APPROX NEAREST 2 BY DISTANCE abs(u.score - p.pscore) WHERE u.user_id > 1 AND p.n <> 2;
SELECT a.user_id, b.user_id, p.n FROM users a JOIN users b EXACT NEAREST 2 BY DISTANCE abs(a.score - b.score - 1) JOIN products p ON p.n = b.user_id;
SELECT u.user_id, count(*) FROM users u JOIN products p APPROX NEAREST 2 BY SIMILARITY p.n GROUP BY u.user_id HAVING count(*) > 1;
SELECT user_id FROM users u RIGHT JOIN products p APPROX NEAREST 1 BY DISTANCE p.n;
SELECT user_id FROM users u JOIN products p APPROX NEAREST 0 BY DISTANCE p.n;
SELECT user_id FROM users u JOIN products p APPROX NEAREST 1 BY DISTANCE map(u.score, p.n);
SELECT user_id FROM users u JOIN products p NEAREST 1 BY DISTANCE p.n;
SELECT user_id FROM users u JOIN products p APPROX NEAREST 1 BY DISTANCE p.n + (SELECT max(n) FROM products);

-- Joins in brackets, on the right side.
CREATE OR REPLACE TEMPORARY VIEW t1 AS SELECT * FROM VALUES (1, 10), (2, 20), (3, 30), (NULL, 40) AS t(a, b);
CREATE OR REPLACE TEMPORARY VIEW t2 AS SELECT * FROM VALUES (1, 11), (2, 21), (4, 31), (NULL, 41) AS t(a, c);
CREATE OR REPLACE TEMPORARY VIEW t3 AS SELECT * FROM VALUES (1, 12), (2, 22), (5, 32), (NULL, 42) AS t(a, d);
SELECT * FROM t1 JOIN (t2 JOIN t3 USING (a)) USING (a);
SELECT a, b, t2.c, t3.d FROM t1 JOIN (t2 JOIN t3 USING (a)) USING (a);
SELECT * FROM t1 JOIN (t2 JOIN t3 USING (a)) ON t1.b + 1 = t2.c;
SELECT t1.a, t2.a, t3.a FROM t1 JOIN (t2 JOIN t3 USING (a)) ON t1.a = t3.a;
SELECT * FROM t1 LEFT JOIN (t2 FULL JOIN t3 USING (a)) USING (a);
SELECT * FROM t1 FULL JOIN (t2 FULL JOIN t3 USING (a)) USING (a);
SELECT a, t1.a, t2.a, t3.a FROM t1 FULL JOIN (t2 RIGHT JOIN t3 USING (a)) USING (a);
SELECT * FROM t1 NATURAL JOIN (t2 NATURAL JOIN t3);
SELECT * FROM t1, (t2 JOIN t3 USING (a)) WHERE t1.a = t2.a;
SELECT a FROM t1, (t2 JOIN t3 USING (a)) WHERE t1.a = t2.a;
SELECT * FROM t1 JOIN (t2 CROSS JOIN t3) USING (a);
SELECT * FROM t1 JOIN (t2 JOIN t3 ON t1.a = t3.a) ON t1.a = t2.a;
SELECT * FROM t1 LEFT SEMI JOIN (t2 JOIN t3 USING (a)) ON t1.a = t2.a;
SELECT * FROM t1 LEFT SEMI JOIN (t2 JOIN t3 USING (a)) USING (a);
SELECT * FROM t1 LEFT ANTI JOIN (t2 JOIN t3 USING (a)) USING (a);
SELECT * FROM (t1 JOIN t2 USING (a)) JOIN (t3 JOIN t2 x USING (a)) USING (a);
SELECT * FROM t1 JOIN ((t2 JOIN t3 USING (a)) JOIN t3 y USING (a)) ON t1.a = y.a;
SELECT * FROM t1 JOIN (t2 JOIN (t3 JOIN t1 z USING (a)) USING (a)) ON t1.a = z.a;
SELECT * FROM t1 JOIN (t2 JOIN t3 USING (a)) ON t1.a = t2.a JOIN t3 w ON w.d = t3.d;
TABLE t1 |> INNER JOIN (t2 x INNER JOIN t3 y USING (a)) USING (a) |> SELECT a, t1.a, x.a, y.a;
SELECT t1.* FROM t1 JOIN (t2 JOIN t3 ON EXISTS (SELECT 1 FROM t1 q WHERE q.a = t2.a) AND t2.a = t3.a) ON t1.a = t3.a;
