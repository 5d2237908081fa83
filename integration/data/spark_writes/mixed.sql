-- Statements that write, by groups of their own tables; what each answers in real Hudi is in answers.json.

-- group: copy-on-write with key and ordering
CREATE TABLE keyed (id INT, name STRING, price DOUBLE, ts BIGINT, dt STRING) USING hudi PARTITIONED BY (dt)
TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts', type = 'cow');;
INSERT INTO keyed VALUES (1, 'a', 1.0, 10, 'x'), (2, 'b', 2.0, 10, 'y');;
INSERT INTO keyed VALUES (1, 'a2', 1.0, 5, 'x');;
INSERT INTO keyed (id, name, ts, dt) VALUES (3, 'c', 1, 'x');;
INSERT INTO keyed PARTITION (dt = 'z') SELECT 4, 'd', 4.0, 7;;
SELECT id, name, price, ts, dt FROM keyed;;
UPDATE keyed SET ts = 3, name = 'low' WHERE id = 1;;
UPDATE keyed SET ts = ts + 1, price = price * 2 WHERE id = 2 OR dt = 'z';;
UPDATE keyed SET id = 7 WHERE id = 1;;
UPDATE keyed SET dt = 'zz' WHERE id = 1;;
SELECT id, name, price, ts, dt FROM keyed;;
MERGE INTO keyed AS t USING (SELECT 1 AS id, 'm' AS name, 9.0D AS price, 20L AS ts, 'x' AS dt
  UNION ALL SELECT 9, 'n', 9.5D, 20L, 'w' UNION ALL SELECT 3, 'gone', 0D, 20L, 'x') AS s ON t.id = s.id
WHEN MATCHED AND s.name = 'gone' THEN DELETE
WHEN MATCHED THEN UPDATE SET t.name = concat(s.name, '/', t.name), t.ts = s.ts
WHEN NOT MATCHED THEN INSERT *;;
SELECT id, name, price, ts, dt FROM keyed;;
DELETE FROM keyed WHERE price > 8 OR id IN (SELECT 2);;
SELECT id, name, price, ts, dt FROM keyed;;
INSERT OVERWRITE keyed PARTITION (dt = 'x') SELECT 50, 'ow', 1.0, 1;;
SELECT id, name, price, ts, dt FROM keyed;;
INSERT OVERWRITE keyed VALUES (60, 'all', 1.0, 1, 'q');;
SELECT id, name, price, ts, dt FROM keyed;;
SELECT count(*) FROM keyed WHERE dt = 'q';;
TRUNCATE TABLE keyed;;
SELECT id, name, price, ts, dt FROM keyed;;

-- group: without keys
CREATE TABLE keyless (id INT, name STRING, price DOUBLE) USING hudi;;
INSERT INTO keyless VALUES (1, 'a', 1.0), (1, 'a', 1.0), (2, 'b', 2.0), (3, NULL, NULL);;
SELECT id, name, price FROM keyless;;
MERGE INTO keyless t USING (SELECT 1 id, 'm' name, 5.0D price UNION ALL SELECT 8, 'new', 8D) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET price = s.price WHEN NOT MATCHED THEN INSERT *;;
SELECT id, name, price FROM keyless;;
UPDATE keyless SET name = upper(name), price = NULL WHERE id > 1;;
SELECT id, name, price FROM keyless;;
DELETE FROM keyless WHERE name IS NULL;;
DELETE FROM keyless WHERE id = 1 AND price > 100;;
SELECT id, name, price FROM keyless;;
INSERT INTO keyless SELECT * FROM keyless WHERE id = 1;;
SELECT id, name, price FROM keyless;;
INSERT OVERWRITE keyless SELECT id + 100, name, price FROM keyless WHERE id < 3;;
SELECT id, name, price FROM keyless;;

-- group: merge-on-read with a key
CREATE TABLE logged (id INT, name STRING, price DOUBLE) USING hudi TBLPROPERTIES (primaryKey = 'id', type = 'mor');;
INSERT INTO logged VALUES (1, 'a', 1.0), (2, 'b', 2.0), (3, 'c', 3.0);;
UPDATE logged SET price = price + 10 WHERE id <= 2;;
SELECT id, name, price FROM logged;;
DELETE FROM logged WHERE id = 2;;
MERGE INTO logged t USING (SELECT 3 sid, 'x' sname UNION ALL SELECT 4, 'y') s ON t.id = s.sid
WHEN MATCHED THEN UPDATE SET name = s.sname WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.sid, s.sname);;
SELECT id, name, price FROM logged;;
MERGE INTO logged t USING (SELECT 4 sid) s ON t.id = s.sid WHEN MATCHED THEN DELETE;;
SELECT id, name, price FROM logged;;

