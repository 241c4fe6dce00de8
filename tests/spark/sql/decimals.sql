-- Beside a DECIMAL, a number that is written there has as many digits as it has; a column, a cast, and what is computed those of its type.
CREATE OR REPLACE TEMPORARY VIEW t AS SELECT CAST(id AS DECIMAL(10, 0)) AS d, CAST(id AS INT) AS i FROM range(1, 4);

SELECT d / 3, d / 3L, d / -3, d / (3) FROM t;
SELECT d / CAST(3 AS INT), d / CAST(3 AS BIGINT), d / CAST(3 AS TINYINT), d / 3::INT, d / TRY_CAST(3 AS SMALLINT) FROM t;
SELECT d / (1 + 2), (1 + 2) / d, d / (4 - 1), d / (3 * 1), d / -(-3), d / CASE WHEN true THEN 3 ELSE 4 END FROM t;
SELECT d / three FROM (SELECT d, 3 AS three FROM t);
SELECT d / three, three FROM (SELECT d, CAST(3 AS BIGINT) AS three FROM t) WHERE d / three > 0.4;
WITH w AS (SELECT *, 3 AS three, 1 + 2 AS sum FROM t) SELECT d / three, d / sum, d / i FROM w;
SELECT 3 AS three, d / three AS part FROM t;
SELECT d, 3 AS three FROM t ORDER BY d / three;
SELECT three, sum(d) / three AS part FROM (SELECT d, 3 AS three FROM t) GROUP BY three;
SELECT three, sum(d / three) FROM (SELECT d, 3 AS three FROM t) GROUP BY three HAVING sum(d) / three > 1;
SELECT t.d / u.three FROM t JOIN (SELECT 3 AS three) u;
SELECT d / (SELECT 3), d / three FROM t, LATERAL (SELECT 3 AS three);
SELECT * FROM t WHERE d / (1 + 2) = 0.33333333333;
SELECT transform(array(3), x -> 1BD / x), transform(array(d), x -> x / 3), 1BD / array(3)[0] FROM t;
SELECT typeof(d * (1 + 2)), typeof(d + CAST(1 AS BIGINT)), typeof(d * 3), typeof(d % CAST(3 AS SMALLINT)) FROM t;
SELECT d / make_interval(0, 0, 0, 1 + 2), d + INTERVAL '1' DAY FROM t;
