-- group: delete with conditions (cow)
CREATE TABLE notes (id INT, txt STRING, stars INT, ts BIGINT, box STRING) USING hudi PARTITIONED BY (box) TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts');;
INSERT INTO notes VALUES (1, 'one', 5, 10, 'in'), (2, 'two', NULL, 10, 'in'), (3, 'three', 1, 10, 'out'), (4, 'four', 3, 10, 'out'), (5, 'five', 2, 10, 'spam'), (6, 'six', 2, 10, 'spam');;
DELETE FROM notes WHERE id = 1;;
DELETE FROM notes WHERE stars IS NULL;;
SELECT id, txt, stars, ts, box FROM notes;;
DELETE FROM notes WHERE id = 12345;;
DELETE FROM notes WHERE txt LIKE 'thr%' OR (stars > 2 AND box <> 'in');;
SELECT id, txt, stars, ts, box FROM notes;;
INSERT INTO notes VALUES (1, 'back', 4, 1, 'in');;
SELECT id, txt, stars, ts, box FROM notes;;
DELETE FROM notes AS x WHERE x.id IN (SELECT max(id) FROM notes);;
DELETE FROM notes WHERE nosuch = 1;;
SELECT id, txt, stars, ts, box FROM notes;;
DELETE FROM notes;;
SELECT id, txt, stars, ts, box FROM notes;;
INSERT INTO notes VALUES (7, 'new', 1, 1, 'in');;
SELECT id, txt, stars, ts, box FROM notes;;

-- group: delete on log files (mor)
CREATE TABLE events (id BIGINT, kind STRING, n INT) USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO events VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3);;
UPDATE events SET n = n * 10 WHERE id > 1;;
DELETE FROM events WHERE n = 20;;
SELECT id, kind, n FROM events;;
INSERT INTO events VALUES (2, 'again', 5);;
DELETE FROM events WHERE kind IN ('a', 'c') AND n < 100;;
SELECT id, kind, n FROM events;;
DELETE FROM events WHERE EXISTS (SELECT 1 FROM events e WHERE e.id = events.id);;
SELECT count(*) FROM events;;

-- group: delete without keys (mor)
CREATE TABLE loose (a INT, b STRING) USING hudi TBLPROPERTIES (type = 'mor');;
INSERT INTO loose VALUES (1, 'x'), (1, 'x'), (2, 'y'), (3, NULL);;
DELETE FROM loose WHERE a = 1;;
SELECT a, b FROM loose;;
DELETE FROM loose WHERE b IS NULL;;
SELECT a, b FROM loose;;

-- group: delete a partition by its value (mor)
CREATE TABLE shelves (id INT, v STRING, s INT) USING hudi PARTITIONED BY (s) TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO shelves VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2);;
DELETE FROM shelves WHERE s = 1;;
SELECT id, v, s FROM shelves;;
SHOW PARTITIONS shelves;;

-- group: delete by lists, nulls and several partitions (cow)
CREATE TABLE mails (id STRING, subject STRING, size DECIMAL(6, 2), arrived DATE, box STRING, flag BOOLEAN) USING hudi PARTITIONED BY (box, flag) TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO mails VALUES ('m1', 'hello', 1.5, DATE'2022-01-01', 'in', true), ('m2', NULL, 2.5, DATE'2022-01-02', 'in', false), ('m3', 'offer', NULL, DATE'2022-01-03', 'junk', false), ('m4', 'bye', 10, NULL, 'out', true), ('m5', 'late', 11, DATE'2022-03-01', 'out', false);;
DELETE FROM mails WHERE subject NOT IN ('hello', 'bye', 'late');;
SELECT id, subject, size, arrived, box, flag FROM mails;;
DELETE FROM mails WHERE subject <=> NULL OR size BETWEEN 10.5 AND 12;;
SELECT id, subject, size, arrived, box, flag FROM mails;;
DELETE FROM mails WHERE flag AND box = 'in';;
DELETE FROM mails WHERE year(arrived) = 2030;;
SELECT id, subject, size, arrived, box, flag FROM mails;;
