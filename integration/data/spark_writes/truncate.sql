-- group: truncate whole tables (cow)
CREATE TABLE hits (id INT, v STRING) USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
TRUNCATE TABLE hits;;
INSERT INTO hits VALUES (1, 'a'), (2, 'b');;
TRUNCATE TABLE hits;;
SELECT id, v FROM hits;;
INSERT INTO hits VALUES (3, 'c');;
SELECT id, v FROM hits;;
TRUNCATE TABLE nosuch;;

-- group: truncate partitions (cow)
CREATE TABLE racks (id INT, v STRING, r STRING, s INT) USING hudi PARTITIONED BY (r, s) TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO racks VALUES (1, 'a', 'x', 1), (2, 'b', 'x', 2), (3, 'c', 'y', 1);;
TRUNCATE TABLE racks PARTITION (r = 'x', s = 2);;
SELECT id, v, r, s FROM racks;;
INSERT INTO racks VALUES (2, 'back', 'x', 2);;
TRUNCATE TABLE racks PARTITION (r = 'x');;
SELECT id, v, r, s FROM racks;;
TRUNCATE TABLE racks PARTITION (v = 'c');;
SELECT id, v, r, s FROM racks;;
TRUNCATE TABLE racks PARTITION (r = 'none', s = 1);;
SELECT count(*) FROM racks;;
