-- Groups in all their spellings.
CREATE OR REPLACE TEMPORARY VIEW sales AS SELECT * FROM VALUES
  (1, 'north', 'tea', 10, TIMESTAMP '2024-01-01 10:05:00'),
  (2, 'north', 'tea', 30, TIMESTAMP '2024-01-01 10:40:00'),
  (3, 'south', 'tea', 5, TIMESTAMP '2024-01-01 11:10:00'),
  (4, 'south', 'rum', NULL, TIMESTAMP '2024-01-01 11:20:00'),
  (5, NULL, 'rum', 7, TIMESTAMP '2024-01-01 12:00:00'),
  (6, 'north', NULL, 1, NULL)
  AS sales(id, region, what, amount, at);

SELECT region, count(*) FROM sales GROUP BY ALL;
SELECT region, upper(what), sum(amount) FROM sales GROUP BY ALL ORDER BY ALL;
SELECT count(*), max(amount) FROM sales GROUP BY ALL;
SELECT region, what, sum(amount) FROM sales GROUP BY ROLLUP (region, what) ORDER BY ALL DESC NULLS LAST;
SELECT region, grouping(region), count(*) FROM sales GROUP BY CUBE (region, what) HAVING count(*) > 1;
SELECT window.start, count(*) FROM sales GROUP BY window(at, '1 hour') ORDER BY window.start DESC;
SELECT window.end, region, count(*) FROM sales GROUP BY GROUPING SETS ((window(at, '1 hour')), (region));
SELECT amount + id, count(*) FROM sales GROUP BY id + amount;
SELECT (SELECT max(s.id) FROM sales s WHERE s.region = sales.region) + 1, count(*) FROM sales
  GROUP BY (SELECT max(s.id) FROM sales s WHERE s.region = sales.region);
SELECT count(DISTINCT *), count(DISTINCT region, what) FROM sales;
SELECT region FROM sales GROUP BY region
  HAVING EXISTS (SELECT 1 FROM sales s WHERE s.id = max(sales.amount) - 5);
SELECT region, count(*) FILTER (WHERE amount > 5), any_value(what) IS NULL FROM sales GROUP BY 1;
SELECT region, id + sum(amount) FROM sales GROUP BY ALL; -- both refuse
SELECT * FROM (SELECT region, what, amount FROM sales) PIVOT (sum(amount) FOR what IN ('tea', 'rum'));
SELECT * FROM (SELECT region, what, amount FROM sales)
  PIVOT (sum(amount) AS total, count(amount) FOR what IN ('tea' AS t, 'rum' AS r, 'gin'));
SELECT region, `{tea, 30}` FROM (SELECT region, what, amount, id FROM sales)
  PIVOT (max(id) FOR (what, amount) IN (('tea', 30), ('rum', 7)));
SELECT region, what, grouping_id(region, what), count(*) FROM sales GROUP BY region, what GROUPING SETS ((what, region), region);
SELECT region, what, grouping__id, count(*) FROM sales GROUP BY GROUPING SETS (region, (region, what), (what, region));

-- What a generator takes is a key of GROUP BY ALL; a column may be called so, too.
SELECT explode(split(region, 'o')) AS part FROM sales GROUP BY ALL HAVING part > '';
SELECT stack(2, id % 2, count(amount)) FROM sales GROUP BY ALL;
SELECT all, what, count(*) FROM (SELECT region AS all, what FROM sales) GROUP BY all, what;

-- An item of the select list whose name a column has that is in no group.
CREATE OR REPLACE TEMPORARY VIEW h AS SELECT * FROM VALUES (1, 9, 5), (2, 8, 4), (3, 7, 6), (NULL, 10, 5) AS h(a, b, k);
SELECT k, sum(b) AS b FROM h GROUP BY k HAVING b > 8 AND max(b) < 10;
SELECT sum(b) AS b FROM h HAVING b > 8;
SELECT k % 2 AS k, sum(b) FROM h GROUP BY k % 2 HAVING k > 0;
SELECT k % 2 AS k, sum(b) FROM h GROUP BY k % 2 HAVING k % 2 > 0;
SELECT k, sum(b) AS b FROM h GROUP BY k HAVING h.b > 8;
SELECT k, named_struct('a', count(*)) AS a FROM h GROUP BY k HAVING a.a > 1;
SELECT -k AS k, sum(b) FROM h GROUP BY k HAVING k > 4;
SELECT x.k, max(y.b) AS b FROM h x JOIN h y USING (k) GROUP BY x.k HAVING b > 8;
SELECT k, sum(b) AS b FROM h GROUP BY k HAVING b IN (SELECT b FROM h) AND b > (SELECT min(b) FROM h);
SELECT k, sum(b) AS b FROM h GROUP BY k HAVING EXISTS (SELECT 1 FROM h z WHERE z.b = h.k + 4) AND b > 8;
