-- group: update with conditions (cow)
CREATE TABLE goods (id INT, name STRING, price DOUBLE, n INT, ts BIGINT, shop STRING) USING hudi PARTITIONED BY (shop) TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts');;
INSERT INTO goods VALUES (1, 'tea', 3.5, 10, 100, 'a'), (2, 'rice', 1.5, 20, 100, 'a'), (3, 'salt', 0.5, NULL, 100, 'b'), (4, NULL, 9, 0, 100, 'c');;
UPDATE goods SET price = price * 2 WHERE id IN (1, 3);;
UPDATE goods SET name = 'unknown', n = coalesce(n, -1) WHERE name IS NULL OR n IS NULL;;
SELECT id, name, price, n, ts, shop FROM goods;;
UPDATE goods g SET g.n = g.n + 1, ts = g.ts + 1 WHERE g.shop = 'a' AND g.price BETWEEN 1 AND 10;;
SELECT id, name, price, n, ts, shop FROM goods;;
UPDATE goods SET ts = 1, price = -1 WHERE id = 2;;
UPDATE goods SET price = -2 WHERE id = 999;;
UPDATE goods SET n = CASE WHEN price > 5 THEN 1 ELSE 0 END;;
SELECT id, name, price, n, ts, shop FROM goods;;
UPDATE goods SET nosuch = 1;;
UPDATE goods SET id = 8 WHERE id = 1;;
UPDATE goods SET shop = 'z' WHERE id = 1;;
UPDATE goods SET price = 'text' WHERE id = 1;;
UPDATE goods SET n = n + 1 WHERE price > (SELECT avg(price) FROM goods);;
UPDATE goods SET name = upper(name) WHERE id IN (SELECT id FROM goods WHERE shop = 'a');;
UPDATE goods SET price = 0 WHERE EXISTS (SELECT 1 FROM goods o WHERE o.id = goods.id AND o.n = 1);;
SELECT id, name, price, n, ts, shop FROM goods;;

-- group: update without ordering (mor)
CREATE TABLE lamps (id INT, on_since TIMESTAMP, watt DECIMAL(5, 1), tags ARRAY<STRING>, info STRUCT<a: INT, b: STRING>) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO lamps VALUES (1, TIMESTAMP'2020-01-01 00:00:00', 40, array('x'), named_struct('a', 1, 'b', 'p')), (2, NULL, 60, NULL, NULL);;
UPDATE lamps SET watt = watt + 0.5, tags = array('y', 'z') WHERE id = 1;;
UPDATE lamps SET on_since = TIMESTAMP'2021-06-01 12:00:00', info = named_struct('a', 7, 'b', 'q') WHERE on_since IS NULL;;
SELECT id, on_since, watt, tags, info FROM lamps;;
UPDATE lamps SET info.a = 9 WHERE id = 1;;
UPDATE lamps SET watt = DEFAULT WHERE id = 1;;
SELECT id, on_since, watt, tags, info FROM lamps;;
UPDATE lamps SET watt = NULL;;
SELECT id, watt FROM lamps;;

-- group: update without keys (cow)
CREATE TABLE loose (a INT, b STRING, c DOUBLE) USING hudi TBLPROPERTIES (type = 'cow');;
INSERT INTO loose VALUES (1, 'x', 1), (1, 'x', 1), (2, 'y', 2);;
UPDATE loose SET c = c + 10 WHERE a = 1;;
SELECT a, b, c FROM loose;;
UPDATE loose SET a = 5 WHERE b = 'y';;
SELECT a, b, c FROM loose;;

-- group: update by path (mor)
CREATE TABLE at_path (id INT, v STRING, p STRING) USING hudi PARTITIONED BY (p) LOCATION '${folder}/at_path' TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO at_path VALUES (1, 'a', 'x'), (2, 'b', 'y');;
UPDATE hudi.`${folder}/at_path` SET v = 'changed' WHERE p = 'y';;
SELECT id, v, p FROM at_path;;
DELETE FROM hudi.`${folder}/at_path` WHERE id = 1;;
SELECT id, v, p FROM hudi.`${folder}/at_path`;;

-- group: columns exchanged and maps (mor)
CREATE TABLE pairs (k STRING, a INT, b INT, props MAP<STRING, INT>, ts BIGINT, zone STRING, hour INT) USING hudi PARTITIONED BY (zone, hour) TBLPROPERTIES (type = 'mor', primaryKey = 'k', preCombineField = 'ts');;
INSERT INTO pairs VALUES ('p', 1, 2, map('x', 1), 1, 'north', 3), ('q', 3, NULL, NULL, 1, 'south', 4), ('r', 5, 6, map(), 1, 'north', 4);;
UPDATE pairs SET a = b, b = a, ts = ts + 1 WHERE zone = 'north';;
SELECT k, a, b, props, ts, zone, hour FROM pairs;;
UPDATE pairs SET props = map('y', a), ts = ts + 1 WHERE hour = 4 AND NOT (k = 'q' AND b <=> 1);;
UPDATE pairs SET a = NULL, ts = ts + 1 WHERE k = concat('', 'p') OR hour > 100;;
SELECT k, a, b, props, ts, zone, hour FROM pairs;;
