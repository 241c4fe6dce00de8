-- Functions that make rows, LATERAL, UNPIVOT, recursion.
CREATE OR REPLACE TEMPORARY VIEW orders AS SELECT * FROM VALUES
  (1, array(named_struct('sku', 'a', 'n', 2), named_struct('sku', 'b', 'n', 1)), map('x', 1), 3, 4),
  (2, array(), map('x', 5, 'y', 6), NULL, 4),
  (3, NULL, NULL, 7, NULL)
  AS orders(id, items, tags, q1, q2);
CREATE OR REPLACE TEMPORARY VIEW prices AS SELECT * FROM VALUES
  ('a', 10), ('a', 12), ('b', 7), ('c', 1) AS prices(sku, price);
CREATE OR REPLACE TEMPORARY VIEW parts AS SELECT * FROM VALUES
  (1, NULL), (2, 1), (3, 1), (4, 3) AS parts(id, parent);

SELECT id FROM range(5);
SELECT r.n FROM range(1, 10, 3) AS r(n) WHERE r.n > 1;
SELECT o.id, r.id FROM orders o JOIN range(3) r ON o.id = r.id;
SELECT * FROM explode(array(1, 2)) AS e(x);
SELECT * FROM posexplode(map('a', 1, 'b', 2));
SELECT n, sku FROM inline(array(struct('z' AS sku, 9 AS n)));
SELECT * FROM stack(2, 1, 'a', 2, 'b') AS s(k, v);
SELECT c1 FROM json_tuple('{"a": 1, "b": "x"}', 'a', 'b');
SELECT o.id, e.sku FROM orders o, LATERAL inline(items) e;
SELECT o.id, e.i.n FROM orders o LEFT JOIN LATERAL explode(items) AS e(i) ON true;
SELECT o.id, e.pos, e.col.sku FROM orders o JOIN LATERAL posexplode(items) e ON e.col.n > 1;
SELECT id, k, v FROM orders LATERAL VIEW OUTER explode(tags) t AS k, v;
SELECT id, x, y FROM orders LATERAL VIEW stack(2, q1, id, q2, id + 1) s AS x, y;
SELECT explode(items) AS i, i.sku FROM orders;
SELECT o.id, p.most FROM orders o, LATERAL (SELECT max(price) AS most FROM prices WHERE sku = o.items[0].sku) p;
SELECT o.id, p.price FROM orders o LEFT JOIN LATERAL (SELECT price FROM prices WHERE sku = o.items[0].sku) p ON p.price > 10;
SELECT id, a, b FROM orders, LATERAL (SELECT q1 + 1 AS a), LATERAL (SELECT a * 2 AS b);
SELECT * FROM (SELECT id, q1, q2 FROM orders) UNPIVOT (amount FOR quarter IN (q1, q2 AS second));
SELECT id, quarter FROM orders UNPIVOT INCLUDE NULLS (amount FOR quarter IN (q1, q2)) AS u WHERE u.amount IS NULL;
SELECT * FROM (SELECT id, q1, q2 FROM orders) UNPIVOT ((x, y) FOR what IN ((q1, q2), (q2, q1) AS turned));
WITH RECURSIVE below(id, depth) AS (
  SELECT id, 0 FROM parts WHERE parent IS NULL
  UNION ALL SELECT p.id, b.depth + 1 FROM below b JOIN parts p ON p.parent = b.id
) SELECT id, depth FROM below WHERE depth > 0;
WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n) FROM r;
SELECT id, explode(items) AS i, explode(array(i.n, q1)) AS n FROM orders;
SELECT explode(array(1, 2)), posexplode(array('x')) AS (p, v), q1 FROM orders;
SELECT * FROM (SELECT sku, price FROM prices) PIVOT (sum(price) / count(*) AS mean, max(price) - 1 FOR sku IN ('a', 'b' AS other));
SELECT * FROM prices PIVOT (coalesce(sum(price), 0) FOR sku IN ('a', 'x'));

-- OVER beside a generator: of groups before it, of rows after it.
SELECT explode(array(1, 2, 3)), count(*) OVER (), count(*);
SELECT explode(array(1, 2)), count(*) OVER () FROM prices;
SELECT sku, explode(array(1, 2)) AS e, count(*) OVER () AS n FROM prices GROUP BY sku HAVING sku > 'a';

-- Names that hide that of a recursion, and one that may make as many rows as it does.
WITH RECURSIVE r(n) AS (WITH RECURSIVE r(n) AS (VALUES 0 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r;
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL (WITH r AS (SELECT 7 AS n) SELECT n FROM r)) SELECT * FROM r;
WITH RECURSIVE r(n) AS (VALUES 0 UNION ALL SELECT n + 1 FROM (WITH s AS (SELECT * FROM r) SELECT * FROM s) WHERE n < 3) SELECT * FROM r;
SET spark.sql.cteRecursionRowLimit = 3;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6) SELECT * FROM n LIMIT ALL;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6) (SELECT i FROM n LIMIT ALL) UNION ALL (SELECT i FROM n LIMIT ALL);
RESET spark.sql.cteRecursionRowLimit;
