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
