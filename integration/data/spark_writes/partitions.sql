-- group: drop partitions (cow)
CREATE TABLE weeks (id INT, v STRING, y INT, w STRING) USING hudi PARTITIONED BY (y, w) TBLPROPERTIES (type = 'cow', primaryKey = 'id');;
INSERT INTO weeks VALUES (1, 'a', 2020, 'w1'), (2, 'b', 2020, 'w2'), (3, 'c', 2021, 'w1');;
SHOW PARTITIONS weeks;;
SHOW PARTITIONS weeks PARTITION (y = 2020);;
ALTER TABLE weeks DROP PARTITION (y = 2020, w = 'w1');;
SELECT id, v, y, w FROM weeks;;
SHOW PARTITIONS weeks;;
ALTER TABLE weeks DROP PARTITION (y = 1999, w = 'w9');;
ALTER TABLE weeks DROP IF EXISTS PARTITION (y = 1999, w = 'w9');;
INSERT INTO weeks VALUES (1, 'again', 2020, 'w1');;
SELECT id, v, y, w FROM weeks;;
ALTER TABLE weeks DROP PARTITION (y = 2020, w = 'w1'), PARTITION (y = 2021, w = 'w1');;
SELECT id, v, y, w FROM weeks;;
SHOW PARTITIONS weeks;;

-- group: drop a partition by one column (mor)
CREATE TABLE months (id INT, v STRING, m STRING) USING hudi PARTITIONED BY (m) TBLPROPERTIES (type = 'mor', primaryKey = 'id');;
INSERT INTO months VALUES (1, 'a', 'jan'), (2, 'b', 'feb');;
UPDATE months SET v = 'bb' WHERE id = 2;;
ALTER TABLE months DROP PARTITION (m = 'jan');;
SELECT id, v, m FROM months;;
SHOW PARTITIONS months;;
ALTER TABLE months ADD PARTITION (m = 'mar');;
SHOW PARTITIONS months;;

-- group: partitions without hive style (cow)
CREATE TABLE bare_paths (id INT, v STRING, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (type = 'cow', primaryKey = 'id', hoodie.datasource.write.hive_style_partitioning = 'false');;
INSERT INTO bare_paths VALUES (1, 'a', 'x'), (2, 'b', 'y z');;
SELECT id, v, p, _hoodie_partition_path FROM bare_paths;;
SHOW PARTITIONS bare_paths;;
DELETE FROM bare_paths WHERE p = 'x';;
SELECT id, v, p FROM bare_paths;;

-- group: partitions with encoded paths (cow)
CREATE TABLE encoded (id INT, v STRING, p STRING) USING hudi PARTITIONED BY (p) TBLPROPERTIES (type = 'cow', primaryKey = 'id', hoodie.datasource.write.partitionpath.urlencode = 'true');;
INSERT INTO encoded VALUES (1, 'a', 'x/y'), (2, 'b', 'p=q%r');;
SELECT id, v, p, _hoodie_partition_path FROM encoded;;
SHOW PARTITIONS encoded;;
UPDATE encoded SET v = 'u' WHERE p = 'x/y';;
ALTER TABLE encoded DROP PARTITION (p = 'p=q%r');;
SELECT id, v, p FROM encoded;;