-- group: tables made by queries and over folders
CREATE TABLE made USING hudi TBLPROPERTIES (primaryKey = 'id') PARTITIONED BY (dt) AS
SELECT 1 AS id, 'x' AS dt, 'a' AS name UNION ALL SELECT 2, 'y', 'b';;
SELECT id, name, dt FROM made;;
CREATE TABLE made (id INT) USING hudi;;
CREATE TABLE IF NOT EXISTS made (id INT) USING hudi;;
CREATE TABLE placed (id INT, v STRING, d DATE) USING hudi PARTITIONED BY (d) TBLPROPERTIES (primaryKey = 'id')
LOCATION '${folder}/placed';;
INSERT INTO placed VALUES (1, 'q', DATE'2024-05-06'), (2, 'r', DATE'2024-05-07');;
CREATE TABLE again USING hudi LOCATION '${folder}/placed';;
SELECT id, v, d FROM again;;
DELETE FROM again WHERE d = DATE'2024-05-06';;
SELECT id, v, d FROM again;;
DROP TABLE again;;
DROP TABLE made;;
SELECT id FROM made;;

-- group: types
CREATE TABLE kinds (id BIGINT, b BOOLEAN, f FLOAT, d DECIMAL(10, 3), t TIMESTAMP, x BINARY, a ARRAY<INT>,
  m MAP<STRING, INT>, s STRUCT<p: INT, q: STRING>) USING hudi TBLPROPERTIES (primaryKey = 'id');;
INSERT INTO kinds VALUES (1, true, 1.5, 2.345, TIMESTAMP'2024-01-02 03:04:05.678901', X'00ff', array(1, 2),
  map('k', 1), named_struct('p', 1, 'q', 'z'));;
INSERT INTO kinds (id) VALUES (2);;
UPDATE kinds SET d = d * 2, a = array(9), s = named_struct('p', 2, 'q', 'w') WHERE id = 1;;
SELECT id, b, f, d, t, hex(x), a, m, s FROM kinds;;
INSERT INTO kinds (id, d) VALUES (3, 12345678.9);;
INSERT INTO kinds (id, b) VALUES ('no number', true);;
SELECT id, d FROM kinds;;

-- group: several conditions and sources
CREATE TABLE stock (sku STRING, place STRING, n INT) USING hudi PARTITIONED BY (place)
TBLPROPERTIES (primaryKey = 'sku,place', type = 'mor');;
INSERT INTO stock VALUES ('a', 1, 'p'), ('a', 2, 'q'), ('b', 3, 'p'), ('c', 4, 'q');;
WITH moves AS (SELECT 'a' AS sku, 'p' AS place, 5 AS n UNION ALL SELECT 'd', 'q', 6 UNION ALL SELECT 'e', 'q', -1)
INSERT INTO stock SELECT sku, n, place FROM moves WHERE n > 5;;
MERGE INTO stock USING (SELECT 'a' AS sku, 'p' AS place, 5 AS n UNION ALL SELECT 'e', 'q', -1
  UNION ALL SELECT 'f', 'p', 7 UNION ALL SELECT 'b', 'p', 0) moves
ON stock.sku = moves.sku AND stock.place = moves.place
WHEN MATCHED AND moves.n = 0 THEN DELETE
WHEN MATCHED AND moves.n > 1 THEN UPDATE SET n = stock.n + moves.n
WHEN NOT MATCHED AND moves.n > 0 THEN INSERT *;;
SELECT sku, place, n FROM stock;;
UPDATE stock SET n = 0 WHERE place = (SELECT max(place) FROM stock) AND n > 3;;
DELETE FROM stock WHERE EXISTS (SELECT 1 FROM stock o WHERE o.sku = stock.sku AND o.n > stock.n);;
SELECT sku, place, n FROM stock;;
INSERT INTO stock SELECT * FROM stock WHERE sku = 'a';;
SELECT sku, place, n FROM stock;;
