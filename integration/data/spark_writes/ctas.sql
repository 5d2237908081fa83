-- group: ctas with key and partitions (cow)
CREATE TABLE made USING hudi PARTITIONED BY (city) TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'at') AS
SELECT id, concat('n', id) AS name, id * 1.5D AS price, id AS at, IF(id % 2 = 0, 'rome', 'oslo') AS city FROM range(6);;
SELECT id, name, price, at, city FROM made;;
INSERT INTO made VALUES (3, 'later', 0.5, 99, 'oslo');;
SELECT id, name, price, at, city FROM made WHERE city = 'oslo';;
CREATE TABLE made USING hudi AS SELECT 1 AS id;;
CREATE TABLE IF NOT EXISTS made USING hudi AS SELECT 1 AS id;;
SELECT count(*) FROM made;;
DESCRIBE made;;

-- group: ctas without keys (mor)
CREATE TABLE loose USING hudi TBLPROPERTIES (type = 'mor') AS SELECT 1 AS a, 'x' AS b UNION ALL SELECT 1, 'x' UNION ALL SELECT 2, NULL;;
SELECT a, b FROM loose;;
UPDATE loose SET b = 'filled' WHERE b IS NULL;;
SELECT a, b FROM loose;;

-- group: ctas of another table (cow)
CREATE TABLE base (id INT, v STRING) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO base VALUES (1, 'one'), (2, 'two'), (3, 'three');;
CREATE TABLE derived USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id') AS SELECT id, length(v) AS n FROM base WHERE id > 1;;
SELECT id, n FROM derived;;
CREATE TABLE whole USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id') AS SELECT * FROM base;;
SELECT id, v FROM whole;;
CREATE TABLE empty_one USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id') AS SELECT id, v FROM base WHERE id > 100;;
SELECT id, v FROM empty_one;;
CREATE TABLE placed USING hudi LOCATION '${folder}/placed' TBLPROPERTIES (type = 'cow', primaryKey = 'id') AS SELECT id, v FROM base;;
SELECT count(*) FROM hudi.`${folder}/placed`;;

-- group: ctas with repeated keys (cow)
CREATE TABLE repeated USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id') AS SELECT 1 AS id, 'a' AS v UNION ALL SELECT 1, 'a' UNION ALL SELECT 2, 'b';;
SELECT id, v FROM repeated;;

-- group: ctas of all types (mor)
CREATE TABLE kinds USING hudi TBLPROPERTIES (type = 'mor', primaryKey = 'id') AS SELECT CAST(1 AS BIGINT) AS id, true AS b, CAST(1.5 AS FLOAT) AS f,
CAST(12.345 AS DECIMAL(9, 3)) AS d, DATE'2020-02-29' AS day, TIMESTAMP'2020-02-29 12:34:56.789' AS t, X'0aff' AS x, array('p', NULL) AS a, map('k', 2) AS m, named_struct('i', 1, 'j', array(2)) AS s;;
SELECT id, b, f, d, day, t, hex(x), a, m, s FROM kinds;;
CREATE TABLE voids USING hudi TBLPROPERTIES (type = 'mor') AS SELECT 1 AS id, NULL AS nothing;;
CREATE TABLE failing USING hudi TBLPROPERTIES (type = 'mor') AS SELECT 1 AS id, raise_error('stop') AS v;;
SELECT id FROM failing;;
