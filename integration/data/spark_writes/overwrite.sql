-- group: overwrite the whole table (cow)
CREATE TABLE fresh (id INT, v STRING, ts BIGINT) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts');;
INSERT INTO fresh VALUES (1, 'a', 1), (2, 'b', 1);;
INSERT OVERWRITE fresh VALUES (3, 'c', 1);;
SELECT id, v, ts FROM fresh;;
INSERT OVERWRITE TABLE fresh SELECT id + 1, concat(v, '!'), ts FROM fresh;;
SELECT id, v, ts FROM fresh;;
INSERT OVERWRITE fresh SELECT id, v, ts FROM fresh WHERE id > 100;;
SELECT id, v, ts FROM fresh;;
INSERT INTO fresh VALUES (9, 'z', 1);;
SELECT id, v, ts FROM fresh;;

-- group: overwrite partitions by value (cow)
CREATE TABLE days (id INT, v STRING, d STRING) USING hudi PARTITIONED BY (d) TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO days VALUES (1, 'a', 'mon'), (2, 'b', 'tue'), (3, 'c', 'wed');;
INSERT OVERWRITE days PARTITION (d = 'mon') VALUES (10, 'aa');;
SELECT id, v, d FROM days;;
INSERT OVERWRITE days PARTITION (d) SELECT 20, 'bb', 'tue';;
SELECT id, v, d FROM days;;
INSERT OVERWRITE days PARTITION (d = 'thu') SELECT 40, 'dd';;
SELECT id, v, d FROM days;;
SHOW PARTITIONS days;;
INSERT OVERWRITE days VALUES (30, 'cc', 'wed');;
SELECT id, v, d FROM days;;

-- group: overwrite dynamically (mor)
CREATE TABLE zones (id INT, v STRING, z INT) USING hudi PARTITIONED BY (z) TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO zones VALUES (1, 'a', 1), (2, 'b', 2);;
SET hoodie.datasource.overwrite.mode = dynamic;;
INSERT OVERWRITE zones VALUES (11, 'aa', 1);;
SELECT id, v, z FROM zones;;
SET hoodie.datasource.overwrite.mode = static;;
INSERT OVERWRITE zones VALUES (12, 'bb', 1);;
SELECT id, v, z FROM zones;;
SET spark.sql.sources.partitionOverwriteMode = dynamic;;
INSERT OVERWRITE zones VALUES (13, 'cc', 3);;
SELECT id, v, z FROM zones;;

-- group: overwrite without keys (mor)
CREATE TABLE loose (a INT, b STRING) USING hudi TBLPROPERTIES (type = 'mor');;
INSERT INTO loose VALUES (1, 'x'), (1, 'x');;
INSERT OVERWRITE loose SELECT a, upper(b) FROM loose;;
SELECT a, b FROM loose;;

-- group: overwrite of partitions that are not there (cow)
CREATE TABLE slots (id INT, v STRING, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO slots VALUES (1, 'a', 'x'), (2, 'b', 'y');;
INSERT OVERWRITE slots SELECT 3, 'c', 'x';;
INSERT OVERWRITE slots PARTITION (p = 'y') IF NOT EXISTS SELECT 4, 'd';;
SELECT id, v, p FROM slots;;
INSERT OVERWRITE slots PARTITION (p = 'z') IF NOT EXISTS SELECT 5, 'e';;
SELECT id, v, p FROM slots;;
INSERT OVERWRITE slots (id, p, v) VALUES (6, 'q', 'f');;
SELECT id, v, p FROM slots;;
